/*
 * datapath/sim_apply.c - what the simulator's device takes, and what becomes of it; see dp_sim.h.
 */
#include <errno.h>
#include <string.h>

#include "base/json.h"
#include "datapath/sim_kind.h"

/* As a batch of a kernel's: small, so that a plan for tests has several. */
#define SIM_RUN_MAX 4

enum err_code sim_check(struct dp *dp, const struct plan_step *step, struct err *err)
{
    struct dp_sim *sim = (struct dp_sim *)dp;
    const struct sim_kind *kind = sim_kind_get(step->kind->name);
    if (kind == NULL)
        return err_set(err, ERR_UNSUPPORTED, "the simulator has no knob %s", step->kind->name);
    bool host = strcmp(step->subject, "host") == 0;
    if (!host && sim_port_index(sim, step->subject) < 0)
        return err_set(err, ERR_NOT_FOUND, "port %s is not there", step->subject);
    if (host != (strncmp(kind->name, "host.", 5) == 0))
        return err_set(err, ERR_INVALID, "%s is no knob of %s", kind->name, step->subject);
    if (sim_has_fault(sim, SIM_FAULT_REFUSE, step->kind))
        return err_set(err, ERR_UNSUPPORTED, "%s: the driver of %s does not have it", kind->name,
                       step->subject);
    if (sim->config.no_pfc && strcmp(kind->name, "dcb.pfc") == 0)
        return err_set(err, ERR_UNSUPPORTED, "%s: the driver of %s has no PFC", kind->name,
                       step->subject);
    if (step->op == STEP_REMOVE && !step->kind->is_set && step->kind->view != KNOB_VIEW_NEXT_BOOT)
        return err_set(err, ERR_INVALID, "%s of %s can be changed but not removed", kind->name,
                       step->subject);
    json_t *taken = NULL;
    enum err_code code =
        kind->check(sim, step->id, step->op == STEP_REMOVE ? NULL : step->to, &taken, err);
    json_decref(taken);
    if (code != ERR_OK)
        (void)err_context(err, "%s", step->subject);
    return code;
}

static enum err_code apply_step(struct dp_sim *sim, const struct plan_step *step, struct err *err)
{
    const struct sim_kind *kind = sim_kind_get(step->kind->name);
    bool removing = step->op == STEP_REMOVE;
    OWN(json) json_t *taken = NULL;
    enum err_code code = kind->check(sim, step->id, removing ? NULL : step->to, &taken, err);
    if (code != ERR_OK)
        return code;
    if (removing && sim_get(sim, kind->name, step->subject, step->id) == NULL)
        return ERR_OK;
    if (kind->relate != NULL) {
        code = kind->relate(sim, step->subject, step->id, taken, err);
        if (code != ERR_OK) {
            (void)err_context(err, "%s", step->subject);
            return code;
        }
    }
    if (sim_put(sim, kind->name, step->subject, step->id, taken, err))
        return ERR_NOMEM;
    code = sim_alter_later(sim, step, err);
    if (code != ERR_OK)
        return code;
    if (!removing && step->strict && !json_equal(taken, step->to)) {
        OWN(str) char *asked = json_canonical(step->to, NULL);
        OWN(str) char *shown = json_canonical(taken, NULL);
        return err_set(err, ERR_IO, "%s: %s: kernel took %s but shows %s", step->subject,
                       kind->name, asked, shown);
    }
    return ERR_OK;
}

enum err_code sim_apply(struct dp *dp, const struct plan_step *step, struct err *err)
{
    struct dp_sim *sim = (struct dp_sim *)dp;
    sim->apply_count++;
    enum err_code code = sim_check(dp, step, err);
    if (code != ERR_OK)
        return code;
    if (sim_has_fault(sim, SIM_FAULT_IGNORE, step->kind))
        return ERR_OK;
    bool fails = sim->fail_all || sim_has_fault(sim, SIM_FAULT_FAIL, step->kind) ||
                 sim_has_fault(sim, SIM_FAULT_FAIL_STEP, step->kind);
    if (sim->fail_in > 0 && --sim->fail_in == 0)
        fails = true;
    if (!fails)
        return apply_step(sim, step, err);
    if (sim->fail_after && !sim->fail_all) {
        code = apply_step(sim, step, err);
        if (code != ERR_OK)
            return code;
    }
    return err_set_errno(err, ERR_IO, EIO, "%s %s%s%s: injected fault", step->subject,
                         step->kind->name, step->id[0] == '\0' ? "" : " ", step->id);
}

static bool goes_together(const struct plan_step *a, const struct plan_step *b)
{
    return a->op == b->op && a->kind == b->kind && strcmp(a->subject, b->subject) == 0;
}

/* Goes on behind a step that fails, as the kernel does with the rest of a batch. */
enum err_code sim_apply_run(struct dp *dp, const struct plan_step *steps, size_t count,
                            struct dp_progress *out, struct err *err)
{
    struct err first = ERR_INIT;
    size_t n = 0, failed = 0;
    for (; n < count && n < SIM_RUN_MAX && goes_together(&steps[0], &steps[n]); n++) {
        struct err problem = ERR_INIT;
        if (sim_apply(dp, &steps[n], &problem) == ERR_OK || first.code != ERR_OK)
            continue;
        first = problem;
        failed = n;
    }
    *out = (struct dp_progress){.begun = n, .failed = first.code == ERR_OK ? n : failed};
    if (first.code != ERR_OK && err != NULL)
        *err = first;
    return first.code;
}
