/*
 * fleet/verification_plan.c - see verification.h: which tests a request means.
 */
#include "fleet/verification.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "fleet/read.h"
#include "fleet/rollout_policy.h"

#define DEVICES_MAX 64 /* named in a request */

static const char *const pairing_names[] = {"next", "all", NULL};

/* The request ---------------------------------------------------------------------------------- */

static void read_kinds(struct json_reader *r, struct verification_settings *out)
{
    const json_t *kinds = NULL;
    if (!json_reader_array(r, "kinds", true, VERIFY_KIND_COUNT, &kinds))
        return;
    if (json_array_size(kinds) == 0)
        read_problem(r, "kinds", "names no kind");
    for (size_t i = 0; i < json_array_size(kinds); i++) {
        const char *name = json_string_value(json_array_get(kinds, i));
        int kind = 0;
        while (kind < VERIFY_KIND_COUNT &&
               (name == NULL || strcmp(verify_kind_names[kind], name) != 0))
            kind++;
        if (kind < VERIFY_KIND_COUNT)
            out->kinds[kind] = true;
        else
            read_problem(r, "kinds",
                         "element %zu is none of send_lat, read_bw, write_bw, mesh, "
                         "allreduce",
                         i);
    }
}

static void read_devices(struct json_reader *r)
{
    const json_t *devices = NULL;
    if (!json_reader_array(r, "devices", false, DEVICES_MAX, &devices))
        return;
    if (json_array_size(devices) == 0)
        read_problem(r, "devices", "names no device");
    for (size_t i = 0; i < json_array_size(devices); i++) {
        const char *text = json_string_value(json_array_get(devices, i));
        if (text == NULL || text[0] == '\0' || strlen(text) >= VERIFY_DEVICE_SIZE)
            read_problem(r, "devices", "element %zu is no name of an RDMA device such as mlx5_0",
                         i);
    }
}

static void read_sizes(struct json_reader *r, struct verification_settings *out)
{
    static const struct read_range span = {NS_PER_S, VERIFY_DEADLINE_MAX_S * NS_PER_S};
    int64_t bytes = 0, iterations = 0, deadline_ns = 60 * NS_PER_S;
    json_reader_int(r, "bytes", false, 1, VERIFY_BYTES_MAX, &bytes);
    json_reader_int(r, "iterations", false, 1, VERIFY_ITERATIONS_MAX, &iterations);
    read_duration(r, "deadline", &span, &deadline_ns);
    if (deadline_ns % NS_PER_S != 0)
        read_problem(r, "deadline", "is whole seconds: agents count it in seconds");
    out->bytes = (int)bytes;
    out->iterations = (int)iterations;
    out->deadline_s = (int)(deadline_ns / NS_PER_S);
}

void verification_settings_read(struct json_reader *r, struct verification_settings *out)
{
    int pairs = 0;
    *out = (struct verification_settings){.note = ""};
    read_kinds(r, out);
    read_devices(r);
    json_reader_enum(r, "pairs", false, pairing_names, &pairs);
    out->all_pairs = pairs == 1;
    read_sizes(r, out);
    json_reader_bool(r, "force", false, &out->force);
}

enum err_code verification_request_from_json(const json_t *document,
                                             struct verification_settings *out,
                                             struct finding_list *findings, struct err *err)
{
    OWN_FINDINGS struct finding_list own;
    struct json_reader r;
    struct verification_settings read;
    bool all = false;
    finding_list_init(&own);
    json_reader_init(&r, document, "", &own);
    int given = rollout_pick_read(&r) + (json_reader_bool(&r, "all", false, &all) && all);
    verification_settings_read(&r, &read);
    read_text(&r, "message", false, 0, read.note, sizeof(read.note));
    json_reader_end(&r);
    if (given != 1 && !finding_list_has_errors(&own))
        read_problem(&r, NULL, "give one of nodes, selector and \"all\": true");
    enum err_code code = read_result(&own, err);
    if (findings != NULL)
        finding_list_append(findings, &own);
    if (code == ERR_OK)
        *out = read;
    return code;
}

/* Endpoints ------------------------------------------------------------------------------------ */

struct endpoint {
    struct verification_member end;
    struct verify_class device;
};

struct plan {
    const struct verification_settings *settings;
    struct endpoint *ends; /* owned; by device, then node */
    size_t end_count;
    struct verification *made;
};

static bool has_device(const json_t *document, const char *device)
{
    const json_t *devices = json_object_get(document, "devices");
    for (size_t i = 0; i < json_array_size(devices); i++)
        if (strcmp(json_string_value(json_array_get(devices, i)), device) == 0)
            return true;
    return devices == NULL;
}

