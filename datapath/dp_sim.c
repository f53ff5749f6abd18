/*
 * datapath/dp_sim.c - a node in memory, with faults; see dp_sim.h.
 *
 * The store is one JSON object: "KIND\nSUBJECT\nID" -> value. Values of ports and of the host
 * are there from the start; module parameters and set members come and go. The rules between knobs
 * (a filter needs its hook, a class its parent, the flow table ends) are the kernel's.
 */
#include "datapath/dp_sim.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "datapath/sim_kind.h"
#include "datapath/value.h"

#define SIM_SPEED_BPS    INT64_C(100000000000)
#define SIM_FLOW_ENTRIES 64

/* Store --------------------------------------------------------------------------------------- */

static void key_make(char key[SIM_KEY_SIZE], const char *kind, const char *subject, const char *id)
{
    snprintf(key, SIM_KEY_SIZE, "%s\n%s\n%s", kind, subject, id);
}

const json_t *sim_get(const struct dp_sim *sim, const char *kind, const char *subject,
                      const char *id)
{
    char key[SIM_KEY_SIZE];
    key_make(key, kind, subject, id);
    return json_object_get(sim->values, key);
}

const json_t *sim_get_first(const struct dp_sim *sim, const char *kind, const char *subject,
                            const char *id)
{
    char key[SIM_KEY_SIZE];
    key_make(key, kind, subject, id);
    return json_object_get(sim->first, key);
}

int sim_port_index(const struct dp_sim *sim, const char *subject)
{
    int index, used = 0;
    if (sscanf(subject, "sim.%d/0%n", &index, &used) != 1 || subject[used] != '\0' || used == 0)
        return -1;
    bool there = index >= 0 && index < sim->config.port_count && !sim->hidden[index];
    return there ? index : -1;
}

static bool flow_is_hw(const json_t *value)
{
    const char *hw = json_string_value(json_object_get(value, "hw"));
    return hw != NULL && strcmp(hw, "only") == 0;
}

static void count_flow(struct dp_sim *sim, const char *kind, const char *subject,
                       const json_t *value, int by)
{
    int port = sim_port_index(sim, subject);
    if (port >= 0 && strcmp(kind, "tc.flower") == 0 && flow_is_hw(value))
        sim->flows[port] += by;
}

/* value NULL removes. */
enum err_code sim_put(struct dp_sim *sim, const char *kind, const char *subject, const char *id,
                      const json_t *value, struct err *err)
{
    char key[SIM_KEY_SIZE];
    key_make(key, kind, subject, id);
    count_flow(sim, kind, subject, json_object_get(sim->values, key), -1);
    if (value == NULL) {
        json_object_del(sim->values, key);
        return ERR_OK;
    }
    if (json_object_set_new(sim->values, key, json_deep_copy(value)) != 0)
        return err_nomem(err);
    count_flow(sim, kind, subject, value, 1);
    return ERR_OK;
}

/* The three parts of a key; false for what is no key. */
static bool key_split(const char *key, const struct knob_kind **kind, char subject[PORT_ID_SIZE],
                      char id[KNOB_ID_SIZE])
{
    char copy[SIM_KEY_SIZE];
    snprintf(copy, sizeof(copy), "%s", key);
    char *second = strchr(copy, '\n');
    char *third = second == NULL ? NULL : strchr(second + 1, '\n');
    if (third == NULL)
        return false;
    *second++ = *third++ = '\0';
    *kind = knob_kind_get(copy);
    snprintf(subject, PORT_ID_SIZE, "%s", second);
    snprintf(id, KNOB_ID_SIZE, "%s", third);
    return *kind != NULL;
}

size_t sim_count(const struct dp_sim *sim, const char *kind, const char *subject)
{
    char prefix[SIM_KEY_SIZE];
    int len = snprintf(prefix, sizeof(prefix), "%s\n%s\n", kind, subject);
    size_t count = 0;
    const char *key;
    json_t *value;
    json_object_foreach(sim->values, key, value) count += strncmp(key, prefix, (size_t)len) == 0;
    return count;
}

enum err_code sim_remove_all(struct dp_sim *sim, const char *kind, const char *subject,
                             struct err *err)
{
    const char *key;
    json_t *value;
    void *next;
    json_object_foreach_safe(sim->values, next, key, value)
    {
        const struct knob_kind *have;
        char have_subject[PORT_ID_SIZE], id[KNOB_ID_SIZE];
        if (key_split(key, &have, have_subject, id) && strcmp(have->name, kind) == 0 &&
            strcmp(have_subject, subject) == 0 && sim_put(sim, kind, subject, id, NULL, err))
            return ERR_NOMEM;
    }
    return ERR_OK;
}

