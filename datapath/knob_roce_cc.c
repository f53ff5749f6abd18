/*
 * datapath/knob_roce_cc.c - roce.cc: congestion control of RoCE in the NIC, through the back-end of
 * its vendor.
 */
#include "datapath/linux.h"

#include "datapath/sys/roce_cc.h"

struct place {
    struct linux_rdma rdma;
    struct roce_cc_where where;
    const struct roce_cc_backend *backend;
};

/* A port without an RDMA device can still have a back-end: some are keyed by netdev or function. */
static enum err_code find(struct dp_linux *dp, const struct dp_port *port, struct place *out,
                          struct err *err)
{
    *out = (struct place){.backend = NULL};
    enum err_code code = linux_rdma_of(port, &out->rdma, err);
    if (code != ERR_OK && code != ERR_UNSUPPORTED)
        return code;
    linux_cc_where(dp, port, &out->rdma, &out->where);
    return roce_cc_find(&out->where, &out->backend, err);
}

static enum err_code observe(struct dp_linux *dp, const struct dp_port *port, const char *id,
                             struct state *out, struct err *err)
{
    (void)id;
    struct place place;
    struct roce_cc is;
    enum err_code code = find(dp, port, &place, err);
    if (code == ERR_OK)
        code = roce_cc_get(place.backend, &place.where, &is, err);
    if (code != ERR_OK)
        return code;
    return linux_observed(out, "roce.cc", port, "", roce_cc_to_json(&is), KNOB_OWNER_UNKNOWN, err);
}

static enum err_code check(struct dp_linux *dp, const struct dp_port *port,
                           const struct plan_step *step, struct err *err)
{
    struct place place;
    struct roce_cc want, is;
    enum err_code code = roce_cc_from_json(step->to, &want, err);
    if (code == ERR_OK)
        code = find(dp, port, &place, err);
    if (code == ERR_OK)
        code = roce_cc_get(place.backend, &place.where, &is, err);
    return code != ERR_OK ? code : roce_cc_check(place.backend, &is, &want, err);
}

static enum err_code apply(struct dp_linux *dp, const struct dp_port *port,
                           const struct plan_step *step, struct err *err)
{
    struct place place;
    struct roce_cc want;
    enum err_code code = roce_cc_from_json(step->to, &want, err);
    if (code == ERR_OK)
        code = find(dp, port, &place, err);
    return code != ERR_OK ? code : roce_cc_set(place.backend, &place.where, &want, err);
}

/* The device has many parameters; the plan speaks of some. */
static bool same(const json_t *live, const json_t *want)
{
    struct roce_cc is, wanted;
    return roce_cc_from_json(live, &is, NULL) == ERR_OK &&
           roce_cc_from_json(want, &wanted, NULL) == ERR_OK && roce_cc_covers(&is, &wanted);
}

const struct linux_knob knob_roce_cc = {
    .kind = "roce.cc",
    .observe = observe,
    .check = check,
    .apply = apply,
    .same = same,
};
