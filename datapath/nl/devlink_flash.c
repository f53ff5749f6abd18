/*
 * datapath/nl/devlink_flash.c - see devlink_flash.h.
 */
#include "datapath/nl/devlink_flash.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <linux/devlink.h>
#include <linux/genetlink.h>
#include <netlink/genl/ctrl.h>
#include <netlink/genl/genl.h>
#include <netlink/netlink.h>
#include <netlink/socket.h>

#include "base/thread.h"

#define EVENT_BYTES   (16 * 1024)
#define MS_PER_S      1000
#define NO_SUCH_IMAGE "stellar/no-such-image"

bool devlink_decode_flash(const struct nlmsghdr *msg, uint16_t family,
                          struct devlink_flash_event *out)
{
    static const struct {
        uint8_t command;
        enum devlink_flash_kind kind;
    } kinds[] = {{DEVLINK_CMD_FLASH_UPDATE, DEVLINK_FLASH_BEGIN},
                 {DEVLINK_CMD_FLASH_UPDATE_STATUS, DEVLINK_FLASH_STATUS},
                 {DEVLINK_CMD_FLASH_UPDATE_END, DEVLINK_FLASH_END}};
    struct nlattr *tb[DEVLINK_ATTR_MAX + 1];
    if (msg->nlmsg_type != family || !nlx_parse(msg, GENL_HDRLEN, tb, DEVLINK_ATTR_MAX))
        return false;
    const struct genlmsghdr *head = nlmsg_data(msg);
    size_t i = 0;
    while (i < sizeof(kinds) / sizeof(kinds[0]) && kinds[i].command != head->cmd)
        i++;
    struct devlink_flash_event event = {0};
    if (i == sizeof(kinds) / sizeof(kinds[0]) ||
        !nlx_text(tb[DEVLINK_ATTR_BUS_NAME], event.bus, sizeof(event.bus)) ||
        !nlx_text(tb[DEVLINK_ATTR_DEV_NAME], event.device, sizeof(event.device)))
        return false;
    event.kind = kinds[i].kind;
    nlx_text(tb[DEVLINK_ATTR_FLASH_UPDATE_STATUS_MSG], event.message, sizeof(event.message));
    nlx_text(tb[DEVLINK_ATTR_FLASH_UPDATE_COMPONENT], event.component, sizeof(event.component));
    nlx_u64(tb[DEVLINK_ATTR_FLASH_UPDATE_STATUS_DONE], &event.done);
    nlx_u64(tb[DEVLINK_ATTR_FLASH_UPDATE_STATUS_TOTAL], &event.total);
    nlx_u64(tb[DEVLINK_ATTR_FLASH_UPDATE_STATUS_TIMEOUT], &event.timeout_s);
    *out = event;
    return true;
}

int devlink_flash_percent(const struct devlink_flash_event *event)
{
    if (event->total == 0)
        return -1;
    return event->done >= event->total ? 100
                                       : (int)((double)event->done * 100.0 / (double)event->total);
}

static struct nl_msg *encode(uint16_t family, uint8_t command, const char *bus, const char *device)
{
    struct nl_msg *msg = nlx_genl_new(family, command, 0);
    if (msg != NULL && (nla_put_string(msg, DEVLINK_ATTR_BUS_NAME, bus) < 0 ||
                        nla_put_string(msg, DEVLINK_ATTR_DEV_NAME, device) < 0)) {
        nlmsg_free(msg);
        msg = NULL;
    }
    return msg;
}

struct nl_msg *devlink_encode_flash(uint16_t family, const char *bus, const char *device,
                                    const char *file, const char *component)
{
    struct nl_msg *msg = encode(family, DEVLINK_CMD_FLASH_UPDATE, bus, device);
    if (msg != NULL &&
        (nla_put_string(msg, DEVLINK_ATTR_FLASH_UPDATE_FILE_NAME, file) < 0 ||
         (component != NULL &&
          nla_put_string(msg, DEVLINK_ATTR_FLASH_UPDATE_COMPONENT, component) < 0))) {
        nlmsg_free(msg);
        msg = NULL;
    }
    return msg;
}

struct nl_msg *devlink_encode_reload(uint16_t family, const char *bus, const char *device,
                                     enum devlink_reload what)
{
    static const uint8_t actions[] = {
        [DEVLINK_RELOAD_DRIVER] = DEVLINK_RELOAD_ACTION_DRIVER_REINIT,
        [DEVLINK_RELOAD_FIRMWARE] = DEVLINK_RELOAD_ACTION_FW_ACTIVATE,
    };
    struct nl_msg *msg = encode(family, DEVLINK_CMD_RELOAD, bus, device);
    if (msg != NULL && nla_put_u8(msg, DEVLINK_ATTR_RELOAD_ACTION, actions[what]) < 0) {
        nlmsg_free(msg);
        msg = NULL;
    }
    return msg;
}

/* Events: a socket in the group, read by a thread of its own while the request blocks. ----------*/

struct listener {
    const struct devlink_flash *flash;
    uint16_t family;
    struct nl_sock *sock;
    int stop_fd;
    pthread_t thread;
    bool running;
    uint32_t buffer[EVENT_BYTES / sizeof(uint32_t)]; /* aligned as messages are */
};

