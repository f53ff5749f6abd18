/*
 * datapath/sim_fault.c - the simulator's faults that are named by a text; see dp_sim.h.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "datapath/sim_kind.h"

static const char *const fault_names[] = {
    [SIM_FAULT_FAIL_STEP] = "fail-step", [SIM_FAULT_FAIL] = "fail",
    [SIM_FAULT_REFUSE] = "refuse",       [SIM_FAULT_IGNORE] = "ignore",
    [SIM_FAULT_LINK_DOWN] = "link-down", [SIM_FAULT_PEERS_SILENT] = "peers-silent",
    [SIM_FAULT_ALTER] = "alter",         [SIM_FAULT_FLASH] = "flash",
};
#define FAULT_NAMES (sizeof(fault_names) / sizeof(fault_names[0]))

static bool read_step(const char *text, int *out)
{
    char *end;
    errno = 0;
    long n = strtol(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || n < 1 || n > SIM_FAULT_STEP_MAX)
        return false;
    *out = (int)n;
    return true;
}

enum err_code dp_sim_fault(struct dp *dp, const char *text, struct err *err)
{
    struct dp_sim *sim = (struct dp_sim *)dp;
    const char *colon = strchr(text, ':');
    size_t len = colon == NULL ? 0 : (size_t)(colon - text), kind = 0;
    while (kind < FAULT_NAMES &&
           (strlen(fault_names[kind]) != len || strncmp(fault_names[kind], text, len) != 0))
        kind++;
    if (kind == FAULT_NAMES)
        return err_set(err, ERR_INVALID,
                       "'%.64s' is no fault: fail-step:N, or fail, refuse, ignore, link-down, "
                       "peers-silent or alter with :KNOB, or flash:WHAT",
                       text);
    if (sim->fault_count == SIM_FAULTS_MAX)
        return err_set(err, ERR_LIMIT, "the simulator takes at most %d faults", SIM_FAULTS_MAX);
    struct sim_fault fault = {.kind = (enum sim_fault_kind)kind};
    if (fault.kind == SIM_FAULT_FAIL_STEP) {
        if (!read_step(colon + 1, &fault.step))
            return err_set(err, ERR_INVALID, "'%.64s': the step is a number from 1 to %d", text,
                           SIM_FAULT_STEP_MAX);
    } else if (fault.kind == SIM_FAULT_FLASH) {
        if (sim_flash_fault(&sim->flash, colon + 1, err))
            return ERR_INVALID;
    } else {
        fault.knob = knob_kind_get(colon + 1);
        if (fault.knob == NULL)
            return err_set(err, ERR_INVALID, "'%.64s': there is no knob kind of that name", text);
        bool watches = fault.kind == SIM_FAULT_LINK_DOWN || fault.kind == SIM_FAULT_PEERS_SILENT ||
                       fault.kind == SIM_FAULT_ALTER;
        if (watches && fault.knob->is_set)
            return err_set(err, ERR_INVALID, "'%.64s': %s takes a knob of one value", text,
                           fault_names[fault.kind]);
    }
    sim->faults[sim->fault_count++] = fault;
    return ERR_OK;
}

bool sim_has_fault(const struct dp_sim *sim, enum sim_fault_kind kind, const struct knob_kind *knob)
{
    for (size_t i = 0; i < sim->fault_count; i++) {
        const struct sim_fault *fault = &sim->faults[i];
        if (fault->kind == kind &&
            (kind == SIM_FAULT_FAIL_STEP ? fault->step == sim->apply_count : fault->knob == knob))
            return true;
    }
    return false;
}

/* Whether a fault of the kind holds: its knob is not what it was at the start. */
static bool has_changed(const struct dp_sim *sim, enum sim_fault_kind kind, const char *subject)
{
    for (size_t i = 0; i < sim->fault_count; i++) {
        const struct sim_fault *fault = &sim->faults[i];
        if (fault->kind != kind)
            continue;
        const json_t *is = sim_get(sim, fault->knob->name, subject, "");
        const json_t *was = sim_get_first(sim, fault->knob->name, subject, "");
        if (!json_same(is, was))
            return true;
    }
    return false;
}