static enum err_code add_end(struct plan *plan, const char *node, const struct port *port,
                             struct err *err)
{
    if (plan->end_count == VERIFICATION_ENDPOINTS_MAX)
        return err_set(err, ERR_LIMIT,
                       "more than %d RDMA devices are chosen: choose fewer nodes, or name devices",
                       VERIFICATION_ENDPOINTS_MAX);
    struct endpoint *end = &plan->ends[plan->end_count++];
    *end = (struct endpoint){.device = {.software = false, .speed_bps = -1}};
    text_copy(end->end.member.node, NAME_SIZE, node);
    if (port == NULL)
        return ERR_OK;
    text_copy(end->end.member.address, INVENTORY_ADDRESS_MAX, port->roce_address);
    text_copy(end->end.device, VERIFY_DEVICE_SIZE, port->rdma_device);
    end->device.software = port->rdma_software;
    end->device.speed_bps = port->speed_bps;
    return ERR_OK;
}

static bool is_there_already(const struct plan *plan, size_t from, const char *device)
{
    for (size_t i = from; i < plan->end_count; i++)
        if (strcmp(plan->ends[i].end.device, device) == 0)
            return true;
    return false;
}

static enum err_code add_node(struct plan *plan, const struct view_node *node,
                              const json_t *document, struct err *err)
{
    const struct inventory *inventory = node->inventory;
    size_t from = plan->end_count;
    enum err_code code = ERR_OK;
    for (size_t i = 0; inventory != NULL && i < inventory->port_count && code == ERR_OK; i++) {
        const struct port *port = &inventory->ports[i];
        if (port->rdma_device[0] != '\0' && port->roce_address[0] != '\0' &&
            has_device(document, port->rdma_device) &&
            !is_there_already(plan, from, port->rdma_device))
            code = add_end(plan, node->name, port, err);
    }
    return code == ERR_OK && plan->end_count == from ? add_end(plan, node->name, NULL, err) : code;
}

static int by_device(const void *a, const void *b)
{
    const struct endpoint *left = a, *right = b;
    int order = strcmp(left->end.device, right->end.device);
    return order != 0 ? order : strcmp(left->end.member.node, right->end.member.node);
}

/* Tests ---------------------------------------------------------------------------------------- */

static void join_class(struct verify_class *slowest, const struct verify_class *other)
{
    slowest->software |= other->software;
    if (slowest->speed_bps < 0 || other->speed_bps < 0)
        slowest->speed_bps = -1;
    else if (other->speed_bps < slowest->speed_bps)
        slowest->speed_bps = other->speed_bps;
}

static enum err_code add_test(struct plan *plan, enum verify_kind kind, const size_t *ends,
                              int count, struct err *err)
{
    struct verification *v = plan->made;
    if (v->test_count == VERIFICATION_TESTS_MAX)
        return err_set(err, ERR_LIMIT,
                       "it would be more than %d tests: choose fewer nodes, devices or kinds",
                       VERIFICATION_TESTS_MAX);
    struct verification_test *test = &v->tests[v->test_count];
    *test = (struct verification_test){
        .kind = kind, .member_count = count, .device = plan->ends[ends[0]].device, .changed = true};
    verify_figures_init(&test->figures);
    test->members = calloc((size_t)count, sizeof(*test->members));
    if (test->members == NULL)
        return err_nomem(err);
    v->test_count++;
    for (int i = 0; i < count; i++) {
        test->members[i] = plan->ends[ends[i]].end;
        join_class(&test->device, &plan->ends[ends[i]].device);
    }
    return ERR_OK;
}

/* One that nobody can run. */
static enum err_code add_alone(struct plan *plan, enum verify_kind kind, size_t end,
                               struct err *err)
{
    enum err_code code = add_test(plan, kind, &end, 1, err);
    if (code != ERR_OK)
        return code;
    struct verification_test *test = &plan->made->tests[plan->made->test_count - 1];
    test->state = VERIFICATION_OVER;
    test->verdict = VERIFY_UNKNOWN;
    if (test->members[0].device[0] == '\0')
        text_copy(test->why, sizeof(test->why),
                  "the node has told of no RDMA device with a RoCE address that was asked for");
    else
        snprintf(test->why, sizeof(test->why),
                 "no other chosen node has told of a device %s with a RoCE address",
                 test->members[0].device);
    return ERR_OK;
}

