/*
 * fleet/fabric.c - the ports' part of the fabric profile: priorities, trust, PFC, ECN, buffers. The
 * hosts' part is fabric_host.c. Checks shape and ranges; what priorities mean together is the
 * rules' business.
 */
#include "fleet/fabric.h"

#include <stdio.h>
#include <string.h>

#include "fleet/fabric_host.h"
#include "fleet/fabric_roce.h"
#include "fleet/read.h"

#define DSCP_MAX             63
#define RESERVE_DEFAULT      500
#define LOSSLESS_DEFAULT     2
#define MTU_BYTES_MIN        1280 /* IPv6 needs it */
#define MTU_BYTES_MAX        9978
#define CABLE_METRES_MAX     1000 /* the driver's field ends there */
#define BUFFER_BYTES_MAX     (INT64_C(1) << 32)
#define ECN_BYTES_MAX        (INT64_C(1) << 40)
#define UPDATE_PERIOD_MAX    1000000
#define KERNEL_ECN_BYTES_MAX (INT64_C(1) << 29) /* red's averages are 32 bits */
#define RULE_LATER           "not-enforced-yet"

static int compare_ints(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

static void dscps_from_json(struct json_reader *r, struct fabric_priority *out)
{
    const json_t *array;
    if (!json_reader_array(r, "dscps", false, FABRIC_DSCPS_MAX, &array))
        return;
    for (size_t i = 0; i < json_array_size(array); i++) {
        const json_t *item = json_array_get(array, i);
        json_int_t dscp = json_is_integer(item) ? json_integer_value(item) : -1;
        if (dscp < 0 || dscp > DSCP_MAX) {
            read_problem(r, "dscps", "element %zu of 'dscps' must be an integer from 0 to %d", i,
                         DSCP_MAX);
            return;
        }
        out->dscps[i] = (int)dscp;
    }
    out->dscp_count = json_array_size(array);
    qsort(out->dscps, out->dscp_count, sizeof(out->dscps[0]), compare_ints);
    for (size_t i = 1; i < out->dscp_count; i++)
        if (out->dscps[i - 1] == out->dscps[i])
            read_problem(r, "dscps", "DSCP %d stands here twice", out->dscps[i]);
}

static void priority_from_json(struct json_reader *r, struct fabric *fabric)
{
    int64_t number = 0, class = 0, weight = 0;
    struct fabric_priority entry = {.used = true};
    bool known = json_reader_int(r, "priority", true, 0, PRIORITY_COUNT - 1, &number);
    class = number;
    dscps_from_json(r, &entry);
    json_reader_int(r, "traffic_class", false, 0, TC_COUNT - 1, &class);
    json_reader_bool(r, "lossless", false, &entry.lossless);
    json_reader_bool(r, "strict", false, &entry.strict);
    bool weighted = json_reader_int(r, "ets_weight", false, 1, 100, &weight);
    json_reader_bandwidth(r, "limit", false, &entry.limit);
    json_reader_end(r);
    if (entry.strict && weighted)
        read_problem(r, "ets_weight", "a strict priority has no 'ets_weight'");
    entry.traffic_class = (int)class;
    entry.ets_weight = entry.strict ? 0 : weighted ? (int)weight : 1;
    if (known && fabric->priorities[number].used)
        read_problem(r, "priority", "priority %d stands here twice", (int)number);
    if (known)
        fabric->priorities[number] = entry;
}

static bool same_bandwidth(const struct bandwidth *a, const struct bandwidth *b)
{
    return a->kind == b->kind && a->share_permyriad == b->share_permyriad &&
           a->rate_bps == b->rate_bps;
}

/* Strictness and the limit belong to the traffic class: its priorities must agree. */
static void check_classes(struct json_reader *r, const struct fabric *fabric)
{
    for (int i = 0; i < PRIORITY_COUNT; i++) {
        const struct fabric_priority *a = &fabric->priorities[i];
        for (int j = i + 1; j < PRIORITY_COUNT && a->used; j++) {
            const struct fabric_priority *b = &fabric->priorities[j];
            if (!b->used || a->traffic_class != b->traffic_class)
                continue;
            if (a->strict != b->strict)
                read_problem(r, "priorities",
                             "priorities %d and %d share traffic class %d, so both or neither "
                             "must be strict",
                             i, j, a->traffic_class);
            if (a->limit.kind != BANDWIDTH_NONE && b->limit.kind != BANDWIDTH_NONE &&
                !same_bandwidth(&a->limit, &b->limit))
                read_problem(r, "priorities",
                             "priorities %d and %d share traffic class %d, so their limits must "
                             "be the same",
                             i, j, a->traffic_class);
        }
    }
}

static void priorities_from_json(struct json_reader *r, struct fabric *fabric)
{
    const json_t *array;
    if (!json_reader_array(r, "priorities", true, PRIORITY_COUNT, &array))
        return;
    if (json_array_size(array) == 0)
        read_problem(r, "priorities", "the profile names no priority");
    for (size_t i = 0; i < json_array_size(array); i++) {
        struct json_reader element;
        json_reader_element(r, "priorities", i, json_array_get(array, i), &element);
        if (element.object != NULL)
            priority_from_json(&element, fabric);
    }
    check_classes(r, fabric);
}

static bool share_from_json(struct json_reader *r, const char *key, int32_t *out)
{
    struct bandwidth share;
    if (!json_reader_bandwidth(r, key, false, &share))
        return false;
    if (share.kind != BANDWIDTH_SHARE) {
        read_problem(r, key, "'%s' must be a share such as \"5%%\"", key);
        return false;
    }
    *out = share.share_permyriad;
    return true;
}

static void cnp_from_json(struct json_reader *r, struct fabric *fabric)
{
    int64_t dscp = 0, priority = 0;
    json_reader_int(r, "dscp", true, 0, DSCP_MAX, &dscp);
    json_reader_int(r, "priority", true, 0, PRIORITY_COUNT - 1, &priority);
    json_reader_end(r);
    fabric->has_cnp = true;
    fabric->cnp_dscp = (int)dscp;
    fabric->cnp_priority = (int)priority;
}

static void ecn_from_json(struct json_reader *r, struct fabric *fabric)
{
    int32_t pmax = 0;
    bool has_min =
        json_reader_int(r, "kmin_bytes", true, 1, ECN_BYTES_MAX, &fabric->ecn_kmin_bytes);
    bool has_max =
        json_reader_int(r, "kmax_bytes", true, 1, ECN_BYTES_MAX, &fabric->ecn_kmax_bytes);
    if (!share_from_json(r, "pmax", &pmax) && r->object != NULL &&
        json_object_get(r->object, "pmax") == NULL)
        read_problem(r, "pmax", "the member 'pmax' is missing");
    json_reader_end(r);
    if (has_min && has_max && fabric->ecn_kmin_bytes > fabric->ecn_kmax_bytes)
        read_problem(r, "kmin_bytes", "'kmin_bytes' is above 'kmax_bytes'");
    fabric->has_ecn = true;
    fabric->ecn_pmax_permyriad = pmax;
}

/* An array of exactly eight integers. */
static void eight_from_json(struct json_reader *r, const char *key, int64_t max, int64_t out[8])
{
    const json_t *array;
    if (!json_reader_array(r, key, true, 8, &array))
        return;
    bool wrong = json_array_size(array) != 8;
    for (size_t i = 0; i < json_array_size(array) && !wrong; i++) {
        const json_t *item = json_array_get(array, i);
        wrong = !json_is_integer(item) || json_integer_value(item) < 0 ||
                json_integer_value(item) > max;
        out[i] = wrong ? 0 : json_integer_value(item);
    }
    if (wrong)
        read_problem(r, key, "'%s' must be 8 integers from 0 to %lld", key, (long long)max);
}

static void buffer_from_json(struct json_reader *r, struct fabric *fabric)
{
    int64_t buffers[PRIORITY_COUNT] = {0};
    eight_from_json(r, "sizes_bytes", BUFFER_BYTES_MAX, fabric->buffer_size_bytes);
    eight_from_json(r, "buffer_of_priority", TC_COUNT - 1, buffers);
    json_reader_end(r);
    for (int i = 0; i < PRIORITY_COUNT; i++) {
        fabric->buffer_of_priority[i] = (int)buffers[i];
        if (fabric->priorities[i].lossless && fabric->buffer_size_bytes[buffers[i]] == 0)
            read_problem(r, "sizes_bytes",
                         "lossless priority %d is in buffer %d, which has 0 bytes", i,
                         (int)buffers[i]);
    }
    fabric->has_buffer = true;
}

static void solar_from_json(struct json_reader *r, struct fabric *fabric)
{
    struct json_reader weights;
    int64_t value;
    read_solar_cc(r, &fabric->solar);
    json_reader_bool(r, "control_page", false, &fabric->solar_page);
    json_reader_int(r, "update_period_us", false, 1, UPDATE_PERIOD_MAX, &value);
    if (json_reader_object(r, "weights", false, &weights)) {
        read_micro(&weights, "throughput", false, &value);
        read_micro(&weights, "latency", false, &value);
        json_reader_end(&weights);
    }
    json_reader_end(r);
}

static void scheduler_from_json(struct json_reader *r, struct fabric *fabric)
{
    static const char *const kinds[] = {"htb", "ets", NULL};
    int kind = FABRIC_SCHEDULER_HTB;
    json_reader_enum(r, "kind", false, kinds, &kind);
    json_reader_bool(r, "ecn", false, &fabric->scheduler_ecn);
    if (fabric->scheduler_ecn && !fabric->has_ecn)
        read_problem(r, "ecn", "the profile has no 'ecn' that the kernel could mark by");
    else if (fabric->scheduler_ecn && fabric->ecn_kmax_bytes > KERNEL_ECN_BYTES_MAX)
        read_problem(r, "ecn",
                     "the kernel marks by queues of up to %lld bytes; 'kmax_bytes' is %lld",
                     (long long)KERNEL_ECN_BYTES_MAX, (long long)fabric->ecn_kmax_bytes);
    else if (fabric->scheduler_ecn && fabric->ecn_pmax_permyriad < 1)
        read_problem(r, "ecn", "a 'pmax' of 0 marks nothing");
    json_reader_end(r);
    fabric->scheduler = (enum fabric_scheduler)kind;
}

static void ports_from_json(struct json_reader *r, struct fabric *fabric)
{
    static const char *const trusts[] = {"dscp", "pcp", NULL};
    static const char *const actions[] = {"shape", "police", NULL};
    struct json_reader sub;
    int trust = FABRIC_TRUST_DSCP, action = FABRIC_LIMIT_SHAPE;
    int64_t lossless = LOSSLESS_DEFAULT, mtu = 0, cable = 0;
    priorities_from_json(r, fabric);
    json_reader_enum(r, "trust", false, trusts, &trust);
    json_reader_int(r, "lossless_max", false, 0, PRIORITY_COUNT, &lossless);
    share_from_json(r, "default_reserve", &fabric->reserve_permyriad);
    if (json_reader_object(r, "cnp", false, &sub))
        cnp_from_json(&sub, fabric);
    if (json_reader_object(r, "ecn", false, &sub))
        ecn_from_json(&sub, fabric);
    if (json_reader_object(r, "kernel_scheduler", false, &sub))
        scheduler_from_json(&sub, fabric);
    json_reader_int(r, "mtu_bytes", false, MTU_BYTES_MIN, MTU_BYTES_MAX, &mtu);
    json_reader_int(r, "cable_length_m", false, 1, CABLE_METRES_MAX, &cable);
    if (json_reader_object(r, "buffer", false, &sub))
        buffer_from_json(&sub, fabric);
    json_reader_enum(r, "limit_action", false, actions, &action);
    if (json_reader_object(r, "solar", false, &sub))
        solar_from_json(&sub, fabric);
    fabric->trust = (enum fabric_trust)trust;
    fabric->lossless_max = (int)lossless;
    fabric->mtu_bytes = (int)mtu;
    fabric->cable_length_m = (int)cable;
    fabric->limit_action = (enum fabric_limit_action)action;
}

static void warn_of_later_members(const struct json_reader *r)
{
    static const struct {
        const char *member, *text;
    } later[] = {
        {"ecn", "is checked and stored, but no NIC's ECN marking is programmed by this version"},
        {"solar", "is checked and stored; with 'control_page' true eta, beta and what policies say "
                  "of jobs reach programs that use libsolar, and nothing of it reaches others"},
        {"cable_length_m", "is stored, but no NIC's headroom is computed from it by this version"},
    };
    for (size_t i = 0; i < sizeof(later) / sizeof(later[0]); i++) {
        if (json_object_get(r->object, later[i].member) == NULL)
            continue;
        char pointer[ERR_POINTER_MAX];
        json_reader_pointer(r, later[i].member, pointer);
        finding_addf(r->findings, RULE_LATER, FINDING_WARNING, pointer, "'%s' %s", later[i].member,
                     later[i].text);
    }
}

enum err_code fabric_from_json(const json_t *document, struct fabric **out,
                               struct finding_list *findings, struct err *err)
{
    OWN_FINDINGS struct finding_list own;
    finding_list_init(&own);
    OWN(fabric) struct fabric *fabric = calloc(1, sizeof(*fabric));
    if (fabric == NULL)
        return err_nomem(err);
    fabric->reserve_permyriad = RESERVE_DEFAULT;
    struct json_reader r, root;
    json_reader_init(&r, document, "", &own);
    if (json_reader_object(&r, "fabric_profile", true, &root)) {
        ports_from_json(&root, fabric);
        fabric_roce_from_json(&root, fabric);
        fabric_device_from_json(&root, fabric);
        fabric_host_from_json(&root, fabric);
        json_reader_end(&root);
        if (!finding_list_has_errors(&own))
            warn_of_later_members(&root);
    }
    json_reader_end(&r);
    fabric->document = json_incref((json_t *)document);
    if (findings != NULL)
        finding_list_append(findings, &own);
    enum err_code code = read_result(&own, err);
    if (code == ERR_OK)
        *out = GIVE(fabric);
    return code;
}

void fabric_free(struct fabric *fabric)
{
    if (fabric == NULL)
        return;
    json_decref(fabric->document);
    free(fabric);
}
