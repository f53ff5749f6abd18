/*
 * datapath/flash_linux.c - firmware of this node's devices: devlink where the driver has it, else
 * mstflint for the boards it knows; see flash.h. Sockets are opened for each question, because a
 * device that is written keeps one waiting for minutes.
 */
#include "datapath/flash.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"
#include "datapath/mstflint.h"
#include "datapath/nl/devlink.h"
#include "datapath/nl/devlink_flash.h"
#include "datapath/nl/rdma.h"
#include "datapath/rdma_users.h"
#include "datapath/sys/device.h"
#include "datapath/sys/sys.h"

#define FIRMWARE_FOLDER "/lib/firmware"
#define FIRMWARE_PARAM  "/sys/module/firmware_class/parameters/path"
#define OUR_FOLDER      "stellar" /* below it, ours alone */
#define COPY_BYTES      (64 * 1024)
#define BUS_SIZE        32

struct flash_linux {
    struct flasher base;
    char root[SYS_PATH_MAX / 4];
    char tool[SYS_PATH_MAX];
    struct starter *starter; /* borrowed, NULL = none */
};

/* Where a device stands ------------------------------------------------------------------------ */

static enum err_code find_bus(const struct flash_linux *flash, const char *device,
                              char out[BUS_SIZE], struct err *err)
{
    static const char *const buses[] = {"pci", "platform", "auxiliary"};
    for (size_t i = 0; i < sizeof(buses) / sizeof(buses[0]); i++) {
        char path[SYS_PATH_MAX];
        snprintf(path, sizeof(path), "/sys/bus/%s/devices/%s", buses[i], device);
        if (sys_exists(flash->root, path)) {
            snprintf(out, BUS_SIZE, "%s", buses[i]);
            return ERR_OK;
        }
    }
    return err_set(err, ERR_NOT_FOUND, "device %s is not there", device);
}

/* fn for each interface of the device, with its folder below the root. */
static enum err_code each_interface(const struct flash_linux *flash, const char *device,
                                    void (*fn)(const struct flash_linux *flash, const char *folder,
                                               void *arg),
                                    void *arg, struct err *err)
{
    char bus[BUS_SIZE], folder[SYS_PATH_MAX], path[2 * SYS_PATH_MAX];
    enum err_code code = find_bus(flash, device, bus, err);
    if (code != ERR_OK)
        return code;
    snprintf(folder, sizeof(folder), "/sys/bus/%s/devices/%s/net", bus, device);
    snprintf(path, sizeof(path), "%s%s", flash->root, folder);
    DIR *dir = opendir(path);
    if (dir == NULL)
        return ERR_OK; /* it has none: its driver is not bound */
    for (const struct dirent *entry = readdir(dir); entry != NULL; entry = readdir(dir)) {
        char one[2 * SYS_PATH_MAX];
        if (entry->d_name[0] == '.')
            continue;
        snprintf(one, sizeof(one), "%s/%s", folder, entry->d_name);
        fn(flash, one, arg);
    }
    closedir(dir);
    return ERR_OK;
}

static bool read_number(const struct flash_linux *flash, const char *folder, const char *name,
                        int *out)
{
    char path[3 * SYS_PATH_MAX], text[32], *end;
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    if (sys_read(flash->root, path, text, sizeof(text), NULL) != ERR_OK)
        return false;
    long value = strtol(text, &end, 0);
    if (end == text || *end != '\0' || value < 0 || value > INT32_MAX)
        return false;
    *out = (int)value;
    return true;
}

/* Identity ------------------------------------------------------------------------------------- */

static bool has_tool(const struct flash_linux *flash, const char *bus, const char *driver)
{
    static const char *const drivers[] = {"mlx5_core", "mlx4_core"};
    for (size_t i = 0; i < sizeof(drivers) / sizeof(drivers[0]); i++)
        if (strcmp(driver, drivers[i]) == 0 && strcmp(bus, "pci") == 0)
            return flash->tool[0] != '\0';
    return false;
}

static void from_devlink(const struct devlink_info *info, struct flash_identity *out)
{
    const char *running = devlink_firmware(&info->running);
    const char *stored = devlink_firmware(&info->stored);
    text_copy(out->running, sizeof(out->running), running == NULL ? "" : running);
    text_copy(out->stored, sizeof(out->stored), stored == NULL ? "" : stored);
    if (out->driver[0] == '\0')
        text_copy(out->driver, sizeof(out->driver), info->driver);
    if (!devlink_psid(&info->fixed, out->running, out->psid))
        out->psid[0] = '\0';
}

