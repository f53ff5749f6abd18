/*
 * fleet/receipt.c - see receipt.h. Written by agents, read by the server: hostile until parsed.
 */
#include "fleet/receipt.h"

#include <stdio.h>
#include <string.h>

#include "fleet/read.h"

#define RECEIPT_VERSION 1

static const char *const result_names[] = {
    [RECEIPT_APPLIED] = "applied",
    [RECEIPT_UNCHANGED] = "unchanged",
    [RECEIPT_ROLLED_BACK] = "rolled-back",
    [RECEIPT_REFUSED] = "refused",
    [RECEIPT_STUCK] = "stuck",
    [RECEIPT_DRIFT] = "drift",
    [RECEIPT_EXPIRED] = "expired",
    [RECEIPT_QUARANTINED] = "quarantined",
    [RECEIPT_RESULT_COUNT] = NULL,
};

static const char *const gap_names[] = {
    [RECEIPT_GAP_NONE] = "", [RECEIPT_GAP_BOOT] = "boot", [RECEIPT_GAP_DEVICE] = "device", NULL};

static const char *const found_names[] = {[RECEIPT_FOUND_NONE] = "",
                                          [RECEIPT_FOUND_EVENT] = "event",
                                          [RECEIPT_FOUND_CHECK] = "check",
                                          NULL};

const char *receipt_result_name(enum receipt_result result)
{
    return result_names[result];
}

void receipt_free(struct receipt *receipt)
{
    if (receipt == NULL)
        return;
    for (size_t i = 0; i < receipt->step_count; i++) {
        json_decref(receipt->steps[i].before);
        json_decref(receipt->steps[i].after);
    }
    free(receipt->steps);
    free(receipt);
}

static json_t *step_to_json(const struct receipt_step *step)
{
    OWN(json) json_t *object = json_object();
    if (object == NULL || !write_text(object, "text", step->text) ||
        !write_text(object, "disruption", disruption_name(step->disruption)) ||
        !write_member(object, "done", json_boolean(step->done)) ||
        !write_member(object, "undone", json_boolean(step->undone)) ||
        !write_text(object, "problem", step->problem))
        return NULL;
    if (!write_text(object, "writer", step->writer))
        return NULL;
    if (step->before != NULL && !write_member(object, "before", json_incref(step->before)))
        return NULL;
    if (step->after != NULL && !write_member(object, "after", json_incref(step->after)))
        return NULL;
    return GIVE(object);
}

static json_t *probes_to_json(const struct receipt *receipt)
{
    OWN(json) json_t *probes = json_array();
    for (size_t i = 0; i < receipt->probe_count; i++) {
        const struct receipt_probe *probe = &receipt->probes[i];
        json_t *object = json_object();
        if (json_array_append_new(probes, object) != 0 ||
            !write_text(object, "name", probe->name) ||
            !write_member(object, "ok", json_boolean(probe->ok)) ||
            !write_text(object, "detail", probe->detail))
            return NULL;
        if (probe->not_possible && !write_member(object, "not_possible", json_true()))
            return NULL;
    }
    return GIVE(probes);
}

json_t *receipt_gap_to_json(enum receipt_gap gap, int64_t gap_ms)
{
    OWN(json) json_t *object = json_object();
    if (object == NULL || !write_text(object, "cause", gap_names[gap]) ||
        !write_member(object, "ms", json_integer(gap_ms)))
        return NULL;
    return GIVE(object);
}

/* The milliseconds are an event's alone. */
static json_t *found_to_json(const struct receipt *receipt)
{
    OWN(json) json_t *object = json_object();
    if (object == NULL || !write_text(object, "by", found_names[receipt->found]))
        return NULL;
    if (receipt->found == RECEIPT_FOUND_EVENT &&
        !write_member(object, "ms", json_integer(receipt->found_ms)))
        return NULL;
    return GIVE(object);
}

json_t *receipt_to_json(const struct receipt *receipt)
{
    OWN(json) json_t *steps = json_array();
    for (size_t i = 0; i < receipt->step_count; i++)
        if (json_array_append_new(steps, step_to_json(&receipt->steps[i])) != 0)
            return NULL;
    OWN(json) json_t *object = json_object();
    if (object == NULL || !write_member(object, "version", json_integer(RECEIPT_VERSION)) ||
        !write_text(object, "node", receipt->node) ||
        !write_member(object, "generation", json_integer(receipt->generation)) ||
        !write_text(object, "digest", receipt->digest) ||
        !write_text(object, "observed", receipt->observed) ||
        !write_text(object, "result", result_names[receipt->result]) ||
        !write_text(object, "rollout", receipt->rollout) ||
        !write_member(object, "time_us", json_integer(receipt->time_us)) ||
        !write_member(object, "apply_ns", json_integer(receipt->apply_ns)) ||
        !write_member(object, "steps", json_incref(steps)) ||
        !write_text(object, "problem", receipt->problem))
        return NULL;
    if (receipt->probe_count > 0 && !write_member(object, "probes", probes_to_json(receipt)))
        return NULL;
    if (receipt->gap != RECEIPT_GAP_NONE &&
        !write_member(object, "gap", receipt_gap_to_json(receipt->gap, receipt->gap_ms)))
        return NULL;
    if (receipt->found != RECEIPT_FOUND_NONE &&
        !write_member(object, "found", found_to_json(receipt)))
        return NULL;
    return GIVE(object);
}

