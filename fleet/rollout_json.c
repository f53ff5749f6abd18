/*
 * fleet/rollout_json.c - a rollout as it is stored and as it is shown. Its own rows are read as
 * strictly as any document: one that does not read stops the start with its name.
 */
#include "fleet/rollout.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "fleet/read.h"

#define REMAINING_MAX_MS (ROLLOUT_TIME_MAX_NS / NS_PER_MS)

static const char *const gate_states[] = {
    [ROLLOUT_GATE_PENDING] = "pending",
    [ROLLOUT_GATE_OK] = "ok",
    [ROLLOUT_GATE_FAILED] = "failed",
    NULL,
};

/* What remains of a deadline in ms, rounded up, so that a stored timer never fires early; a
 * deadline that has passed has 1 ms left. */
static int64_t remaining_ms(int64_t deadline_ns, int64_t now_ns)
{
    int64_t left = deadline_ns - now_ns;
    return left <= NS_PER_MS ? 1 : (left + NS_PER_MS - 1) / NS_PER_MS;
}

static bool write_remaining(json_t *object, const char *key, int64_t deadline_ns, int64_t now_ns)
{
    return deadline_ns == 0 ||
           write_member(object, key, json_integer(remaining_ms(deadline_ns, now_ns)));
}

static void read_remaining(struct json_reader *r, const char *key, int64_t now_ns, int64_t *out)
{
    int64_t left_ms;
    *out = 0;
    if (json_reader_int(r, key, false, 1, REMAINING_MAX_MS, &left_ms))
        *out = now_ns + left_ms * NS_PER_MS;
}

static bool write_verify(json_t *head, const struct rollout *r)
{
    return (r->verify_number == 0 ||
            write_member(head, "verification", json_integer(r->verify_number))) &&
           (r->verify_state == ROLLOUT_GATE_PENDING ||
            write_member(head, "verify_state", json_string(gate_states[r->verify_state]))) &&
           write_text(head, "verify_why", r->verify_why);
}

static void read_verify(struct json_reader *head, struct rollout *r)
{
    int state = ROLLOUT_GATE_PENDING;
    r->verify_number = 0;
    json_reader_int(head, "verification", false, 1, INT64_MAX, &r->verify_number);
    json_reader_enum(head, "verify_state", false, gate_states, &state);
    read_text(head, "verify_why", false, 1, r->verify_why, sizeof(r->verify_why));
    r->verify_state = (enum rollout_gate_state)state;
}

json_t *rollout_head_to_json(const struct rollout *r, int64_t now_ns)
{
    OWN(json) json_t *head = json_object();
    OWN(json) json_t *settings = json_object();
    if (head == NULL || settings == NULL || !rollout_settings_write(&r->settings, settings) ||
        !write_member(head, "settings", json_incref(settings)) ||
        !write_text(head, "message", r->message) || !write_text(head, "author", r->author) ||
        !write_text(head, "problem", r->problem) ||
        !write_member(head, "nodes", json_integer((json_int_t)r->node_count)) ||
        !write_member(head, "unavailable_max", json_integer((json_int_t)r->unavailable_max)) ||
        !write_member(head, "waves", json_integer(r->wave_count)) ||
        !write_member(head, "wave", json_integer(r->wave)) ||
        !write_member(head, "open", json_boolean(r->wave_open)) ||
        !write_member(head, "passed", json_boolean(r->passed)) || !write_verify(head, r) ||
        !write_remaining(head, "gates_ms", r->gates_ns, now_ns) ||
        !write_remaining(head, "confirm_ms", r->confirm_ns, now_ns) ||
        !write_remaining(head, "soak_ms", r->soak_ns, now_ns) ||
        !write_remaining(head, "return_ms", r->return_ns, now_ns))
        return NULL;
    return GIVE(head);
}