static enum err_code linux_identify(struct flasher *flasher, const char *device,
                                    struct flash_identity *out, struct err *err)
{
    const struct flash_linux *flash = (const struct flash_linux *)flasher;
    char bus[BUS_SIZE], path[SYS_PATH_MAX];
    struct flash_identity identity = {0};
    struct devlink_info info;
    OWN(nlx) struct nlx *nlx = NULL;
    enum err_code code = find_bus(flash, device, bus, err);
    if (code != ERR_OK)
        return code;
    snprintf(path, sizeof(path), "/sys/bus/%s/devices/%s/driver", bus, device);
    (void)sys_link_name(flash->root, path, identity.driver, sizeof(identity.driver));
    code = nlx_open(NETLINK_GENERIC, &nlx, err);
    if (code == ERR_OK)
        code = devlink_info_get(nlx, bus, device, &info, err);
    if (code == ERR_OK)
        from_devlink(&info, &identity);
    bool silent = code == ERR_UNSUPPORTED || (code == ERR_OK && identity.running[0] == '\0');
    if (silent && has_tool(flash, bus, identity.driver)) {
        const struct mstflint tool = {
            .tool = flash->tool, .device = device, .starter = flash->starter};
        code = mstflint_identify(&tool, &identity, err);
    }
    if (code == ERR_OK)
        *out = identity;
    return code;
}

static enum err_code linux_check(struct flasher *flasher, const char *device, const char *path,
                                 struct err *err)
{
    const struct flash_linux *flash = (const struct flash_linux *)flasher;
    char bus[BUS_SIZE], link[SYS_PATH_MAX], driver[FLASH_COMPONENT_SIZE] = "";
    OWN(nlx) struct nlx *nlx = NULL;
    struct err why = ERR_INIT;
    enum err_code code = find_bus(flash, device, bus, err);
    if (code == ERR_OK)
        code = nlx_open(NETLINK_GENERIC, &nlx, err);
    if (code != ERR_OK)
        return code;
    code = devlink_flash_probe(nlx, bus, device, &why);
    snprintf(link, sizeof(link), "/sys/bus/%s/devices/%s/driver", bus, device);
    (void)sys_link_name(flash->root, link, driver, sizeof(driver));
    if (code == ERR_UNSUPPORTED && has_tool(flash, bus, driver)) {
        const struct mstflint tool = {
            .tool = flash->tool, .device = device, .starter = flash->starter};
        struct flash_identity identity = {0};
        return path == NULL ? mstflint_identify(&tool, &identity, err)
                            : mstflint_check_image(&tool, path, err);
    }
    if (code != ERR_OK && err != NULL)
        *err = why;
    return code;
}

/* In use? -------------------------------------------------------------------------------------- */

struct interfaces {
    const struct flash_linux *flash;
    const char *device;
    int count;
    int ifindex[FLASH_PORTS_MAX];
};

static void take_ifindex(const struct flash_linux *flash, const char *folder, void *arg)
{
    struct interfaces *all = arg;
    int ifindex;
    if (all->count < FLASH_PORTS_MAX && read_number(flash, folder, "ifindex", &ifindex))
        all->ifindex[all->count++] = ifindex;
}

/* By the device folder of hardware, or, for Soft-RoCE, by the interface below. A card's functions
 * have one firmware: who uses another one, or a virtual one, would lose it too. */
static bool is_on(void *arg, const struct rdma_list *list, size_t at)
{
    const struct interfaces *all = arg;
    char path[SYS_PATH_MAX];
    snprintf(path, sizeof(path), "/sys/class/infiniband/%s/device", list->devices[at].name);
    if (pci_is_same_card(all->flash->root, path, all->device))
        return true;
    for (size_t i = 0; i < list->port_count; i++)
        for (int k = 0; list->ports[i].device == list->devices[at].index && k < all->count; k++)
            if (list->ports[i].ifindex == (uint32_t)all->ifindex[k])
                return true;
    return false;
}