/* Inventory ----------------------------------------------------------------------------------- */

static json_t *port_json(struct dp_sim *sim, int index)
{
    struct sim_flash_device device;
    sim_flash_get(&sim->flash, index, &device);
    json_t *caps = json_pack(
        "{s:b,s:b,s:b,s:b,s:b,s:b,s:b,s:I,s:I,s:i}", "dcb_app", 1, "dcb_ets", 1, "dcb_pfc",
        !sim->config.no_pfc, "dcb_maxrate", 1, "dcb_buffer", 1, "tc", 1, "flower_hw", 1,
        "flower_hw_entries", (json_int_t)sim->config.flow_entries, "maxrate_unit_bps",
        (json_int_t)(sim->rate_unit_bps != 0 ? sim->rate_unit_bps : 1), "ets_tcs", 8);
    json_object_set_new(caps, "roce_tos", json_true());
    json_object_set_new(caps, "pause", json_true());
    json_object_set_new(caps, "coalesce",
                        json_pack("[s,s,s]", "adaptive_rx", "rx_frames", "rx_usecs"));
    json_object_set_new(caps, "devlink_params", json_pack("{s:[s]}", "enable_roce", "driverinit"));
    json_object_set_new(caps, "roce_cc",
                        json_pack("{s:s,s:b,s:b,s:[s,s]}", "backend", "dp_sim", "notify", 1,
                                  "react", 1, "parameters", "cnp_dscp", "cnp_priority"));
    char id[PORT_ID_SIZE];
    snprintf(id, sizeof(id), "sim.%d/0", index);
    const json_t *mtu = sim_get(sim, "link.mtu", id, "");
    return json_pack("{s:s,s:o,s:s,s:s,s:s,s:s,s:o,s:b,s:I,s:I,s:o}", "id", id, "ifname",
                     json_sprintf("sim%d", index), "driver", SIM_DRIVER, "psid", SIM_PSID,
                     "firmware", device.running, "firmware_stored", device.stored, "rdma_device",
                     json_sprintf("sim%d", index), "rdma_software", 1, "speed_bps",
                     (json_int_t)sim->config.speed_bps, "mtu_bytes", json_integer_value(mtu),
                     "caps", caps);
}

static enum err_code sim_inventory(struct dp *dp, json_t **out, struct err *err)
{
    struct dp_sim *sim = (struct dp_sim *)dp;
    json_t *ports = json_array();
    for (int i = 0; i < sim->config.port_count; i++)
        if (!sim->hidden[i])
            json_array_append_new(ports, port_json(sim, i));
    json_t *inventory = json_pack("{s:s,s:o,s:[],s:[]}", "kernel", "sim", "ports", ports,
                                  "rdma_devices", "problems");
    if (inventory == NULL)
        return err_nomem(err);
    sim->inventory_stale = false;
    *out = inventory;
    return ERR_OK;
}

static bool sim_inventory_stale(const struct dp *dp)
{
    return ((const struct dp_sim *)dp)->inventory_stale;
}

/* Observe ------------------------------------------------------------------------------------- */

static bool plan_names(const struct plan *plan, const struct knob_kind *kind, const char *subject,
                       const char *id)
{
    for (size_t i = 0; i < plan->knob_count; i++) {
        const struct plan_knob *knob = &plan->knobs[i];
        if (knob->kind == kind && strcmp(knob->subject, subject) == 0 && strcmp(knob->id, id) == 0)
            return true;
    }
    return false;
}

static enum knob_owner owner_of(const struct dp_sim *sim, const struct knob_kind *kind,
                                const char *subject, const json_t *value)
{
    if (!kind->is_set)
        return KNOB_OWNER_UNKNOWN;
    const char *mark = NULL;
    if (strcmp(kind->name, "tc.flower") == 0) {
        mark = json_string_value(json_object_get(value, "cookie"));
        return mark != NULL && strncmp(mark, "53544c52", 8) == 0 ? KNOB_OWNER_STELLAR
                                                                 : KNOB_OWNER_OTHER;
    }
    if (strcmp(kind->name, "tc.qdisc") == 0) {
        mark = json_string_value(json_object_get(value, "handle"));
        return mark != NULL && strcmp(mark, "5e11:") == 0 ? KNOB_OWNER_STELLAR : KNOB_OWNER_OTHER;
    }
    if (strcmp(kind->name, "tc.clsact") == 0)
        return sim_foreign_flows(sim, subject) ? KNOB_OWNER_OTHER : KNOB_OWNER_STELLAR;
    return KNOB_OWNER_STELLAR;
}

