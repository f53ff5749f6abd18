/*
 * datapath/knob_roce_tos.c - roce.tos: what rdma_cm gives a connection that asks for nothing.
 */
#include "datapath/linux.h"

#include "datapath/sys/roce_tos_aside.h"
#include "datapath/value.h"

/* want NULL: reads *is. */
static enum err_code ask(struct dp_linux *dp, const struct dp_port *port,
                         const struct roce_tos *want, struct roce_tos *is, struct err *err)
{
    struct linux_rdma rdma;
    enum err_code code = linux_rdma_of(port, &rdma, err);
    if (code != ERR_OK)
        return code;
    const struct roce_tos_port at = {.root = dp->root, .device = rdma.device, .port = rdma.port};
    return roce_tos_ask(dp->aside, &at, want, is, LINUX_FILES_MS, err);
}

static enum err_code observe(struct dp_linux *dp, const struct dp_port *port, const char *id,
                             struct state *out, struct err *err)
{
    (void)id;
    struct roce_tos is;
    enum err_code code = ask(dp, port, NULL, &is, err);
    if (code != ERR_OK)
        return code;
    return linux_observed(out, "roce.tos", port, "", roce_tos_value_to_json(&is),
                          KNOB_OWNER_UNKNOWN, err);
}

static enum err_code check(struct dp_linux *dp, const struct dp_port *port,
                           const struct plan_step *step, struct err *err)
{
    struct roce_tos want, is;
    enum err_code code = roce_tos_value_from_json(step->to, &want, err);
    return code != ERR_OK ? code : ask(dp, port, NULL, &is, err);
}

static enum err_code apply(struct dp_linux *dp, const struct dp_port *port,
                           const struct plan_step *step, struct err *err)
{
    struct roce_tos want;
    enum err_code code = roce_tos_value_from_json(step->to, &want, err);
    return code != ERR_OK ? code : ask(dp, port, &want, NULL, err);
}

const struct linux_knob knob_roce_tos = {
    .kind = "roce.tos",
    .observe = observe,
    .check = check,
    .apply = apply,
};