static enum err_code add_pairs(struct plan *plan, enum verify_kind kind, size_t first, size_t count,
                               struct err *err)
{
    enum err_code code = ERR_OK;
    if (plan->settings->all_pairs) {
        for (size_t i = 0; i < count; i++)
            for (size_t k = i + 1; k < count && code == ERR_OK; k++)
                code = add_test(plan, kind, (size_t[]){first + i, first + k}, 2, err);
        return code;
    }
    for (size_t i = 0; i < (count == 2 ? 1 : count) && code == ERR_OK; i++)
        code = add_test(plan, kind, (size_t[]){first + i, first + (i + 1) % count}, 2, err);
    return code;
}

/* Each asks the others, of a great rail the next ones. */
static enum err_code add_meshes(struct plan *plan, size_t first, size_t count, struct err *err)
{
    size_t ends[VERIFY_MEMBERS_MAX];
    size_t members = count < VERIFY_MEMBERS_MAX ? count : VERIFY_MEMBERS_MAX;
    enum err_code code = ERR_OK;
    for (size_t i = 0; i < count && code == ERR_OK; i++) {
        for (size_t k = 0; k < members; k++)
            ends[k] = first + (i + k) % count;
        code = add_test(plan, VERIFY_MESH, ends, (int)members, err);
    }
    return code;
}

/* One ring, or as many of about the same size as it takes. */
static enum err_code add_rings(struct plan *plan, size_t first, size_t count, struct err *err)
{
    size_t ends[VERIFY_MEMBERS_MAX];
    size_t rings = (count + VERIFY_MEMBERS_MAX - 1) / VERIFY_MEMBERS_MAX, at = 0;
    enum err_code code = ERR_OK;
    for (size_t ring = 0; ring < rings && code == ERR_OK; ring++) {
        size_t size = (count - at) / (rings - ring);
        for (size_t k = 0; k < size; k++)
            ends[k] = first + at + k;
        at += size;
        code = add_test(plan, VERIFY_ALLREDUCE, ends, (int)size, err);
    }
    return code;
}

static enum err_code add_rail(struct plan *plan, enum verify_kind kind, size_t first, size_t count,
                              struct err *err)
{
    enum err_code code = ERR_OK;
    if (count == 1 || plan->ends[first].end.device[0] == '\0') {
        for (size_t i = 0; i < count && code == ERR_OK; i++)
            code = add_alone(plan, kind, first + i, err);
        return code;
    }
    if (kind == VERIFY_MESH)
        return add_meshes(plan, first, count, err);
    if (kind == VERIFY_ALLREDUCE)
        return add_rings(plan, first, count, err);
    return add_pairs(plan, kind, first, count, err);
}

static enum err_code add_kind(struct plan *plan, enum verify_kind kind, struct err *err)
{
    enum err_code code = ERR_OK;
    for (size_t first = 0; first < plan->end_count && code == ERR_OK;) {
        size_t count = 1;
        while (first + count < plan->end_count &&
               strcmp(plan->ends[first].end.device, plan->ends[first + count].end.device) == 0)
            count++;
        code = add_rail(plan, kind, first, count, err);
        first += count;
    }
    return code;
}

static enum err_code make(struct plan *plan, const struct view *view, const json_t *document,
                          struct err *err)
{
    enum err_code code = ERR_OK;
    for (size_t i = 0; i < view->node_count && code == ERR_OK; i++)
        if (rollout_request_has(document, &view->nodes[i]))
            code = add_node(plan, &view->nodes[i], document, err);
    if (code == ERR_OK && plan->end_count == 0)
        return err_set(err, ERR_NOT_FOUND, "no node is chosen");
    qsort(plan->ends, plan->end_count, sizeof(*plan->ends), by_device);
    for (int kind = 0; kind < VERIFY_KIND_COUNT && code == ERR_OK; kind++)
        if (plan->settings->kinds[kind])
            code = add_kind(plan, (enum verify_kind)kind, err);
    return code;
}

enum err_code verification_make(const struct view *view, const json_t *document,
                                const struct verification_settings *settings,
                                struct verification **out, struct err *err)
{
    struct err own = ERR_INIT;
    OWN(verification) struct verification *v = calloc(1, sizeof(*v));
    struct plan plan = {.settings = settings, .made = v};
    if (v != NULL)
        v->tests = calloc(VERIFICATION_TESTS_MAX, sizeof(*v->tests));
    plan.ends = calloc(VERIFICATION_ENDPOINTS_MAX, sizeof(*plan.ends));
    enum err_code code = v == NULL || v->tests == NULL || plan.ends == NULL
                             ? err_nomem(&own)
                             : make(&plan, view, document, &own);
    free(plan.ends);
    if (code == ERR_OK)
        code = verification_count_nodes(v, &own);
    if (code == ERR_OK) {
        v->settings = *settings;
        *out = GIVE(v);
    } else if (err != NULL) {
        *err = own;
    }
    return code;
}
