/*
 * datapath/knob_dcb.c - see knob_dcb.h.
 */
#include "datapath/knob_dcb.h"

enum err_code knob_dcb_need(const struct dp_port *port, bool has, const char *what, struct err *err)
{
    if (has)
        return ERR_OK;
    return err_set(err, ERR_UNSUPPORTED, "the driver %s of %s has no %s",
                   port->driver[0] == '\0' ? "(unknown)" : port->driver, port->ifname, what);
}

enum err_code knob_dcb_get(struct dp_linux *dp, const struct dp_port *port, struct dcb_state *out,
                           struct err *err)
{
    enum err_code code = dcb_get(dp->route, port->ifname, out, err);
    return code == ERR_UNSUPPORTED ? knob_dcb_need(port, false, "dcb", err) : code;
}

enum err_code knob_dcb_claim(struct dp_linux *dp, const struct dp_port *port, bool *out_host,
                             struct err *err)
{
    return dcb_claim(dp->route, port->ifname, out_host, err);
}

enum err_code knob_dcb_done(enum err_code code, bool host, struct err *err)
{
    if (code != ERR_OK && !host)
        (void)err_context(err, "the device's firmware manages dcb and does not hand it over");
    return code;
}
