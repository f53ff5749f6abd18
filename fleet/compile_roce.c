/*
 * fleet/compile_roce.c - a port's RoCE knobs: the type of service of connections that ask for none,
 * and the NIC's congestion control.
 */
#include <stdio.h>
#include <string.h>

#include "fleet/compile_job.h"
#include "fleet/read.h"

#define ECT_0      2 /* RFC 3168: the packet may be marked instead of dropped */
#define DSCP_SHIFT 2
#define NAMES_MAX  256

void compile_tos(struct compile *c)
{
    const struct fabric *fabric = c->view->fabric;
    if (!fabric->has_roce_priority)
        return;
    if (!c->site->port->caps.roce_tos) {
        compile_leave_out(c, "rdma_cm offers no type of service for it (no RDMA device, or the "
                             "module rdma_cm is not loaded)");
        return;
    }
    int tos = fabric->priorities[fabric->roce_priority].dscps[0] << DSCP_SHIFT | ECT_0;
    OWN(json) json_t *want = json_object();
    bool whole = write_member(want, "mode", json_string("RoCE v2")) &&
                 write_member(want, "tos", json_integer(tos));
    compile_add(c, &(struct compile_knob){.kind = "roce.tos",
                                          .want = whole ? GIVE(want) : NULL,
                                          .enforcement = ENFORCEMENT_NIC});
}

/* What the profile asks of every NIC's congestion control; CNPs as its "cnp" says, unless the
 * parameters say otherwise. */
static void wanted(const struct fabric *fabric, struct roce_cc *out)
{
    const struct {
        enum roce_cc_id id;
        int value;
    } cnp[] = {{ROCE_CC_CNP_DSCP, fabric->cnp_dscp}, {ROCE_CC_CNP_PRIORITY, fabric->cnp_priority}};
    *out = fabric->cc;
    for (size_t i = 0; fabric->has_cnp && i < sizeof(cnp) / sizeof(cnp[0]); i++) {
        if ((out->present & roce_cc_bit(cnp[i].id)) != 0)
            continue;
        out->present |= roce_cc_bit(cnp[i].id);
        out->values[cnp[i].id] = cnp[i].value;
    }
}

static void append(char names[NAMES_MAX], const char *name)
{
    size_t used = strlen(names);
    snprintf(names + used, NAMES_MAX - used, "%s%s", used == 0 ? "" : ", ", name);
}

/* Takes out what the port lacks, and names it when the profile asks for it by name: a profile may
 * hold the parameters of several vendors. */
static void fit(const struct fabric *fabric, const struct port_caps *caps, struct roce_cc *cc,
                char lacking[NAMES_MAX])
{
    for (int i = 0; i < ROCE_CC_IDS; i++)
        if ((fabric->cc.present & ~caps->roce_cc & roce_cc_bit((enum roce_cc_id)i)) != 0)
            append(lacking, roce_cc_params[i].name);
    if (cc->has_notify && !caps->roce_cc_notify)
        append(lacking, "notify");
    if (cc->has_react && !caps->roce_cc_react)
        append(lacking, "react");
    cc->present &= caps->roce_cc;
    cc->has_notify = cc->has_notify && caps->roce_cc_notify;
    cc->has_react = cc->has_react && caps->roce_cc_react;
}

void compile_cc(struct compile *c)
{
    const struct fabric *fabric = c->view->fabric;
    char lacking[NAMES_MAX] = "";
    struct roce_cc cc;
    wanted(fabric, &cc);
    fit(fabric, &c->site->port->caps, &cc, lacking);
    if (lacking[0] != '\0')
        compile_leave_out(c, "its congestion control has no %s", lacking);
    if (!roce_cc_is_empty(&cc))
        compile_add(c, &(struct compile_knob){.kind = "roce.cc",
                                              .want = roce_cc_to_json(&cc),
                                              .enforcement = ENFORCEMENT_NIC});
}
