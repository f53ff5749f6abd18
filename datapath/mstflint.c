/*
 * datapath/mstflint.c - see mstflint.h.
 */
#include "datapath/mstflint.h"

#include <stdio.h>
#include <string.h>

#include "datapath/flint.h"
#include "datapath/sys/child.h"

#define QUERY_MS 30000
#define MS_PER_S 1000

const struct starter_form mstflint_forms[] = {
    {{"mstflint", "-d", "*", "q"}},
    {{"mstflint", "-i", "*", "q"}},
    {{"mstflint", "-d", "*", "-y", "-i", "*", "burn"}},
    {{NULL}},
};

static enum err_code query(const struct mstflint *tool, const char *const *argv, struct flint *out,
                           struct err *err)
{
    OWN(str) char *text = NULL;
    size_t len;
    int status;
    const struct child child = {.argv = argv, .deadline_ms = QUERY_MS, .starter = tool->starter};
    enum err_code code = child_run(&child, &status, &text, &len, err);
    if (code != ERR_OK)
        return code;
    flint_read(text, len, out);
    if (status != 0 || out->problem[0] != '\0')
        return err_set(err, ERR_IO, "%s ended with %d: %s", argv[0], status,
                       out->problem[0] == '\0' ? "it does not say why" : out->problem);
    return ERR_OK;
}

enum err_code mstflint_identify(const struct mstflint *tool, struct flash_identity *out,
                                struct err *err)
{
    const char *const argv[] = {tool->tool, "-d", tool->device, "q", NULL};
    struct flint flint;
    enum err_code code = query(tool, argv, &flint, err);
    if (code != ERR_OK)
        return code;
    /* What runs is said apart only when it is another than what is stored. */
    memcpy(out->stored, flint.flash_version, sizeof(out->stored));
    memcpy(out->running, flint.running[0] != '\0' ? flint.running : flint.flash_version,
           sizeof(out->running));
    memcpy(out->psid, flint.psid, sizeof(out->psid));
    return ERR_OK;
}

enum err_code mstflint_check_image(const struct mstflint *tool, const char *path, struct err *err)
{
    const char *const argv[] = {tool->tool, "-i", path, "q", NULL};
    struct flint image;
    struct flash_identity device = {0};
    enum err_code code = query(tool, argv, &image, err);
    if (code == ERR_OK)
        code = mstflint_identify(tool, &device, err);
    if (code != ERR_OK)
        return code;
    if (image.psid[0] == '\0' || strcmp(image.psid, device.psid) != 0)
        return err_set(err, ERR_INVALID, "%s is a board %s, the image is for %s", tool->device,
                       device.psid[0] == '\0' ? "without an id" : device.psid,
                       image.psid[0] == '\0' ? "none that it names" : image.psid);
    return ERR_OK;
}

static void on_output(void *arg, const char *data, size_t len)
{
    const struct flash_write *write = arg;
    struct flint part;
    flint_read(data, len, &part);
    if (part.percent < 0 || write->progress == NULL)
        return;
    struct flash_progress progress = {.message = "Burning", .percent = part.percent};
    write->progress(write->arg, &progress);
}

enum err_code mstflint_burn(const struct mstflint *tool, const struct flash_write *write,
                            struct err *err)
{
    /* -y answers questions such as "the same version: go on?"; a wrong board stays refused. */
    const char *const argv[] = {tool->tool, "-d",        tool->device, "-y",
                                "-i",       write->path, "burn",       NULL};
    OWN(str) char *text = NULL;
    struct flint flint;
    size_t len;
    int status;
    const struct child child = {.argv = argv,
                                .deadline_ms = write->deadline_s * MS_PER_S,
                                .starter = tool->starter,
                                .output = on_output,
                                .arg = (void *)(uintptr_t)write};
    enum err_code code = child_run(&child, &status, &text, &len, err);
    if (code != ERR_OK)
        return code;
    flint_read(text, len, &flint);
    enum flash_outcome outcome = flint_outcome(&flint);
    if (status == 0 && (outcome == FLASH_PENDING_RESET || outcome == FLASH_SUCCESS))
        return ERR_OK;
    return err_set(err, ERR_IO, "%s ended with %d: %s", tool->tool, status,
                   flint.problem[0] == '\0' ? "it does not say that it burnt the image"
                                            : flint.problem);
}
