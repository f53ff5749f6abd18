/*
 * datapath/nl/rdma_stat.c - see rdma_stat.h. What the attributes mean: drivers/infiniband/core/
 * nldev.c and counters.c of Linux 6.1.
 */
#include "datapath/nl/rdma_stat.h"

#include <stdlib.h>
#include <string.h>

#include <rdma/rdma_netlink.h>

#include "datapath/nl/rdma_qp.h"

#define NEST_SIZE 64
#define MODE_AUTO 1 /* enum rdma_nl_counter_mode, RDMA_COUNTER_MODE_AUTO */
#define MASK_TYPE 1 /* enum rdma_nl_counter_mask */
#define MASK_PID  2
#define MALFORMED "the kernel's list of counters of queue pairs is malformed"

static struct nl_msg *stat_msg(uint16_t type, uint32_t device)
{
    struct nl_msg *msg = nlx_msg_new(type, 0, NULL, 0, NEST_SIZE);
    if (msg != NULL && (nla_put_u32(msg, RDMA_NLDEV_ATTR_DEV_INDEX, device) < 0 ||
                        nla_put_u32(msg, RDMA_NLDEV_ATTR_STAT_RES, RDMA_NLDEV_ATTR_RES_QP) < 0)) {
        nlmsg_free(msg);
        msg = NULL;
    }
    return msg;
}

struct nl_msg *rdma_encode_stats(uint32_t device)
{
    return stat_msg(RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_STAT_GET), device);
}

struct nl_msg *rdma_encode_stat_auto(uint32_t device, uint32_t port)
{
    struct nl_msg *msg = stat_msg(RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_STAT_SET), device);
    if (msg != NULL &&
        (nla_put_u32(msg, RDMA_NLDEV_ATTR_PORT_INDEX, port) < 0 ||
         nla_put_u32(msg, RDMA_NLDEV_ATTR_STAT_MODE, MODE_AUTO) < 0 ||
         nla_put_u32(msg, RDMA_NLDEV_ATTR_STAT_AUTO_MODE_MASK, MASK_TYPE | MASK_PID) < 0)) {
        nlmsg_free(msg);
        msg = NULL;
    }
    return msg;
}

/* Queue pairs -----------------------------------------------------------------------------------
 */

enum err_code rdma_decode_qps(const struct nlmsghdr *msg, struct rdma_qp_list *out, struct err *err)
{
    struct nlattr *tb[RDMA_NLDEV_ATTR_MAX], *entry[RDMA_NLDEV_ATTR_MAX], *attr;
    int left;
    if (!nlx_parse(msg, 0, tb, RDMA_NLDEV_ATTR_MAX - 1))
        return err_set(err, ERR_IO, "the kernel's list of queue pairs is malformed");
    if (tb[RDMA_NLDEV_ATTR_RES_QP] == NULL)
        return ERR_OK;
    nla_for_each_nested(attr, tb[RDMA_NLDEV_ATTR_RES_QP], left)
    {
        struct rdma_qp qp = {0};
        if (nla_type(attr) != RDMA_NLDEV_ATTR_RES_QP_ENTRY)
            continue;
        if (!nlx_parse_nested(attr, entry, RDMA_NLDEV_ATTR_MAX - 1))
            return err_set(err, ERR_IO, "the kernel's list of queue pairs is malformed");
        if (entry[RDMA_NLDEV_ATTR_RES_KERN_NAME] != NULL ||
            !nlx_u32(entry[RDMA_NLDEV_ATTR_RES_LQPN], &qp.number))
            continue; /* the kernel's own */
        nlx_u32(entry[RDMA_NLDEV_ATTR_PORT_INDEX], &qp.port);
        nlx_u32(entry[RDMA_NLDEV_ATTR_RES_PID], &qp.pid);
        if (out->count == RDMA_STAT_QPS_MAX)
            out->truncated = true;
        else
            out->items[out->count++] = qp;
    }
    return ERR_OK;
}

static enum err_code take_qps(void *arg, const struct nlmsghdr *msg, struct err *err)
{
    return rdma_decode_qps(msg, arg, err);
}

static void restart_qps(void *arg)
{
    ((struct rdma_qp_list *)arg)->count = 0;
    ((struct rdma_qp_list *)arg)->truncated = false;
}

enum err_code rdma_qps(struct nlx *nlx, uint32_t device, struct rdma_qp_list *out, struct err *err)
{
    OWN(nl_msg) struct nl_msg *msg = rdma_encode_qps(device);
    restart_qps(out);
    if (msg == NULL)
        return err_nomem(err);
    enum err_code code = nlx_dump(nlx, msg, take_qps, restart_qps, out, err);
    return code == ERR_NOT_FOUND ? ERR_OK : code;
}