bool sim_foreign_flows(const struct dp_sim *sim, const char *subject)
{
    const struct knob_kind *flower = knob_kind_get("tc.flower");
    const char *key;
    json_t *value;
    json_object_foreach(sim->values, key, value)
    {
        const struct knob_kind *kind;
        char have[PORT_ID_SIZE], id[KNOB_ID_SIZE];
        if (key_split(key, &kind, have, id) && kind == flower && strcmp(have, subject) == 0 &&
            owner_of(sim, kind, subject, value) == KNOB_OWNER_OTHER)
            return true;
    }
    return false;
}

/* The state shares the value: sim_put() exchanges values and changes none. */
static enum err_code observe_value(const struct dp_sim *sim, const struct knob_kind *kind,
                                   const char *subject, const char *id, json_t *value,
                                   struct state *out, struct err *err)
{
    struct state_knob knob = {.kind = kind, .owner = owner_of(sim, kind, subject, value)};
    snprintf(knob.subject, sizeof(knob.subject), "%s", subject);
    snprintf(knob.id, sizeof(knob.id), "%s", id);
    if (kind->view == KNOB_VIEW_NEXT_BOOT) {
        if (strcmp(kind->name, "host.modparam") == 0)
            knob.live = json_string(sim_modparam_live(id));
        knob.persisted = json_incref(value);
        knob.next_boot = json_incref(value);
        knob.owner = KNOB_OWNER_STELLAR;
    } else {
        knob.live = json_incref(value);
    }
    return state_add(out, &knob, err);
}

/* Ports that the plan names and the node does not have: each knob is there, unreadable. */
static enum err_code observe_missing(const struct dp_sim *sim, const struct plan *plan,
                                     struct state *out, struct err *err)
{
    for (size_t i = 0; i < plan->knob_count; i++) {
        const struct plan_knob *want = &plan->knobs[i];
        if (strcmp(want->subject, "host") == 0 || sim_port_index(sim, want->subject) >= 0)
            continue;
        struct state_knob knob = {.kind = want->kind};
        snprintf(knob.subject, sizeof(knob.subject), "%s", want->subject);
        snprintf(knob.id, sizeof(knob.id), "%s", want->id);
        snprintf(knob.problem, sizeof(knob.problem), "port %s is not there", want->subject);
        if (state_add(out, &knob, err))
            return ERR_NOMEM;
    }
    return ERR_OK;
}

static enum err_code sim_observe(struct dp *dp, const struct plan *plan, struct state *out,
                                 struct err *err)
{
    struct dp_sim *sim = (struct dp_sim *)dp;
    OWN_STATE struct state state;
    state_init(&state);
    const char *key;
    json_t *value;
    json_object_foreach(sim->values, key, value)
    {
        const struct knob_kind *kind;
        char subject[PORT_ID_SIZE], id[KNOB_ID_SIZE];
        if (!key_split(key, &kind, subject, id) ||
            (strcmp(subject, "host") != 0 && sim_port_index(sim, subject) < 0))
            continue;
        if (plan != NULL && !kind->is_set && !plan_names(plan, kind, subject, id))
            continue;
        if (observe_value(sim, kind, subject, id, value, &state, err))
            return ERR_NOMEM;
    }
    if (plan != NULL && observe_missing(sim, plan, &state, err))
        return ERR_NOMEM;
    state_seal(&state);
    *out = state;
    state_init(&state);
    return ERR_OK;
}

/* Events, life, faults ------------------------------------------------------------------------ */

static int sim_event_fd(struct dp *dp)
{
    return ((struct dp_sim *)dp)->poll_fd;
}

static enum err_code sim_drain(struct dp *dp, bool *out_changed, struct err *err)
{
    struct dp_sim *sim = (struct dp_sim *)dp;
    uint64_t count = 0;
    if (read(sim->event_fd, &count, sizeof(count)) < 0 && errno != EAGAIN)
        return err_set_errno(err, ERR_IO, errno, "cannot read the simulator's event descriptor");
    *out_changed = count > 0;
    return sim_alter(sim, out_changed, err);
}

static enum err_code sim_link(struct dp *dp, const char *subject, bool *out_up, struct err *err)
{
    const struct dp_sim *sim = (struct dp_sim *)dp;
    if (sim_port_index(sim, subject) < 0)
        return err_set(err, ERR_NOT_FOUND, "port %s is not there", subject);
    *out_up = sim_link_is_up(sim, subject);
    return ERR_OK;
}

