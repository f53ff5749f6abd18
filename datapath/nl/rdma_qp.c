/*
 * datapath/nl/rdma_qp.c - see rdma_qp.h.
 */
#include "datapath/nl/rdma_qp.h"

#include <rdma/rdma_netlink.h>

#include "datapath/nl/rdma.h"

struct nl_msg *rdma_encode_qps(uint32_t device)
{
    struct nl_msg *msg =
        nlx_msg_new(RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_RES_QP_GET), 0, NULL, 0, 64);
    if (msg != NULL && nla_put_u32(msg, RDMA_NLDEV_ATTR_DEV_INDEX, device) < 0) {
        nlmsg_free(msg);
        msg = NULL;
    }
    return msg;
}

/* The kernel gives its own a name and others a process, which it leaves out when we cannot see it:
 * what has no name is a user's (drivers/infiniband/core/nldev.c, fill_res_name_pid). */
enum err_code rdma_decode_user_qps(const struct nlmsghdr *msg, int *out, struct err *err)
{
    struct nlattr *tb[RDMA_NLDEV_ATTR_MAX], *entry[RDMA_NLDEV_ATTR_MAX], *attr;
    int count = 0, left;
    if (!nlx_parse(msg, 0, tb, RDMA_NLDEV_ATTR_MAX - 1))
        return err_set(err, ERR_IO, "the kernel's list of queue pairs is malformed");
    if (tb[RDMA_NLDEV_ATTR_RES_QP] != NULL) {
        nla_for_each_nested(attr, tb[RDMA_NLDEV_ATTR_RES_QP], left)
        {
            if (nla_type(attr) != RDMA_NLDEV_ATTR_RES_QP_ENTRY)
                continue;
            if (!nlx_parse_nested(attr, entry, RDMA_NLDEV_ATTR_MAX - 1))
                return err_set(err, ERR_IO, "the kernel's list of queue pairs is malformed");
            count += entry[RDMA_NLDEV_ATTR_RES_KERN_NAME] == NULL;
        }
    }
    *out = count;
    return ERR_OK;
}

static enum err_code take(void *arg, const struct nlmsghdr *msg, struct err *err)
{
    int count = 0;
    enum err_code code = rdma_decode_user_qps(msg, &count, err);
    *(int *)arg += count;
    return code;
}

static void restart(void *arg)
{
    *(int *)arg = 0;
}

enum err_code rdma_user_qps(struct nlx *nlx, uint32_t device, int *out_count, struct err *err)
{
    OWN(nl_msg) struct nl_msg *msg = rdma_encode_qps(device);
    int count = 0;
    struct err why = ERR_INIT;
    if (msg == NULL)
        return err_nomem(err);
    enum err_code code = nlx_dump(nlx, msg, take, restart, &count, &why);
    if (code != ERR_OK && code != ERR_NOT_FOUND) {
        if (err != NULL)
            *err = why;
        return code;
    }
    *out_count = code == ERR_OK ? count : 0;
    return ERR_OK;
}