enum err_code rollout_head_from_json(struct rollout *r, const json_t *document, int64_t now_ns,
                                     struct err *err)
{
    OWN_FINDINGS struct finding_list findings;
    finding_list_init(&findings);
    struct json_reader head, settings;
    int64_t nodes, unavailable = 0, waves = 0, wave = 0;
    json_reader_init(&head, document, "", &findings);
    if (json_reader_object(&head, "settings", true, &settings)) {
        rollout_settings_read(&settings, &r->settings);
        json_reader_end(&settings);
    }
    read_text(&head, "message", false, 1, r->message, sizeof(r->message));
    read_text(&head, "author", false, 1, r->author, sizeof(r->author));
    read_text(&head, "problem", false, 1, r->problem, sizeof(r->problem));
    json_reader_int(&head, "nodes", true, 0, ROLLOUT_NODES_MAX, &nodes);
    json_reader_int(&head, "unavailable_max", true, 0, ROLLOUT_NODES_MAX, &unavailable);
    json_reader_int(&head, "waves", true, 0, ROLLOUT_WAVES_MAX + 1, &waves);
    json_reader_int(&head, "wave", true, 0, ROLLOUT_WAVES_MAX + 1, &wave);
    json_reader_bool(&head, "open", true, &r->wave_open);
    json_reader_bool(&head, "passed", true, &r->passed);
    read_verify(&head, r);
    read_remaining(&head, "gates_ms", now_ns, &r->gates_ns);
    read_remaining(&head, "confirm_ms", now_ns, &r->confirm_ns);
    read_remaining(&head, "soak_ms", now_ns, &r->soak_ns);
    read_remaining(&head, "return_ms", now_ns, &r->return_ns);
    json_reader_end(&head);
    r->unavailable_max = (size_t)unavailable;
    r->wave_count = (uint32_t)waves;
    r->wave = (uint32_t)wave;
    return read_result(&findings, err);
}

static bool write_flag(json_t *object, const char *key, bool flag)
{
    return !flag || write_member(object, key, json_true());
}

json_t *rollout_node_to_json(const struct rollout_node *node)
{
    OWN(json) json_t *body = json_object();
    if (body == NULL || !write_flag(body, "heard", node->heard) ||
        !write_flag(body, "probe_failed", node->probe_failed) ||
        !write_flag(body, "finding", node->finding) || !write_flag(body, "stands", node->stands) ||
        !write_text(body, "problem", node->problem))
        return NULL;
    return GIVE(body);
}

enum err_code rollout_node_from_json(struct rollout_node *node, const json_t *document,
                                     int64_t now_ns, struct err *err)
{
    OWN_FINDINGS struct finding_list findings;
    finding_list_init(&findings);
    struct json_reader body;
    json_reader_init(&body, document, "", &findings);
    json_reader_bool(&body, "heard", false, &node->heard);
    json_reader_bool(&body, "probe_failed", false, &node->probe_failed);
    json_reader_bool(&body, "finding", false, &node->finding);
    json_reader_bool(&body, "stands", false, &node->stands);
    read_text(&body, "problem", false, 1, node->problem, sizeof(node->problem));
    json_reader_end(&body);
    node->heard_ns = now_ns;
    return read_result(&findings, err);
}

static json_t *gate_to_json(const struct rollout *r, uint32_t wave, const struct rollout_gate *gate)
{
    OWN(json) json_t *names = json_array();
    for (size_t i = 0; i < gate->node_count; i++)
        if (json_array_append_new(names, json_string(r->nodes[gate->nodes[i]].name)) != 0)
            return NULL;
    OWN(json)
    json_t *shown = json_pack("{ss, ss, sI, sI, sO}", "name", gate->name, "state",
                              gate_states[gate->state], "value", (json_int_t)gate->value, "wanted",
                              (json_int_t)gate->wanted, "nodes", names);
    if (shown == NULL || (strcmp(gate->name, "verification") == 0 && wave == r->wave &&
                          !write_text(shown, "why", r->verify_why)))
        return NULL;
    return GIVE(shown);
}

static size_t count_nodes(const struct rollout *r, uint32_t wave, enum rollout_node_state state)
{
    size_t count = 0;
    for (size_t i = 0; i < r->node_count; i++)
        count += r->nodes[i].wave == wave && r->nodes[i].state == state;
    return count;
}