static void sim_free(struct dp *dp)
{
    struct dp_sim *sim = (struct dp_sim *)dp;
    const int fds[] = {sim->event_fd, sim->timer_fd, sim->poll_fd};
    for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++)
        if (fds[i] >= 0)
            close(fds[i]);
    json_decref(sim->values);
    json_decref(sim->first);
    sim_flash_release(&sim->flash);
    free(sim);
}

static const struct dp_ops sim_ops = {
    .name = "dp_sim",
    .inventory = sim_inventory,
    .observe = sim_observe,
    .check = sim_check,
    .apply = sim_apply,
    .apply_run = sim_apply_run,
    .link = sim_link,
    .ping = sim_ping,
    .event_fd = sim_event_fd,
    .inventory_stale = sim_inventory_stale,
    .drain = sim_drain,
    .writer = sim_writer,
    .free = sim_free,
};

/* What is open then is closed by sim_free(). */
static enum err_code open_fds(struct dp_sim *sim, struct err *err)
{
    sim->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    sim->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    sim->poll_fd = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event readable = {.events = EPOLLIN};
    if (sim->event_fd < 0 || sim->timer_fd < 0 || sim->poll_fd < 0 ||
        epoll_ctl(sim->poll_fd, EPOLL_CTL_ADD, sim->event_fd, &readable) != 0 ||
        epoll_ctl(sim->poll_fd, EPOLL_CTL_ADD, sim->timer_fd, &readable) != 0)
        return err_set_errno(err, ERR_IO, errno, "cannot make the simulator's descriptors");
    return ERR_OK;
}

enum err_code dp_sim_new(const struct dp_sim_config *config, struct dp **out, struct err *err)
{
    if (config->port_count < 1 || config->port_count > INVENTORY_PORTS_MAX)
        return err_set(err, ERR_INVALID, "the simulator has 1 to %d ports", INVENTORY_PORTS_MAX);
    struct dp_sim *sim = calloc(1, sizeof(*sim));
    if (sim == NULL)
        return err_nomem(err);
    sim->base.ops = &sim_ops;
    sim->event_fd = sim->timer_fd = sim->poll_fd = -1;
    sim_flash_init(&sim->flash);
    OWN(dp) struct dp *dp = &sim->base;
    sim->config = *config;
    if (sim->config.speed_bps == 0)
        sim->config.speed_bps = SIM_SPEED_BPS;
    if (sim->config.flow_entries == 0)
        sim->config.flow_entries = SIM_FLOW_ENTRIES;
    enum err_code code = open_fds(sim, err);
    if (code != ERR_OK)
        return code;
    sim->values = json_object();
    if (sim->values == NULL)
        return err_nomem(err);
    if (sim_defaults(sim, err))
        return ERR_NOMEM;
    sim->first = json_copy(sim->values); /* values are exchanged, never changed */
    if (sim->first == NULL)
        return err_nomem(err);
    *out = GIVE(dp);
    return ERR_OK;
}

void dp_sim_fail_apply(struct dp *dp, int n, bool after)
{
    struct dp_sim *sim = (struct dp_sim *)dp;
    sim->fail_in = n;
    sim->fail_after = after;
}

void dp_sim_fail_all(struct dp *dp, bool on)
{
    ((struct dp_sim *)dp)->fail_all = on;
}

void dp_sim_set_rate_unit(struct dp *dp, int64_t unit_bps)
{
    ((struct dp_sim *)dp)->rate_unit_bps = unit_bps;
}

enum err_code dp_sim_poke(struct dp *dp, const char *kind, const char *subject, const char *id,
                          const json_t *value, struct err *err)
{
    struct dp_sim *sim = (struct dp_sim *)dp;
    if (knob_kind_get(kind) == NULL)
        return err_set(err, ERR_NOT_FOUND, "there is no knob kind %s", kind);
    if (strcmp(subject, "host") != 0 && sim_port_index(sim, subject) < 0)
        return err_set(err, ERR_NOT_FOUND, "port %s is not there", subject);
    if (sim_put(sim, kind, subject, id, value, err))
        return ERR_NOMEM;
    sim_poke_by(sim, kind, subject);
    const uint64_t one = 1;
    sim->inventory_stale = true; /* the MTU is in it */
    if (write(sim->event_fd, &one, sizeof(one)) != (ssize_t)sizeof(one))
        return err_set_errno(err, ERR_IO, errno, "cannot write the simulator's event descriptor");
    return ERR_OK;
}

int dp_sim_apply_count(const struct dp *dp)
{
    return ((const struct dp_sim *)dp)->apply_count;
}
