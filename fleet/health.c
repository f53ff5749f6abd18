/*
 * fleet/health.c - see health.h: the book of rules, the facts of a node.
 */
#include "fleet/health_private.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

const char *health_kind_name(int kind)
{
    return kind == HEALTH_JOB ? "job" : telemetry_kind_name((enum telemetry_kind)kind);
}

static const char *const state_names[HEALTH_STATE_COUNT] = {"unknown", "ok", "warning", "critical"};

const char *health_state_name(enum health_state state)
{
    return state_names[state];
}

bool health_state_find(const char *name, enum health_state *out)
{
    for (int i = 0; i < HEALTH_STATE_COUNT; i++)
        if (strcmp(state_names[i], name) == 0) {
            *out = (enum health_state)i;
            return true;
        }
    return false;
}

const struct health_rule *health_rule_find(const char *id)
{
    for (size_t i = 0; i < health_rule_count; i++)
        if (strcmp(health_rules[i].id, id) == 0)
            return &health_rules[i];
    return NULL;
}

/* The book ------------------------------------------------------------------------------------ */

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void book_name(struct health_book *book, const char *name)
{
    for (size_t i = 0; name != NULL && i < book->name_count; i++)
        if (strcmp(book->names[i], name) == 0)
            return;
    if (name == NULL)
        return;
    assert(book->name_count < HEALTH_NAMES_MAX);
    book->names[book->name_count++] = name;
}

uint16_t health_input(const struct health_book *book, const char *name)
{
    const char *const *found =
        bsearch(&name, book->names, book->name_count, sizeof(book->names[0]), by_name);
    return found == NULL ? HEALTH_NO_INPUT : (uint16_t)(found - book->names);
}

static void book_names(struct health_book *book)
{
    for (size_t i = 0; i < health_rule_count; i++) {
        for (size_t k = 0; k < HEALTH_INPUTS_MAX; k++) {
            book_name(book, health_rules[i].inputs[k]);
            book_name(book, health_rules[i].bases[k]);
        }
        book_name(book, health_rules[i].gate);
    }
    for (size_t i = 0; health_derived_from[i] != NULL; i++)
        book_name(book, health_derived_from[i]);
    qsort(book->names, book->name_count, sizeof(book->names[0]), by_name);
}

static void book_row(struct health_book *book, size_t i)
{
    const struct health_rule *rule = &health_rules[i];
    struct health_row *row = &book->rows[i];
    for (size_t k = 0; k < HEALTH_INPUTS_MAX && rule->inputs[k] != NULL; k++)
        row->inputs[row->input_count++] = health_input(book, rule->inputs[k]);
    for (size_t k = 0; k < HEALTH_INPUTS_MAX && rule->bases[k] != NULL; k++)
        row->bases[row->base_count++] = health_input(book, rule->bases[k]);
    row->gate = rule->gate == NULL ? HEALTH_NO_INPUT : health_input(book, rule->gate);
    book->of_kind[rule->kind][book->of_kind_count[rule->kind]++] = (uint16_t)i;
}

enum err_code health_book_new(struct health_book **out, struct err *err)
{
    OWN(health_book) struct health_book *book = calloc(1, sizeof(*book));
    if (book == NULL)
        return err_nomem(err);
    book->rows = calloc(health_rule_count, sizeof(*book->rows));
    bool has_room = book->rows != NULL;
    for (int k = 0; k < HEALTH_KIND_COUNT; k++) {
        book->of_kind[k] = calloc(health_rule_count, sizeof(*book->of_kind[k]));
        has_room &= book->of_kind[k] != NULL;
    }
    if (!has_room)
        return err_nomem(err);
    book_names(book);
    for (size_t i = 0; i < health_rule_count; i++)
        book_row(book, i);
    *out = GIVE(book);
    return ERR_OK;
}