static enum err_code linux_users(struct flasher *flasher, const char *device, int *out_count,
                                 struct err *err)
{
    const struct flash_linux *flash = (const struct flash_linux *)flasher;
    struct interfaces all = {.flash = flash, .device = device};
    enum err_code code = each_interface(flash, device, take_ifindex, &all, err);
    return code == ERR_OK ? rdma_users(flash->root, is_on, &all, out_count, err) : code;
}

/* A representor is no port of the device: it has the number of one, and goes with its function. */
static void take_link(const struct flash_linux *flash, const char *folder, void *arg)
{
    struct flash_links *links = arg;
    char name[SYS_NAME_MAX];
    int port = 0, carrier = 0;
    if (links->count == FLASH_PORTS_MAX || !read_number(flash, folder, "dev_port", &port) ||
        netdev_representor(flash->root, folder, name, sizeof(name)))
        return;
    int at = links->count++;
    while (at > 0 && links->items[at - 1].port > port) {
        links->items[at] = links->items[at - 1];
        at--;
    }
    links->items[at].port = port;
    /* A port that is set down has no carrier to read. */
    links->items[at].up = read_number(flash, folder, "carrier", &carrier) && carrier == 1;
}

static enum err_code linux_links(struct flasher *flasher, const char *device,
                                 struct flash_links *out, struct err *err)
{
    struct flash_links links = {0};
    enum err_code code =
        each_interface((const struct flash_linux *)flasher, device, take_link, &links, err);
    if (code == ERR_OK)
        *out = links;
    return code;
}

/* Writing -------------------------------------------------------------------------------------- */

/* Where the kernel looks for firmware first, and our folder there. */
static void our_folder(const struct flash_linux *flash, char *out, size_t size)
{
    char base[SYS_PATH_MAX / 2];
    if (sys_read(flash->root, FIRMWARE_PARAM, base, sizeof(base), NULL) != ERR_OK || base[0] != '/')
        snprintf(base, sizeof(base), "%s", FIRMWARE_FOLDER);
    snprintf(out, size, "%s%s/%s", flash->root, base, OUR_FOLDER);
}

static enum err_code copy(const char *from, const char *to, struct err *err)
{
    OWN(mem) void *buffer = malloc(COPY_BYTES);
    if (buffer == NULL)
        return err_nomem(err);
    int in = open(from, O_RDONLY | O_CLOEXEC);
    int out = in < 0 ? -1 : open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    int error = out < 0 ? errno : 0;
    ssize_t n = 0;
    while (error == 0 && (n = read(in, buffer, COPY_BYTES)) > 0) {
        ssize_t put = write(out, buffer, (size_t)n);
        error = put < 0 ? errno : put < n ? ENOSPC : 0; /* a write that came short */
    }
    if (error == 0 && n < 0)
        error = errno;
    if (in >= 0)
        close(in);
    if (out >= 0 && close(out) != 0 && error == 0)
        error = errno;
    return error == 0 ? ERR_OK
                      : err_set_errno(err, ERR_IO, error, "cannot put the image to %s", to);
}

static void linux_sweep(struct flasher *flasher)
{
    char folder[SYS_PATH_MAX];
    our_folder((const struct flash_linux *)flasher, folder, sizeof(folder));
    DIR *dir = opendir(folder);
    if (dir == NULL)
        return;
    for (const struct dirent *entry = readdir(dir); entry != NULL; entry = readdir(dir))
        if (entry->d_name[0] != '.')
            (void)unlinkat(dirfd(dir), entry->d_name, 0);
    closedir(dir);
}

static enum err_code place(struct flasher *flasher, const struct flash_write *write,
                           char out_file[SYS_NAME_MAX], struct err *err)
{
    char folder[SYS_PATH_MAX], path[2 * SYS_PATH_MAX];
    our_folder((const struct flash_linux *)flasher, folder, sizeof(folder));
    snprintf(out_file, SYS_NAME_MAX, "%s/%s.bin", OUR_FOLDER, write->id);
    snprintf(path, sizeof(path), "%s/%s.bin", folder, write->id);
    enum err_code code = file_mkdirs(folder, 0755, err);
    (void)unlink(path);
    return code == ERR_OK ? copy(write->path, path, err) : code;
}