static void step_from_json(struct json_reader *r, struct receipt_step *out)
{
    const char *disruption = NULL;
    const json_t *before = NULL, *after = NULL;
    read_text(r, "text", true, 1, out->text, sizeof(out->text));
    if (json_reader_string(r, "disruption", true, 1, 32, &disruption) &&
        !disruption_from_name(disruption, &out->disruption))
        read_problem(r, "disruption", "'%s' is no disruption class", disruption);
    json_reader_bool(r, "done", true, &out->done);
    json_reader_bool(r, "undone", true, &out->undone);
    read_text(r, "problem", false, 1, out->problem, sizeof(out->problem));
    read_text(r, "writer", false, 1, out->writer, sizeof(out->writer));
    json_reader_any(r, "before", false, &before);
    json_reader_any(r, "after", false, &after);
    json_reader_end(r);
    out->before = json_incref((json_t *)before);
    out->after = json_incref((json_t *)after);
}

static void probe_from_json(struct json_reader *r, struct receipt_probe *out)
{
    read_name(r, "name", true, out->name);
    json_reader_bool(r, "ok", true, &out->ok);
    json_reader_bool(r, "not_possible", false, &out->not_possible);
    if (out->ok && out->not_possible)
        read_problem(r, "not_possible", "a question that was not possible is not ok");
    read_text(r, "detail", false, 1, out->detail, sizeof(out->detail));
    json_reader_end(r);
}

static void gap_from_json(struct json_reader *r, struct receipt *out)
{
    struct json_reader member;
    int cause = 0;
    if (!json_reader_object(r, "gap", false, &member))
        return;
    json_reader_enum(&member, "cause", true, gap_names + RECEIPT_GAP_BOOT, &cause);
    json_reader_int(&member, "ms", true, 0, INT64_MAX, &out->gap_ms);
    json_reader_end(&member);
    out->gap = (enum receipt_gap)(cause + RECEIPT_GAP_BOOT);
}

static void found_from_json(struct json_reader *r, struct receipt *out)
{
    struct json_reader member;
    int by = 0;
    bool has_ms = false;
    if (!json_reader_object(r, "found", false, &member))
        return;
    json_reader_enum(&member, "by", true, found_names + RECEIPT_FOUND_EVENT, &by);
    has_ms = json_reader_int(&member, "ms", false, 0, INT64_MAX, &out->found_ms);
    out->found = (enum receipt_found)(by + RECEIPT_FOUND_EVENT);
    if (out->found == RECEIPT_FOUND_EVENT ? !has_ms : has_ms)
        read_problem(&member, "ms", "belongs to what was found by an event, and only to that");
    json_reader_end(&member);
}

static void head_from_json(struct json_reader *r, struct receipt *out)
{
    int64_t version;
    int result = RECEIPT_STUCK;
    json_reader_int(r, "version", true, RECEIPT_VERSION, RECEIPT_VERSION, &version);
    read_name(r, "node", true, out->node);
    json_reader_int(r, "generation", true, 0, INT64_MAX, &out->generation);
    read_digest(r, "digest", true, out->digest);
    read_digest(r, "observed", false, out->observed);
    read_name(r, "rollout", false, out->rollout);
    if (json_reader_enum(r, "result", true, result_names, &result))
        out->result = (enum receipt_result)result;
    json_reader_int(r, "time_us", true, 0, INT64_MAX, &out->time_us);
    json_reader_int(r, "apply_ns", true, 0, INT64_MAX, &out->apply_ns);
    read_text(r, "problem", false, 1, out->problem, sizeof(out->problem));
}

enum err_code receipt_from_json(const json_t *document, struct receipt **out, struct err *err)
{
    OWN_FINDINGS struct finding_list findings;
    finding_list_init(&findings);
    OWN(receipt) struct receipt *receipt = calloc(1, sizeof(*receipt));
    if (receipt == NULL)
        return err_nomem(err);
    struct json_reader r;
    const json_t *steps = NULL, *probes = NULL;
    json_reader_init(&r, document, "", &findings);
    head_from_json(&r, receipt);
    json_reader_array(&r, "steps", true, RECEIPT_STEPS_MAX, &steps);
    json_reader_array(&r, "probes", false, RECEIPT_PROBES_MAX, &probes);
    gap_from_json(&r, receipt);
    found_from_json(&r, receipt);
    json_reader_end(&r);
    size_t count = steps == NULL ? 0 : json_array_size(steps);
    if (count > 0 && (receipt->steps = calloc(count, sizeof(*receipt->steps))) == NULL)
        return err_nomem(err);
    receipt->step_count = count;
    for (size_t i = 0; i < count; i++) {
        struct json_reader element;
        json_reader_element(&r, "steps", i, json_array_get(steps, i), &element);
        step_from_json(&element, &receipt->steps[i]);
    }
    receipt->probe_count = json_array_size(probes);
    for (size_t i = 0; i < receipt->probe_count; i++) {
        struct json_reader element;
        json_reader_element(&r, "probes", i, json_array_get(probes, i), &element);
        probe_from_json(&element, &receipt->probes[i]);
    }
    enum err_code code = read_result(&findings, err);
    if (code == ERR_OK)
        *out = GIVE(receipt);
    return code;
}
