/*
 * datapath/knob_dcbx.c - dcb.dcbx: the host manages the port's dcb, and nobody else. Two managers
 * undo each other's work, so a port with another one is refused, by name, before anything changes.
 */
#include <stdio.h>
#include <string.h>

#include "datapath/knob_dcb.h"
#include "datapath/sys/dcbx_agent.h"

#define MODE_HOST (DCBX_HOST | DCBX_IEEE)

enum err_code linux_dcbx(struct dp_linux *dp, const struct dp_port *port, struct dcbx_value *out,
                         struct err *err)
{
    bool has;
    *out = (struct dcbx_value){.mode = 0};
    enum err_code code = dcb_get_mode(dp->route, port->ifname, &has, &out->mode, err);
    if (code == ERR_OK)
        code = knob_dcb_need(port, has, "DCBX modes", err);
    if (code != ERR_OK)
        return code;
    const char *agent = (out->mode & DCBX_FIRMWARE) != 0 ? "firmware"
                        : dcbx_lldpad_runs(dp->root)     ? "lldpad"
                                                         : "none";
    snprintf(out->agent, sizeof(out->agent), "%s", agent);
    return ERR_OK;
}

static enum err_code observe(struct dp_linux *dp, const struct dp_port *port, const char *id,
                             struct state *out, struct err *err)
{
    (void)id;
    struct dcbx_value is;
    enum err_code code = linux_dcbx(dp, port, &is, err);
    if (code != ERR_OK)
        return code;
    return linux_observed(out, "dcb.dcbx", port, "", dcbx_value_to_json(&is),
                          strcmp(is.agent, "none") == 0 ? KNOB_OWNER_UNKNOWN : KNOB_OWNER_OTHER,
                          err);
}

static enum err_code refuse_another(const struct dp_port *port, const struct dcbx_value *is,
                                    struct err *err)
{
    if (strcmp(is->agent, "firmware") == 0)
        return err_set(err, ERR_CONFLICT,
                       "the firmware of %s runs DCBX itself (LLD managed): switch off its LLDP or "
                       "DCBX agent with the vendor's tool",
                       port->ifname);
    if (strcmp(is->agent, "none") != 0)
        return err_set(err, ERR_CONFLICT,
                       "%s manages DCBX on this node and would undo what is set on %s: stop it "
                       "(systemctl disable --now %s.service %s.socket)",
                       is->agent, port->ifname, is->agent, is->agent);
    return ERR_OK;
}

static enum err_code check(struct dp_linux *dp, const struct dp_port *port,
                           const struct plan_step *step, struct err *err)
{
    struct dcbx_value want, is;
    enum err_code code = dcbx_value_from_json(step->to, &want, err);
    if (code == ERR_OK)
        code = linux_dcbx(dp, port, &is, err);
    return code != ERR_OK ? code : refuse_another(port, &is, err);
}

static enum err_code apply(struct dp_linux *dp, const struct dp_port *port,
                           const struct plan_step *step, struct err *err)
{
    struct dcbx_value want;
    enum err_code code = check(dp, port, step, err);
    if (code == ERR_OK)
        code = dcbx_value_from_json(step->to, &want, err);
    return code != ERR_OK ? code : dcb_set_mode(dp->route, port->ifname, want.mode, err);
}

/* Drivers show more bits than were asked for. */
static bool same(const json_t *live, const json_t *want)
{
    struct dcbx_value is, wanted;
    return dcbx_value_from_json(live, &is, NULL) == ERR_OK &&
           dcbx_value_from_json(want, &wanted, NULL) == ERR_OK &&
           strcmp(is.agent, wanted.agent) == 0 && (is.mode & DCBX_FIRMWARE) == 0 &&
           (is.mode & MODE_HOST) == MODE_HOST && (wanted.mode & MODE_HOST) == MODE_HOST;
}

const struct linux_knob knob_dcbx = {
    .kind = "dcb.dcbx",
    .observe = observe,
    .check = check,
    .apply = apply,
    .same = same,
};
