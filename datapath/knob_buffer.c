/*
 * datapath/knob_buffer.c - dcb.buffer: receive buffers and which priority uses which.
 */
#include "datapath/knob_dcb.h"

static enum err_code get(struct dp_linux *dp, const struct dp_port *port, struct dcb_state *out,
                         struct err *err)
{
    enum err_code code = knob_dcb_get(dp, port, out, err);
    return code != ERR_OK ? code : knob_dcb_need(port, out->has_buffer, "buffer settings", err);
}

static enum err_code observe(struct dp_linux *dp, const struct dp_port *port, const char *id,
                             struct state *out, struct err *err)
{
    (void)id;
    struct dcb_state dcb;
    enum err_code code = get(dp, port, &dcb, err);
    if (code != ERR_OK)
        return code;
    return linux_observed(out, "dcb.buffer", port, "", buffer_value_to_json(&dcb.buffer),
                          KNOB_OWNER_UNKNOWN, err);
}

static enum err_code check(struct dp_linux *dp, const struct dp_port *port,
                           const struct plan_step *step, struct err *err)
{
    struct buffer_value value;
    struct dcb_state dcb;
    uint64_t sum = 0;
    enum err_code code = buffer_value_from_json(step->to, &value, err);
    if (code == ERR_OK)
        code = get(dp, port, &dcb, err);
    for (int i = 0; code == ERR_OK && i < VALUE_PRIORITIES; i++)
        sum += value.size_bytes[i];
    if (code == ERR_OK && dcb.buffer_total_bytes != 0 && sum > dcb.buffer_total_bytes)
        return err_set(err, ERR_UNSUPPORTED, "the buffers sum to %llu bytes, but %s has %u",
                       (unsigned long long)sum, port->ifname, dcb.buffer_total_bytes);
    return code;
}

static enum err_code apply(struct dp_linux *dp, const struct dp_port *port,
                           const struct plan_step *step, struct err *err)
{
    struct buffer_value value;
    bool host = true;
    enum err_code code = buffer_value_from_json(step->to, &value, err);
    if (code == ERR_OK)
        code = knob_dcb_claim(dp, port, &host, err);
    if (code == ERR_OK)
        code = dcb_set_buffer(dp->route, port->ifname, &value, err);
    return knob_dcb_done(code, host, err);
}

const struct linux_knob knob_buffer = {
    .kind = "dcb.buffer",
    .observe = observe,
    .check = check,
    .apply = apply,
};