/* Counters --------------------------------------------------------------------------------------
 */

static bool read_numbers(const struct nlattr *nest, struct rdma_stat *stat)
{
    struct nlattr *entry[RDMA_NLDEV_ATTR_MAX], *attr;
    int left;
    nla_for_each_nested(attr, nest, left)
    {
        uint32_t number;
        if (!nlx_parse_nested(attr, entry, RDMA_NLDEV_ATTR_MAX - 1))
            return false;
        if (!nlx_u32(entry[RDMA_NLDEV_ATTR_RES_LQPN], &number))
            continue;
        if (stat->qp_count < RDMA_STAT_VALUES_MAX)
            stat->qps[stat->qp_count] = number;
        stat->qp_count++;
    }
    return true;
}

static bool read_values(const struct nlattr *nest, struct rdma_stat *stat)
{
    struct nlattr *entry[RDMA_NLDEV_ATTR_MAX], *attr;
    int left;
    nla_for_each_nested(attr, nest, left)
    {
        struct rdma_stat_value *value = &stat->values[stat->value_count];
        if (!nlx_parse_nested(attr, entry, RDMA_NLDEV_ATTR_MAX - 1))
            return false;
        if (stat->value_count < RDMA_STAT_VALUES_MAX &&
            nlx_text(entry[RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_NAME], value->name,
                     sizeof(value->name)) &&
            nlx_u64(entry[RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_VALUE], &value->value))
            stat->value_count++;
    }
    return true;
}

enum err_code rdma_decode_stats(const struct nlmsghdr *msg, rdma_stat_fn *fn, void *arg,
                                struct err *err)
{
    struct nlattr *tb[RDMA_NLDEV_ATTR_MAX], *entry[RDMA_NLDEV_ATTR_MAX], *attr;
    int left;
    OWN(mem) void *memory = malloc(sizeof(struct rdma_stat));
    struct rdma_stat *stat = memory;
    if (stat == NULL)
        return err_nomem(err);
    if (!nlx_parse(msg, 0, tb, RDMA_NLDEV_ATTR_MAX - 1))
        return err_set(err, ERR_IO, MALFORMED);
    if (tb[RDMA_NLDEV_ATTR_STAT_COUNTER] == NULL)
        return ERR_OK;
    nla_for_each_nested(attr, tb[RDMA_NLDEV_ATTR_STAT_COUNTER], left)
    {
        *stat = (struct rdma_stat){0};
        if (!nlx_parse_nested(attr, entry, RDMA_NLDEV_ATTR_MAX - 1))
            return err_set(err, ERR_IO, MALFORMED);
        nlx_u32(entry[RDMA_NLDEV_ATTR_PORT_INDEX], &stat->port);
        nlx_u32(entry[RDMA_NLDEV_ATTR_STAT_COUNTER_ID], &stat->id);
        nlx_u32(entry[RDMA_NLDEV_ATTR_RES_PID], &stat->pid);
        if ((entry[RDMA_NLDEV_ATTR_RES_QP] != NULL &&
             !read_numbers(entry[RDMA_NLDEV_ATTR_RES_QP], stat)) ||
            (entry[RDMA_NLDEV_ATTR_STAT_HWCOUNTERS] != NULL &&
             !read_values(entry[RDMA_NLDEV_ATTR_STAT_HWCOUNTERS], stat)))
            return err_set(err, ERR_IO, MALFORMED);
        if (!fn(arg, stat))
            break;
    }
    return ERR_OK;
}

struct stat_call {
    rdma_stat_fn *fn;
    void *arg;
};

static enum err_code take_stats(void *arg, const struct nlmsghdr *msg, struct err *err)
{
    const struct stat_call *call = arg;
    return rdma_decode_stats(msg, call->fn, call->arg, err);
}

/* A dump that begins again tells a set again: whoever takes them knows them by their number. */
static void restart_stats(void *arg)
{
    (void)arg;
}

enum err_code rdma_stats(struct nlx *nlx, uint32_t device, rdma_stat_fn *fn, void *arg,
                         struct err *err)
{
    OWN(nl_msg) struct nl_msg *msg = rdma_encode_stats(device);
    struct stat_call call = {fn, arg};
    if (msg == NULL)
        return err_nomem(err);
    return nlx_dump(nlx, msg, take_stats, restart_stats, &call, err);
}

enum err_code rdma_stat_auto(struct nlx *nlx, uint32_t device, uint32_t port, struct err *err)
{
    OWN(nl_msg) struct nl_msg *msg = rdma_encode_stat_auto(device, port);
    return msg == NULL ? err_nomem(err) : nlx_txn(nlx, msg, NULL, NULL, err);
}
