/*
 * datapath/knob_roce_tos.c - roce.tos: what rdma_cm gives a connection that asks for nothing.
 */
#include "datapath/linux.h"

#include "datapath/sys/roce_tos.h"
#include "datapath/value.h"

static enum err_code get(struct dp_linux *dp, const struct dp_port *port, struct linux_rdma *rdma,
                         struct roce_tos *out, struct err *err)
{
    enum err_code code = linux_rdma_of(port, rdma, err);
    return code != ERR_OK ? code : roce_tos_get(dp->root, rdma->device, rdma->port, out, err);
}

static enum err_code observe(struct dp_linux *dp, const struct dp_port *port, const char *id,
                             struct state *out, struct err *err)
{
    (void)id;
    struct linux_rdma rdma;
    struct roce_tos is;
    enum err_code code = get(dp, port, &rdma, &is, err);
    if (code != ERR_OK)
        return code;
    return linux_observed(out, "roce.tos", port, "", roce_tos_value_to_json(&is),
                          KNOB_OWNER_UNKNOWN, err);
}

static enum err_code check(struct dp_linux *dp, const struct dp_port *port,
                           const struct plan_step *step, struct err *err)
{
    struct linux_rdma rdma;
    struct roce_tos want, is;
    enum err_code code = roce_tos_value_from_json(step->to, &want, err);
    return code != ERR_OK ? code : get(dp, port, &rdma, &is, err);
}

static enum err_code apply(struct dp_linux *dp, const struct dp_port *port,
                           const struct plan_step *step, struct err *err)
{
    struct linux_rdma rdma;
    struct roce_tos want;
    enum err_code code = roce_tos_value_from_json(step->to, &want, err);
    if (code == ERR_OK)
        code = linux_rdma_of(port, &rdma, err);
    return code != ERR_OK ? code : roce_tos_set(dp->root, rdma.device, rdma.port, &want, err);
}

const struct linux_knob knob_roce_tos = {
    .kind = "roce.tos",
    .observe = observe,
    .check = check,
    .apply = apply,
};