/* An operator took it back: its gates, of plans that are gone, say nothing any more. */
static bool is_taken_back(const struct rollout *r, uint32_t wave)
{
    return (r->state == ROLLOUT_ROLLING_BACK || r->state == ROLLOUT_ROLLED_BACK) &&
           (count_nodes(r, wave, ROLLOUT_NODE_RETURNING) > 0 ||
            count_nodes(r, wave, ROLLOUT_NODE_RETURNED) > 0);
}

static const char *wave_state(const struct rollout *r, uint32_t wave)
{
    if (is_taken_back(r, wave))
        return count_nodes(r, wave, ROLLOUT_NODE_RETURNING) > 0 ? "returning" : "returned";
    if (wave > r->wave || (wave == r->wave && r->state == ROLLOUT_PREPARING))
        return "waiting";
    if (wave < r->wave)
        return "confirmed";
    if (r->wave_open)
        return r->passed ? "passed" : r->soak_ns != 0 ? "soaking" : "open";
    return r->state == ROLLOUT_RETURNING || r->state == ROLLOUT_FAILED ? "failed" : "waiting";
}

static json_t *wave_to_json(const struct rollout *r, uint32_t wave)
{
    struct rollout_gate gates[ROLLOUT_GATES];
    size_t count = 0, gate_count = 0;
    for (size_t i = 0; i < r->node_count; i++)
        count += r->nodes[i].wave == wave;
    OWN(json) json_t *list = json_array();
    bool begun = !is_taken_back(r, wave) && (wave < r->wave || (wave == r->wave && r->wave_open));
    if (begun)
        gate_count = rollout_gates(r, wave, gates);
    for (size_t i = 0; i < gate_count; i++)
        if (json_array_append_new(list, gate_to_json(r, wave, &gates[i])) != 0)
            return NULL;
    return json_pack("{sI, ss, sI, sO}", "wave", (json_int_t)wave + 1, "state", wave_state(r, wave),
                     "nodes", (json_int_t)count, "gates", list);
}

static json_t *counts_to_json(const struct rollout *r)
{
    size_t counts[ROLLOUT_NODE_STATE_COUNT] = {0};
    OWN(json) json_t *object = json_object();
    for (size_t i = 0; i < r->node_count; i++)
        counts[r->nodes[i].state]++;
    for (int s = 0; object != NULL && s < ROLLOUT_NODE_STATE_COUNT; s++)
        if (!write_member(object, rollout_node_state_name((enum rollout_node_state)s),
                          json_integer((json_int_t)counts[s])))
            return NULL;
    return GIVE(object);
}

static bool write_seconds(json_t *object, const char *key, int64_t deadline_ns, int64_t now_ns)
{
    int64_t left_s = (deadline_ns - now_ns + NS_PER_S - 1) / NS_PER_S;
    return deadline_ns == 0 || write_member(object, key, json_integer(left_s < 0 ? 0 : left_s));
}

json_t *rollout_to_json(const struct rollout *r, int64_t now_ns)
{
    char id[ROLLOUT_ID_SIZE];
    OWN(json) json_t *object = json_object();
    OWN(json) json_t *settings = json_object();
    OWN(json) json_t *waves = json_array();
    for (uint32_t w = 0; w < r->wave_count; w++)
        if (json_array_append_new(waves, wave_to_json(r, w)) != 0)
            return NULL;
    rollout_id(r->number, id);
    if (object == NULL || settings == NULL || !rollout_settings_write(&r->settings, settings) ||
        !write_text(object, "id", id) ||
        !write_text(object, "state", rollout_state_name(r->state)) ||
        !write_text(object, "message", r->message) || !write_text(object, "author", r->author) ||
        !write_text(object, "problem", r->problem) ||
        !write_member(object, "settings", json_incref(settings)) ||
        !write_member(object, "unavailable_max", json_integer((json_int_t)r->unavailable_max)) ||
        !write_member(object, "nodes", counts_to_json(r)) ||
        !write_member(object, "waves", json_incref(waves)) ||
        !write_seconds(object, "confirm_remaining_s", r->confirm_ns, now_ns) ||
        !write_seconds(object, "soak_remaining_s", r->soak_ns, now_ns) ||
        !write_seconds(object, "gates_remaining_s", r->soak_ns != 0 ? 0 : r->gates_ns, now_ns))
        return NULL;
    return GIVE(object);
}