static void on_event(void *arg, const struct devlink_flash_event *event)
{
    const struct flash_write *write = arg;
    struct flash_progress progress = {.percent = devlink_flash_percent(event)};
    if (event->kind != DEVLINK_FLASH_STATUS || write->progress == NULL)
        return;
    text_copy(progress.message, sizeof(progress.message), event->message);
    text_copy(progress.component, sizeof(progress.component), event->component);
    progress.timeout_s = event->timeout_s > INT32_MAX ? INT32_MAX : (int)event->timeout_s;
    write->progress(write->arg, &progress);
}

static enum err_code by_devlink(struct flasher *flasher, const char *bus,
                                const struct flash_write *write, struct err *err)
{
    char file[SYS_NAME_MAX];
    enum err_code code = place(flasher, write, file, err);
    const struct devlink_flash devlink = {.bus = bus,
                                          .device = write->device,
                                          .file = file,
                                          .deadline_s = write->deadline_s,
                                          .event = on_event,
                                          .arg = (void *)(uintptr_t)write};
    if (code == ERR_OK)
        code = devlink_flash(&devlink, err);
    if (code != ERR_UNAVAILABLE) /* a driver that has not come back may still read it */
        linux_sweep(flasher);
    return code;
}

static enum err_code linux_write(struct flasher *flasher, const struct flash_write *write,
                                 struct err *err)
{
    const struct flash_linux *flash = (const struct flash_linux *)flasher;
    char bus[BUS_SIZE], link[SYS_PATH_MAX], driver[FLASH_COMPONENT_SIZE] = "";
    struct err why = ERR_INIT;
    enum err_code code = find_bus(flash, write->device, bus, err);
    if (code != ERR_OK)
        return code;
    snprintf(link, sizeof(link), "/sys/bus/%s/devices/%s/driver", bus, write->device);
    (void)sys_link_name(flash->root, link, driver, sizeof(driver));
    code = by_devlink(flasher, bus, write, &why);
    if (code == ERR_UNSUPPORTED && has_tool(flash, bus, driver)) {
        const struct mstflint tool = {
            .tool = flash->tool, .device = write->device, .starter = flash->starter};
        return mstflint_burn(&tool, write, err);
    }
    if (code != ERR_OK && err != NULL)
        *err = why;
    return code;
}

static enum err_code reload(struct flasher *flasher, const char *device, enum devlink_reload what,
                            int deadline_s, struct err *err)
{
    char bus[BUS_SIZE];
    enum err_code code = find_bus((const struct flash_linux *)flasher, device, bus, err);
    return code == ERR_OK ? devlink_reload(bus, device, what, deadline_s, err) : code;
}

static enum err_code linux_activate(struct flasher *flasher, const char *device, int deadline_s,
                                    struct err *err)
{
    return reload(flasher, device, DEVLINK_RELOAD_FIRMWARE, deadline_s, err);
}

static enum err_code linux_reload(struct flasher *flasher, const char *device, int deadline_s,
                                  struct err *err)
{
    return reload(flasher, device, DEVLINK_RELOAD_DRIVER, deadline_s, err);
}

static void linux_free(struct flasher *flasher)
{
    free(flasher);
}

enum err_code flash_linux_new(const struct flash_linux_config *config, struct flasher **out,
                              struct err *err)
{
    static const struct flasher_ops ops = {
        .identify = linux_identify,
        .check = linux_check,
        .users = linux_users,
        .links = linux_links,
        .write = linux_write,
        .activate = linux_activate,
        .reload = linux_reload,
        .sweep = linux_sweep,
        .free = linux_free,
    };
    const char *root = config->root == NULL ? "" : config->root;
    const char *tool = config->mstflint == NULL ? "mstflint" : config->mstflint;
    struct flash_linux *flash = calloc(1, sizeof(*flash));
    if (flash == NULL)
        return err_nomem(err);
    if (strlen(root) >= sizeof(flash->root) || strlen(tool) >= sizeof(flash->tool)) {
        free(flash);
        return err_set(err, ERR_LIMIT, "the path of the root or of mstflint is too long");
    }
    flash->base.ops = &ops;
    flash->starter = config->starter;
    snprintf(flash->root, sizeof(flash->root), "%s", root);
    snprintf(flash->tool, sizeof(flash->tool), "%s", tool);
    *out = &flash->base;
    return ERR_OK;
}
