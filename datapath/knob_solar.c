/*
 * datapath/knob_solar.c - solar.page: the control page of a port, for processes that use libsolar
 * (solar/control.h says who writes and reads what in the folder).
 */
#include "datapath/linux.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "datapath/solar/board.h"
#include "datapath/solar/page.h"
#include "datapath/solar_node.h"
#include "datapath/sys/sys.h"
#include "datapath/sys/watch.h"
#include "datapath/value.h"

static void path_of(const struct dp_linux *dp, const struct dp_port *port, const char *end,
                    char out[SYS_PATH_MAX])
{
    char name[PORT_ID_SIZE];
    snprintf(name, sizeof(name), "%s", port->id);
    for (char *c = name; *c != '\0'; c++)
        if (*c == '/')
            *c = '-';
    snprintf(out, SYS_PATH_MAX, "%s" SOLAR_FOLDER "/%s%s", dp->root, name, end);
}

/* One that cannot be read, or makes no sense, is none: programs take no notice of it either. */
static bool get(const struct dp_linux *dp, const struct dp_port *port, struct page *out)
{
    char path[SYS_PATH_MAX];
    uint8_t bytes[PAGE_BYTES_MAX];
    size_t len;
    struct board board = BOARD_INIT;
    path_of(dp, port, BOARD_PAGE_END, path);
    sys_watch_seen(path);
    bool found = board_open(path, BOARD_PAGE, &board, NULL) == ERR_OK &&
                 board_read(&board, bytes, sizeof(bytes), &len, NULL) == ERR_OK &&
                 page_decode(bytes, len, out, NULL) == ERR_OK;
    board_release(&board);
    return found;
}

static enum err_code observe(struct dp_linux *dp, const struct dp_port *port, const char *id,
                             struct state *out, struct err *err)
{
    struct page page;
    (void)id;
    if (!get(dp, port, &page))
        return ERR_OK;
    bool same = strcmp(page.ifname, port->ifname) == 0;
    return linux_observed(out, "solar.page", port, "",
                          page_value_to_json(&page, same ? NULL : page.ifname), KNOB_OWNER_STELLAR,
                          err);
}

static enum err_code check(struct dp_linux *dp, const struct dp_port *port,
                           const struct plan_step *step, struct err *err)
{
    struct page page;
    (void)dp;
    if (step->op == STEP_REMOVE)
        return ERR_OK;
    if (strlen(port->ifname) >= PAGE_IFNAME_SIZE)
        return err_set(err, ERR_UNSUPPORTED, "%s: the interface's name is too long", port->id);
    return page_value_from_json(step->to, &page, err);
}

/* Open to all: what stands there is no secret, and a job's own folder below jobs/ is its own. */
static enum err_code make_folders(const struct dp_linux *dp, struct err *err)
{
    static const char *const folders[] = {"/run/stellar", SOLAR_FOLDER, SOLAR_FOLDER "/jobs"};
    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
        char path[SYS_PATH_MAX];
        struct stat st;
        snprintf(path, sizeof(path), "%s%s", dp->root, folders[i]);
        if (stat(path, &st) == 0)
            continue;
        if (file_mkdirs(path, 0755, err) != ERR_OK)
            return err->code;
        if (chmod(path, 0755) != 0)
            return err_set_errno(err, ERR_IO, errno, "cannot open %s to all", path);
    }
    return ERR_OK;
}

static enum err_code put(struct dp_linux *dp, const struct dp_port *port, const struct page *page,
                         struct err *err)
{
    char path[SYS_PATH_MAX];
    uint8_t bytes[PAGE_BYTES_MAX];
    struct board board = BOARD_INIT;
    path_of(dp, port, BOARD_PAGE_END, path);
    enum err_code code = make_folders(dp, err);
    if (code == ERR_OK)
        code = board_create(path, BOARD_PAGE, PAGE_BYTES_MAX, 0644, &board, err);
    if (code == ERR_OK)
        code = board_publish(&board, bytes, page_encode(page, bytes), err);
    board_release(&board);
    return code;
}

static enum err_code drop(const struct dp_linux *dp, const struct dp_port *port, struct err *err)
{
    static const char *const ends[] = {BOARD_PAGE_END, BOARD_SHARES_END};
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        char path[SYS_PATH_MAX];
        path_of(dp, port, ends[i], path);
        if (unlink(path) != 0 && errno != ENOENT)
            return err_set_errno(err, ERR_IO, errno, "cannot remove %s", path);
    }
    return ERR_OK;
}

static enum err_code apply(struct dp_linux *dp, const struct dp_port *port,
                           const struct plan_step *step, struct err *err)
{
    struct page page;
    enum err_code code = check(dp, port, step, err);
    if (code != ERR_OK || step->op == STEP_REMOVE)
        return code != ERR_OK ? code : drop(dp, port, err);
    code = page_value_from_json(step->to, &page, err);
    if (code != ERR_OK)
        return code;
    if (page.ifname[0] == '\0') /* else as it was before, given back */
        snprintf(page.ifname, sizeof(page.ifname), "%.*s", PAGE_IFNAME_SIZE - 1, port->ifname);
    return put(dp, port, &page, err);
}

const struct linux_knob knob_solar = {
    .kind = "solar.page",
    .observe = observe,
    .check = check,
    .apply = apply,
};
