/*
 * fleet/compile.c - one node's plan: host first, then port by port. See compile.h; the parts are in
 * compile_*.c.
 */
#include "fleet/compile.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "fleet/compile_job.h"

#define RULE_UNSUPPORTED "knob-unsupported"

void compile_add(struct compile *c, const struct compile_knob *knob)
{
    if (c->code != ERR_OK) {
        json_decref(knob->want);
        return;
    }
    struct plan_knob entry;
    entry.kind = knob_kind_get(knob->kind);
    entry.want = knob->want;
    entry.enforcement = knob->enforcement;
    entry.strict = knob->strict;
    entry.observe_only = false;
    const char *current = c->site == NULL ? "host" : c->site->port->id;
    text_copy(entry.subject, sizeof(entry.subject),
              knob->subject == NULL ? current : knob->subject);
    text_copy(entry.id, sizeof(entry.id), knob->id == NULL ? "" : knob->id);
    text_copy(entry.tenant, sizeof(entry.tenant), knob->job == NULL ? "" : knob->job->tenant->name);
    text_copy(entry.job, sizeof(entry.job), knob->job == NULL ? "" : knob->job->job->name);
    c->code = plan_add(c->plan, &entry, c->err);
}

void compile_leave_out(struct compile *c, const char *fmt, ...)
{
    char text[ERR_TEXT_MAX], message[ERR_TEXT_MAX + 256], subject[256];
    if (c->findings == NULL)
        return;
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    const struct port *port = c->site == NULL ? NULL : c->site->port;
    snprintf(subject, sizeof(subject), "node/%s%s%s", c->node->name, port == NULL ? "" : "/port/",
             port == NULL ? "" : port->id);
    if (port == NULL)
        snprintf(message, sizeof(message), "node %s: %s", c->node->name, text);
    else
        snprintf(message, sizeof(message), "port %s of node %s (driver %s): %s", port->id,
                 c->node->name, port->driver[0] == '\0' ? "unknown" : port->driver, text);
    finding_add(c->findings, &(struct finding){.rule = RULE_UNSUPPORTED,
                                               .severity = FINDING_WARNING,
                                               .subject = subject,
                                               .message = message});
}

/* What functions of a port share: set once, on the port that switches them. */
static void compile_physical(struct compile *c)
{
    const struct port *port = c->site->port;
    compile_device(c);
    if (!c->view->fabric->dcbx_unmanaged && port_has_other_dcbx(port))
        compile_leave_out(c, "%s manages its DCB; nothing of it is programmed before that stops",
                          port->caps.dcbx_agent);
    else
        compile_dcb(c);
    compile_cc(c);
}

static void compile_port(struct compile *c)
{
    const struct port *port = c->site->port;
    if (port->speed_bps <= 0) {
        compile_leave_out(c, "its speed is unknown; nothing is programmed until it is known");
        return;
    }
    if (c->view->fabric->mtu_bytes > 0)
        compile_add(c, &(struct compile_knob){.kind = "link.mtu",
                                              .want = json_integer(c->view->fabric->mtu_bytes),
                                              .enforcement = ENFORCEMENT_NIC});
    compile_coalesce(c);
    compile_arp(c);
    if (!site_is_function(port))
        compile_physical(c);
    compile_tos(c);
    compile_tc(c);
    compile_page(c);
}

static void compile_node(struct compile *c, const struct site_index *index)
{
    compile_host(c);
    compile_nccl(c);
    for (size_t i = 0; i < index->site_count; i++) {
        c->site = &index->sites[i];
        compile_port(c);
    }
    compile_rates(c, index);
}

enum err_code compile_plan(const struct view *view, const struct view_node *node,
                           int64_t generation, struct plan **out, struct finding_list *findings,
                           struct err *err)
{
    OWN(plan) struct plan *plan = NULL;
    struct compile c = {.view = view, .node = node, .findings = findings, .err = err};
    c.code = plan_new(node->name, generation, &plan, err);
    if (c.code != ERR_OK)
        return c.code;
    c.plan = plan;
    if (view->fabric != NULL && node->inventory != NULL) {
        struct site_index index;
        site_index_init(&index);
        site_index_add_node(&index, view, node);
        site_index_finish(&index);
        if (index.nomem)
            c.code = err_nomem(err);
        else
            compile_node(&c, &index);
        site_index_release(&index);
        peers_choose(view, node, &plan->peers);
    }
    json_decref(c.app);
    json_decref(c.buffer);
    json_decref(c.pfc);
    if (c.code == ERR_OK)
        c.code = plan_seal(plan, err);
    if (c.code == ERR_OK)
        *out = GIVE(plan);
    return c.code;
}
