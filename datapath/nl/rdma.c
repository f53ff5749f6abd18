/*
 * datapath/nl/rdma.c - see rdma.h.
 */
#include "datapath/nl/rdma.h"

#include <string.h>

#include <rdma/rdma_netlink.h>

struct nl_msg *rdma_encode_devices(void)
{
    return nlx_msg_new(RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_GET), 0, NULL, 0, 64);
}

struct nl_msg *rdma_encode_ports(uint32_t device)
{
    struct nl_msg *msg =
        nlx_msg_new(RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_PORT_GET), 0, NULL, 0, 64);
    if (msg != NULL && nla_put_u32(msg, RDMA_NLDEV_ATTR_DEV_INDEX, device) < 0) {
        nlmsg_free(msg);
        msg = NULL;
    }
    return msg;
}

enum err_code rdma_decode_device(const struct nlmsghdr *msg, struct rdma_device *out,
                                 struct err *err)
{
    struct nlattr *tb[RDMA_NLDEV_ATTR_MAX];
    memset(out, 0, sizeof(*out));
    if (!nlx_parse(msg, 0, tb, RDMA_NLDEV_ATTR_MAX - 1) ||
        !nlx_u32(tb[RDMA_NLDEV_ATTR_DEV_INDEX], &out->index) ||
        !nlx_text(tb[RDMA_NLDEV_ATTR_DEV_NAME], out->name, sizeof(out->name)))
        return err_set(err, ERR_IO, "the kernel's rdma device answer is malformed");
    /* In a device's entry the port index is that of the last port. */
    nlx_u32(tb[RDMA_NLDEV_ATTR_PORT_INDEX], &out->port_count);
    nlx_text(tb[RDMA_NLDEV_ATTR_FW_VERSION], out->firmware, sizeof(out->firmware));
    return ERR_OK;
}

enum err_code rdma_decode_port(const struct nlmsghdr *msg, struct rdma_port *out, struct err *err)
{
    struct nlattr *tb[RDMA_NLDEV_ATTR_MAX];
    memset(out, 0, sizeof(*out));
    if (!nlx_parse(msg, 0, tb, RDMA_NLDEV_ATTR_MAX - 1) ||
        !nlx_u32(tb[RDMA_NLDEV_ATTR_DEV_INDEX], &out->device) ||
        !nlx_u32(tb[RDMA_NLDEV_ATTR_PORT_INDEX], &out->port))
        return err_set(err, ERR_IO, "the kernel's rdma port answer is malformed");
    nlx_u8(tb[RDMA_NLDEV_ATTR_PORT_STATE], &out->state);
    nlx_u32(tb[RDMA_NLDEV_ATTR_NDEV_INDEX], &out->ifindex);
    return ERR_OK;
}

const char *rdma_state_name(uint8_t state)
{
    /* enum ib_port_state, rdma/ib_verbs.h */
    static const char *const names[] = {NULL, "down", "init", "armed", "active", "active-defer"};
    return state < sizeof(names) / sizeof(names[0]) ? names[state] : NULL;
}

static enum err_code take_device(void *arg, const struct nlmsghdr *msg, struct err *err)
{
    struct rdma_list *list = arg;
    if (list->device_count == RDMA_DEVICES_MAX) {
        list->truncated = true;
        return ERR_OK;
    }
    enum err_code code = rdma_decode_device(msg, &list->devices[list->device_count], err);
    if (code == ERR_OK)
        list->device_count++;
    return code;
}

static enum err_code take_port(void *arg, const struct nlmsghdr *msg, struct err *err)
{
    struct rdma_list *list = arg;
    if (list->port_count == RDMA_PORTS_MAX) {
        list->truncated = true;
        return ERR_OK;
    }
    enum err_code code = rdma_decode_port(msg, &list->ports[list->port_count], err);
    if (code == ERR_OK)
        list->port_count++;
    return code;
}

static void restart_devices(void *arg)
{
    ((struct rdma_list *)arg)->device_count = 0;
}

/* Only this device's ports are dropped: they stand at the end. */
static void restart_ports(void *arg)
{
    struct rdma_list *list = arg;
    if (list->port_count == 0)
        return;
    uint32_t device = list->ports[list->port_count - 1].device;
    while (list->port_count > 0 && list->ports[list->port_count - 1].device == device)
        list->port_count--;
}

static enum err_code list_ports(struct nlx *nlx, uint32_t device, struct rdma_list *list,
                                struct err *err)
{
    OWN(nl_msg) struct nl_msg *msg = rdma_encode_ports(device);
    if (msg == NULL)
        return err_nomem(err);
    struct err problem = ERR_INIT;
    enum err_code code = nlx_dump(nlx, msg, take_port, restart_ports, list, &problem);
    if (code == ERR_NOT_FOUND)
        return ERR_OK; /* it has gone since */
    if (code != ERR_OK && err != NULL)
        *err = problem;
    return code;
}

enum err_code rdma_list(struct nlx *nlx, struct rdma_list *out, struct err *err)
{
    OWN(nl_msg) struct nl_msg *msg = rdma_encode_devices();
    OWN(mem) void *memory = calloc(1, sizeof(struct rdma_list));
    struct rdma_list *list = memory;
    if (msg == NULL || list == NULL)
        return err_nomem(err);
    enum err_code code = nlx_dump(nlx, msg, take_device, restart_devices, list, err);
    for (size_t i = 0; i < list->device_count && code == ERR_OK; i++)
        code = list_ports(nlx, list->devices[i].index, list, err);
    if (code == ERR_OK)
        *out = *list;
    return code;
}