/* Lost events are progress that nobody sees: no more. */
static void take_events(struct listener *listener)
{
    const struct devlink_flash *flash = listener->flash;
    struct sockaddr_nl from = {0};
    socklen_t from_len = sizeof(from);
    ssize_t n =
        recvfrom(nl_socket_get_fd(listener->sock), listener->buffer, sizeof(listener->buffer),
                 MSG_DONTWAIT, (struct sockaddr *)&from, &from_len);
    if (n <= 0 || from.nl_pid != 0)
        return;
    int left = (int)n;
    for (struct nlmsghdr *msg = (struct nlmsghdr *)listener->buffer; nlmsg_ok(msg, left);
         msg = nlmsg_next(msg, &left)) {
        struct devlink_flash_event event;
        if (devlink_decode_flash(msg, listener->family, &event) &&
            strcmp(event.bus, flash->bus) == 0 && strcmp(event.device, flash->device) == 0)
            flash->event(flash->arg, &event);
    }
}

static void *listen_run(void *arg)
{
    struct listener *listener = arg;
    struct pollfd fds[2] = {{.fd = nl_socket_get_fd(listener->sock), .events = POLLIN},
                            {.fd = listener->stop_fd, .events = POLLIN}};
    for (;;) {
        int n = poll(fds, 2, -1);
        if (n < 0 && errno != EINTR)
            return NULL;
        if (n > 0 && fds[0].revents != 0)
            take_events(listener);
        else if (n > 0 && fds[1].revents != 0) /* what came before the end was read */
            return NULL;
    }
}

static enum err_code listen_begin(struct listener *listener, struct err *err)
{
    listener->sock = nl_socket_alloc();
    if (listener->sock == NULL)
        return err_nomem(err);
    listener->stop_fd = eventfd(0, EFD_CLOEXEC);
    if (listener->stop_fd < 0)
        return err_set_errno(err, ERR_IO, errno, "cannot make an event descriptor");
    nl_socket_disable_seq_check(listener->sock);
    int rc = genl_connect(listener->sock);
    int group = rc < 0 ? rc : genl_ctrl_resolve_grp(listener->sock, "devlink", "config");
    if (group >= 0)
        rc = nl_socket_add_membership(listener->sock, group);
    if (group < 0 || rc < 0)
        return err_set(err, ERR_UNSUPPORTED, "cannot listen to devlink: %s",
                       nl_geterror(group < 0 ? group : rc));
    int error = thread_begin(&listener->thread, 0, listen_run, listener);
    if (error != 0)
        return err_set_errno(err, ERR_IO, error, "cannot start a thread");
    listener->running = true;
    return ERR_OK;
}

static void listen_end(struct listener *listener)
{
    const uint64_t one = 1;
    if (listener->running && write(listener->stop_fd, &one, sizeof(one)) == (ssize_t)sizeof(one))
        pthread_join(listener->thread, NULL);
    if (listener->sock != NULL)
        nl_socket_free(listener->sock);
    if (listener->stop_fd >= 0)
        close(listener->stop_fd);
    free(listener);
}

static enum err_code open_devlink(struct nlx **out, uint16_t *family, struct err *err)
{
    OWN(nlx) struct nlx *nlx = NULL;
    enum err_code code = nlx_open(NETLINK_GENERIC, &nlx, err);
    if (code == ERR_OK)
        code = nlx_family(nlx, "devlink", family, err);
    if (code == ERR_OK)
        *out = GIVE(nlx);
    return code;
}

enum err_code devlink_flash(const struct devlink_flash *flash, struct err *err)
{
    OWN(nlx) struct nlx *nlx = NULL;
    uint16_t family;
    enum err_code code = open_devlink(&nlx, &family, err);
    if (code != ERR_OK)
        return code;
    OWN(nl_msg)
    struct nl_msg *msg = devlink_encode_flash(family, flash->bus, flash->device, flash->file, NULL);
    struct listener *listener = calloc(1, sizeof(*listener));
    if (msg == NULL || listener == NULL) {
        free(listener);
        return err_nomem(err);
    }
    *listener = (struct listener){.flash = flash, .family = family, .stop_fd = -1};
    code = listen_begin(listener, err);
    if (code == ERR_OK) {
        nlx_set_deadline(nlx, flash->deadline_s * MS_PER_S);
        code = nlx_txn(nlx, msg, NULL, NULL, err);
    }
    listen_end(listener);
    return code;
}

enum err_code devlink_flash_probe(struct nlx *nlx, const char *bus, const char *device,
                                  struct err *err)
{
    uint16_t family;
    struct err why = ERR_INIT;
    enum err_code code = nlx_family(nlx, "devlink", &family, err);
    if (code != ERR_OK)
        return code;
    OWN(nl_msg) struct nl_msg *msg = devlink_encode_flash(family, bus, device, NO_SUCH_IMAGE, NULL);
    if (msg == NULL)
        return err_nomem(err);
    code = nlx_txn(nlx, msg, NULL, NULL, &why);
    if (code == ERR_OK || why.sys_errno == ENOENT)
        return ERR_OK;
    if (err != NULL)
        *err = why;
    return code;
}

enum err_code devlink_reload(const char *bus, const char *device, enum devlink_reload what,
                             int deadline_s, struct err *err)
{
    OWN(nlx) struct nlx *nlx = NULL;
    uint16_t family;
    enum err_code code = open_devlink(&nlx, &family, err);
    if (code != ERR_OK)
        return code;
    OWN(nl_msg) struct nl_msg *msg = devlink_encode_reload(family, bus, device, what);
    if (msg == NULL)
        return err_nomem(err);
    nlx_set_deadline(nlx, deadline_s * MS_PER_S);
    return nlx_txn(nlx, msg, NULL, NULL, err);
}
