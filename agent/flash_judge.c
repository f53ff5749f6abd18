/*
 * agent/flash_judge.c - see flash_judge.h.
 */
#include "agent/flash_judge.h"

#include <stdio.h>
#include <string.h>

#include "fleet/version.h"

bool flash_same_version(const char *a, const char *b)
{
    int order;
    if (a[0] == '\0' || b[0] == '\0')
        return false;
    return version_order(a, b, &order) ? order == 0 : strcmp(a, b) == 0;
}

static bool is_board(const struct flash_image *image, const char *psid)
{
    for (int i = 0; i < image->psid_count; i++)
        if (strcmp(image->psids[i], psid) == 0)
            return true;
    return image->psid_count == 0;
}

enum flash_verdict flash_judge(const struct flash_task *task, const struct flash_identity *identity,
                               char why[ERR_TEXT_MAX])
{
    const struct flash_image *image = &task->image;
    why[0] = '\0';
    if (strcmp(identity->driver, image->component) != 0)
        snprintf(why, ERR_TEXT_MAX, "%s has the driver %s; the image is for %s", task->device,
                 identity->driver[0] == '\0' ? "(none)" : identity->driver, image->component);
    else if (!is_board(image, identity->psid))
        snprintf(why, ERR_TEXT_MAX, "%s is a board %s; the image is not for it", task->device,
                 identity->psid[0] == '\0' ? "that does not say its id" : identity->psid);
    else if (identity->running[0] == '\0')
        snprintf(why, ERR_TEXT_MAX, "%s does not say which firmware it runs", task->device);
    if (why[0] != '\0')
        return FLASH_STRANGER;
    bool runs = flash_same_version(identity->running, image->version);
    bool stored = flash_same_version(identity->stored, image->version);
    if (runs && (stored || identity->stored[0] == '\0'))
        return FLASH_RUNS;
    if (task->from_version[0] != '\0' &&
        !flash_same_version(identity->running, task->from_version)) {
        snprintf(why, ERR_TEXT_MAX, "%s runs %s; the task is for devices that run %s", task->device,
                 identity->running, task->from_version);
        return FLASH_STRANGER;
    }
    return stored ? FLASH_STORED : FLASH_GO;
}

static bool is_up(const struct flash_links *links, int port)
{
    for (int i = 0; i < links->count; i++)
        if (links->items[i].port == port)
            return links->items[i].up;
    return false;
}

bool flash_links_kept(const struct flash_links *before, const struct flash_links *now,
                      char why[ERR_TEXT_MAX])
{
    for (int i = 0; i < before->count; i++) {
        if (!before->items[i].up || is_up(now, before->items[i].port))
            continue;
        snprintf(why, ERR_TEXT_MAX, "link: port %d was up before and is down",
                 before->items[i].port);
        return false;
    }
    return true;
}