void health_book_free(struct health_book *book)
{
    if (book == NULL)
        return;
    free(book->rows);
    for (int k = 0; k < HEALTH_KIND_COUNT; k++)
        free(book->of_kind[k]);
    free(book);
}

/* Subjects and their facts -------------------------------------------------------------------- */

bool health_subject_is(const struct health_subject *a, const struct health_subject *b)
{
    return a->kind == b->kind && a->number == b->number && strcmp(a->device, b->device) == 0;
}

static size_t place_of(const struct health *health, const struct health_subject *subject)
{
    uint64_t hash = text_hash(subject->device);
    hash ^= ((uint64_t)subject->number << 8) | (uint64_t)subject->kind;
    hash *= UINT64_C(0x9e3779b97f4a7c15);
    return (size_t)(hash >> 32) & (2 * health->slot_room - 1);
}

/* Where it is, or the free place where it belongs. */
static size_t probe(const struct health *health, const struct health_subject *subject)
{
    size_t at = place_of(health, subject);
    while (health->index[at] != 0 &&
           !health_subject_is(&health->slots[health->index[at] - 1].subject, subject))
        at = (at + 1) & (2 * health->slot_room - 1);
    return at;
}

static void reindex(struct health *health)
{
    memset(health->index, 0, 2 * health->slot_room * sizeof(*health->index));
    for (size_t i = 0; i < health->slot_count; i++)
        health->index[probe(health, &health->slots[i].subject)] = (uint32_t)i + 1;
}

static enum err_code grow(struct health *health, struct err *err)
{
    size_t room = health->slot_room == 0 ? 32 : 2 * health->slot_room;
    uint32_t *index = calloc(2 * room, sizeof(*index));
    struct health_slot *slots = realloc(health->slots, room * sizeof(*slots));
    if (slots != NULL)
        health->slots = slots;
    if (slots == NULL || index == NULL) {
        free(index);
        return err_nomem(err);
    }
    free(health->index);
    health->index = index;
    health->slot_room = room;
    reindex(health);
    return ERR_OK;
}

struct health_slot *health_slot_find(const struct health *health,
                                     const struct health_subject *subject)
{
    if (health->slot_count == 0)
        return NULL;
    uint32_t found = health->index[probe(health, subject)];
    return found == 0 ? NULL : &health->slots[found - 1];
}

enum err_code health_slot_get(struct health *health, const struct health_subject *subject,
                              struct health_slot **out, struct err *err)
{
    struct health_slot *slot = health_slot_find(health, subject);
    if (slot == NULL && health->slot_count == HEALTH_SUBJECTS_MAX)
        health->truncated = true;
    else if (slot == NULL) {
        if (health->slot_count == health->slot_room && grow(health, err) != ERR_OK)
            return ERR_NOMEM;
        slot = &health->slots[health->slot_count++];
        *slot = (struct health_slot){.subject = *subject};
        health->index[probe(health, subject)] = (uint32_t)health->slot_count;
    }
    if (slot != NULL && subject->label != 0)
        slot->subject.label = subject->label;
    *out = slot;
    return ERR_OK;
}

/* Forgets subjects that nobody has told of for long. */
void health_slots_sweep(struct health *health)
{
    size_t kept = 0;
    for (size_t i = 0; i < health->slot_count; i++) {
        struct health_slot *slot = &health->slots[i];
        if (slot->unseen >= HEALTH_GONE_LOOKS)
            free(slot->data);
        else
            health->slots[kept++] = *slot;
    }
    if (kept == health->slot_count)
        return;
    health->slot_count = kept;
    health->truncated = false;
    reindex(health);
}

const struct health_datum *health_datum_find(const struct health_slot *slot, uint16_t input)
{
    for (size_t i = 0; slot != NULL && i < slot->count; i++)
        if (slot->data[i].input == input)
            return &slot->data[i];
    return NULL;
}

