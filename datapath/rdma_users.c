/*
 * datapath/rdma_users.c - see rdma_users.h.
 */
#include "datapath/rdma_users.h"

#include <stdlib.h>

#include <linux/netlink.h>

#include "base/own.h"
#include "datapath/nl/rdma.h"
#include "datapath/nl/rdma_qp.h"
#include "datapath/sys/sys.h"

enum err_code rdma_users(const char *root, rdma_users_pick *pick, void *arg, int *out,
                         struct err *err)
{
    OWN(nlx) struct nlx *nlx = NULL;
    OWN(mem) void *memory = calloc(1, sizeof(struct rdma_list));
    struct rdma_list *list = memory;
    int sum = 0;
    if (list == NULL)
        return err_nomem(err);
    if (!sys_exists(root, "/sys/class/infiniband")) {
        *out = 0;
        return ERR_OK;
    }
    enum err_code code = nlx_open(NETLINK_RDMA, &nlx, err);
    if (code == ERR_OK)
        code = rdma_list(nlx, list, err);
    if (code == ERR_OK && list->truncated)
        code = err_set(err, ERR_LIMIT, "more than %d RDMA devices or %d ports", RDMA_DEVICES_MAX,
                       RDMA_PORTS_MAX);
    for (size_t i = 0; code == ERR_OK && i < list->device_count; i++) {
        int count = 0;
        if (pick != NULL && !pick(arg, list, i))
            continue;
        code = rdma_user_qps(nlx, list->devices[i].index, &count, err);
        sum += count;
    }
    if (code == ERR_OK)
        *out = sum;
    return code;
}