bool sim_link_is_up(const struct dp_sim *sim, const char *subject)
{
    return !has_changed(sim, SIM_FAULT_LINK_DOWN, subject);
}

/* Every peer but DP_SIM_SILENT_PEER is there and answers. */
enum err_code sim_ping(struct dp *dp, const char *subject, struct dp_peer *peers, size_t count,
                       int wait_ms, struct err *err)
{
    const struct dp_sim *sim = (const struct dp_sim *)dp;
    (void)wait_ms;
    if (sim_port_index(sim, subject) < 0)
        return err_set(err, ERR_NOT_FOUND, "there is no port %s", subject);
    bool silent =
        !sim_link_is_up(sim, subject) || has_changed(sim, SIM_FAULT_PEERS_SILENT, subject);
    for (size_t i = 0; i < count; i++) {
        peers[i].answered = !silent && strcmp(peers[i].address, DP_SIM_SILENT_PEER) != 0;
        snprintf(peers[i].why, sizeof(peers[i].why), "%s", peers[i].answered ? "" : "no answer");
    }
    return ERR_OK;
}

void sim_poke_by(struct dp_sim *sim, const char *kind, const char *subject)
{
    sim->poked.kind = knob_kind_get(kind);
    snprintf(sim->poked.subject, sizeof(sim->poked.subject), "%s", subject);
}

void sim_writer(struct dp *dp, const char *kind, const char *subject, char out[DP_WRITER_SIZE])
{
    const struct sim_poked *last = &((struct dp_sim *)dp)->poked;
    if (last->kind == knob_kind_get(kind) && strcmp(last->subject, subject) == 0)
        snprintf(out, DP_WRITER_SIZE, "%s", DP_SIM_WRITER);
}

enum err_code sim_alter_later(struct dp_sim *sim, const struct plan_step *step, struct err *err)
{
    const struct itimerspec wait = {
        .it_value = {.tv_sec = SIM_ALTER_MS / 1000,
                     .tv_nsec = (long)(SIM_ALTER_MS % 1000) * 1000000},
    };
    const json_t *is = sim_get(sim, step->kind->name, step->subject, step->id);
    const json_t *was = sim_get_first(sim, step->kind->name, step->subject, step->id);
    for (size_t i = 0; i < sim->fault_count; i++) {
        struct sim_fault *fault = &sim->faults[i];
        bool waits = fault->kind == SIM_FAULT_ALTER && fault->knob == step->kind && !fault->over;
        if (!waits || json_same(is, was))
            continue;
        snprintf(fault->subject, sizeof(fault->subject), "%s", step->subject);
        if (timerfd_settime(sim->timer_fd, 0, &wait, NULL) != 0)
            return err_set_errno(err, ERR_IO, errno, "cannot set the simulator's timer");
    }
    return ERR_OK;
}

enum err_code sim_alter(struct dp_sim *sim, bool *out_changed, struct err *err)
{
    uint64_t count = 0;
    if (read(sim->timer_fd, &count, sizeof(count)) < 0 && errno != EAGAIN)
        return err_set_errno(err, ERR_IO, errno, "cannot read the simulator's timer");
    for (size_t i = 0; count > 0 && i < sim->fault_count; i++) {
        struct sim_fault *fault = &sim->faults[i];
        if (fault->kind != SIM_FAULT_ALTER || fault->over || fault->subject[0] == '\0')
            continue;
        const char *name = fault->knob->name;
        if (sim_put(sim, name, fault->subject, "", sim_get_first(sim, name, fault->subject, ""),
                    err))
            return ERR_NOMEM;
        sim_poke_by(sim, name, fault->subject);
        fault->over = sim->inventory_stale = *out_changed = true;
    }
    return ERR_OK;
}

void dp_sim_hide_port(struct dp *dp, int index, bool hidden)
{
    struct dp_sim *sim = (struct dp_sim *)dp;
    const uint64_t one = 1;
    sim->hidden[index] = hidden;
    sim->inventory_stale = true;
    (void)!write(sim->event_fd, &one, sizeof(one)); /* full: it is readable already */
}

void dp_sim_fault_clear(struct dp *dp)
{
    ((struct dp_sim *)dp)->fault_count = 0;
}