enum err_code health_datum_get(struct health_slot *slot, uint16_t input, struct health_datum **out,
                               struct err *err)
{
    for (size_t i = 0; i < slot->count; i++)
        if (slot->data[i].input == input) {
            *out = &slot->data[i];
            return ERR_OK;
        }
    if (slot->count == slot->room) {
        uint16_t room = slot->room == 0 ? 8 : (uint16_t)(2 * slot->room);
        struct health_datum *data = realloc(slot->data, room * sizeof(*data));
        if (data == NULL)
            return err_nomem(err);
        slot->data = data;
        slot->room = room;
    }
    *out = &slot->data[slot->count++];
    **out = (struct health_datum){.input = input, .last.value = TELEMETRY_ABSENT};
    return ERR_OK;
}

enum err_code health_new(const struct health_book *book, struct health **out, struct err *err)
{
    struct health *health = calloc(1, sizeof(*health));
    if (health == NULL)
        return err_nomem(err);
    health->book = book;
    *out = health;
    return ERR_OK;
}

void health_free(struct health *health)
{
    if (health == NULL)
        return;
    for (size_t i = 0; i < health->slot_count; i++)
        free(health->slots[i].data);
    for (size_t i = 0; i < health->track_count; i++)
        free(health->tracks[i].window);
    free(health->slots);
    free(health->index);
    free(health->tracks);
    free(health->wires);
    free(health->pledges);
    free(health);
}

/* Facts come in ------------------------------------------------------------------------------- */

static void make_unknown(struct health *health, enum health_source source, int kind)
{
    for (size_t i = 0; i < health->slot_count; i++) {
        struct health_slot *slot = &health->slots[i];
        for (size_t k = 0; k < slot->count; k++)
            if (slot->data[k].source == source && (kind < 0 || slot->subject.kind == kind))
                slot->data[k].is_known = false;
    }
}

static void take_column(struct health_datum *datum, const struct telemetry_batch *batch,
                        const struct telemetry_column *column)
{
    const struct telemetry_name *name = &batch->names[column->name];
    datum->source = HEALTH_FROM_NODE;
    datum->span = (struct telemetry_sum){0};
    for (size_t i = 0; i < batch->sample_count; i++) {
        struct telemetry_sum sum;
        int64_t value = batch->values[column->at + i];
        (void)telemetry_next(&datum->last, name, telemetry_time_us(batch, i), value,
                             batch->interval_ms, &sum);
        if (name->course != TELEMETRY_GAUGE)
            telemetry_sum_merge(&datum->span, &sum);
        if (value == TELEMETRY_ABSENT)
            continue;
        datum->value = value;
        datum->is_known = true;
    }
}

static enum err_code take_row(struct health *health, const struct telemetry_batch *batch,
                              const struct telemetry_row *row, const uint16_t *inputs,
                              struct err *err)
{
    struct health_subject subject = {
        .kind = (int)row->subject.kind, .number = row->subject.number, .label = row->subject.label};
    struct health_slot *slot = NULL;
    enum err_code code = ERR_OK;
    text_copy(subject.device, sizeof(subject.device), batch->devices[row->subject.device]);
    for (size_t k = 0; k < row->count && code == ERR_OK; k++) {
        const struct telemetry_column *column = &batch->columns[row->first + k];
        struct health_datum *datum;
        if (inputs[column->name] == HEALTH_NO_INPUT)
            continue;
        if (slot == NULL)
            code = health_slot_get(health, &subject, &slot, err);
        if (slot == NULL)
            return code;
        slot->is_told = true;
        code = health_datum_get(slot, inputs[column->name], &datum, err);
        if (code == ERR_OK)
            take_column(datum, batch, column);
    }
    return code;
}

enum err_code health_take_batch(struct health *health, const struct telemetry_batch *batch,
                                struct err *err)
{
    uint16_t inputs[TELEMETRY_NAMES_MAX];
    enum err_code code = ERR_OK;
    make_unknown(health, HEALTH_FROM_NODE, -1);
    for (size_t i = 0; i < batch->name_count; i++)
        inputs[i] = health_input(health->book, batch->names[i].text);
    for (size_t i = 0; i < batch->row_count && code == ERR_OK; i++)
        if (health->book->of_kind_count[batch->rows[i].subject.kind] > 0)
            code = take_row(health, batch, &batch->rows[i], inputs, err);
    health->has_batch = true;
    if (code == ERR_OK)
        code = health_take_latencies(health, batch, err);
    if (code == ERR_OK)
        code = health_derive(health, err);
    return code == ERR_OK ? health_take_jobs(health, batch, err) : code;
}

void health_node_silent(struct health *health)
{
    make_unknown(health, HEALTH_FROM_NODE, -1);
    make_unknown(health, HEALTH_FROM_SERVER, HEALTH_JOB); /* they follow from what it told */
}

void health_server_begin(struct health *health, int kind)
{
    make_unknown(health, HEALTH_FROM_SERVER, kind);
}

enum err_code health_server_put(struct health *health, const struct health_subject *subject,
                                const char *input, int64_t value, struct err *err)
{
    uint16_t number = health_input(health->book, input);
    struct health_slot *slot;
    struct health_datum *datum;
    if (number == HEALTH_NO_INPUT)
        return ERR_OK;
    enum err_code code = health_slot_get(health, subject, &slot, err);
    if (code != ERR_OK || slot == NULL)
        return code;
    slot->is_told = true;
    code = health_datum_get(slot, number, &datum, err);
    if (code != ERR_OK)
        return code;
    datum->source = HEALTH_FROM_SERVER;
    datum->value = value;
    datum->is_known = true;
    return ERR_OK;
}

void health_rdma_clear(struct health *health)
{
    health->wire_count = 0;
}

enum err_code health_rdma_port(struct health *health, const char *rdma_device, uint32_t number,
                               const char *port, struct err *err)
{
    if (health->wire_count == HEALTH_RDMA_MAX)
        return err_set(err, ERR_LIMIT, "more than %d RDMA ports", HEALTH_RDMA_MAX);
    struct health_wire *wires =
        realloc(health->wires, (health->wire_count + 1) * sizeof(*health->wires));
    if (wires == NULL)
        return err_nomem(err);
    health->wires = wires;
    struct health_wire *wire = &wires[health->wire_count++];
    text_copy(wire->rdma_device, sizeof(wire->rdma_device), rdma_device);
    text_copy(wire->port, sizeof(wire->port), port);
    wire->number = number;
    return ERR_OK;
}

int64_t health_fact(const struct health *health, const struct health_subject *subject,
                    const char *input)
{
    const struct health_datum *datum =
        health_datum_find(health_slot_find(health, subject), health_input(health->book, input));
    return datum == NULL || !datum->is_known ? HEALTH_NONE : datum->value;
}

void health_port_of(const struct health *health, const struct health_subject *subject,
                    char out[PORT_ID_SIZE])
{
    const struct health_wire *found = NULL;
    size_t count = 0;
    out[0] = '\0';
    if (subject->kind == TELEMETRY_PORT || subject->kind == TELEMETRY_PRIORITY)
        text_copy(out, PORT_ID_SIZE, subject->device);
    if (subject->kind != TELEMETRY_RDMA && subject->kind != TELEMETRY_QP)
        return;
    for (size_t i = 0; i < health->wire_count; i++) {
        const struct health_wire *wire = &health->wires[i];
        bool is_number = subject->kind == TELEMETRY_QP || wire->number == subject->number;
        if (!is_number || strcmp(wire->rdma_device, subject->device) != 0)
            continue;
        found = wire;
        count++;
    }
    /* A queue pair does not say which of its device's ports it is on. */
    if (count == 1)
        text_copy(out, PORT_ID_SIZE, found->port);
}
