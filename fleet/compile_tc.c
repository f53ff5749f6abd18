/*
 * fleet/compile_tc.c - a port's scheduler and filters: classes of the kernel where it sees the
 * traffic, flow table entries where the NIC has a table.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "fleet/compile_job.h"
#include "fleet/placement.h"
#include "fleet/read.h"

#define CLASS_ROOT        "5e11:"
#define CLASS_PARENT      "5e11:fffe"
#define CLASS_DEFAULT     "5e11:ffff"
#define CLASS_TEXT_MAX    16
#define RATE_FLOOR_BPS    INT64_C(1000000) /* htb needs a rate; jobs without a guarantee get this */
#define POLICE_BURST_MS   5
#define POLICE_BURST_MIN  INT64_C(131072) /* two GSO packets of 64 KiB */
#define COOKIE_MARK       "53544c52"      /* "STLR" */
#define COOKIE_SIZE       33
#define COOKIE_HASH_CHARS 16
#define DIGEST_PREFIX_LEN 7 /* "sha256:" */

__extension__ typedef __int128 wide;

static void class_id(const struct site_job *job, char out[CLASS_TEXT_MAX])
{
    snprintf(out, CLASS_TEXT_MAX, "5e11:%x", (unsigned)job->placement->label);
}

static void cookie_of(const struct site_job *job, char out[COOKIE_SIZE])
{
    char name[2 * NAME_SIZE + 1], digest[DIGEST_TEXT_MAX];
    snprintf(name, sizeof(name), "%s/%s", job->tenant->name, job->job->name);
    bytes_digest(name, strlen(name), digest);
    snprintf(out, COOKIE_SIZE, COOKIE_MARK "%08x%.*s", (unsigned)job->placement->label,
             COOKIE_HASH_CHARS, digest + DIGEST_PREFIX_LEN);
}

static bool set_prefix(json_t *object, const char *key, const struct ip_prefix *prefix)
{
    char text[IP_PREFIX_TEXT_MAX];
    if (prefix->family == 0)
        return true;
    ip_prefix_format(prefix, true, text);
    return write_member(object, key, json_string(text));
}

static json_t *match_to_json(const struct flow_match *match)
{
    bool ipv6 = flow_match_family(match) == AF_INET6;
    OWN(json) json_t *object = json_object();
    if (!write_member(object, "eth_type", json_string(ipv6 ? "ipv6" : "ipv4")) ||
        !set_prefix(object, "src", &match->src) || !set_prefix(object, "dst", &match->dst))
        return NULL;
    if (match->dscp >= 0 && !write_member(object, "dscp", json_integer(match->dscp)))
        return NULL;
    if (match->ip_proto >= 0 &&
        !write_member(object, "ip_proto",
                      json_string(match->ip_proto == IPPROTO_TCP ? "tcp" : "udp")))
        return NULL;
    if (match->src_port > 0 && !write_member(object, "src_port", json_integer(match->src_port)))
        return NULL;
    if (match->dst_port > 0 && !write_member(object, "dst_port", json_integer(match->dst_port)))
        return NULL;
    return GIVE(object);
}

/* Takes actions over. */
static json_t *flower_to_json(const struct site_job *job, bool hardware, json_t *actions)
{
    char cookie[COOKIE_SIZE];
    cookie_of(job, cookie);
    OWN(json) json_t *object = json_object();
    if (!write_member(object, "actions", actions) ||
        !write_member(object, "cookie", json_string(cookie)) ||
        !write_member(object, "hw", json_string(hardware ? "only" : "no")) ||
        !write_member(object, "match", match_to_json(&job->match)))
        return NULL;
    return GIVE(object);
}

static json_t *action(const char *key, json_t *value)
{
    OWN(json) json_t *object = json_object();
    return write_member(object, key, value) ? GIVE(object) : NULL;
}

static json_t *police(int64_t limit_bps)
{
    int64_t burst = limit_bps / 8 * POLICE_BURST_MS / 1000;
    OWN(json) json_t *object = json_object();
    if (!write_member(object, "burst_bytes",
                      json_integer(burst < POLICE_BURST_MIN ? POLICE_BURST_MIN : burst)) ||
        !write_member(object, "police_bps", json_integer(limit_bps)))
        return NULL;
    return GIVE(object);
}

static void add_flower(struct compile *c, const struct site_job *job, bool hardware,
                       json_t *actions)
{
    char id[32];
    snprintf(id, sizeof(id), "%s/%u", hardware ? "ingress" : "egress",
             (unsigned)job->placement->label);
    compile_add(c, &(struct compile_knob){
                       .kind = "tc.flower",
                       .id = id,
                       .want = flower_to_json(job, hardware, actions),
                       .enforcement = hardware ? ENFORCEMENT_NIC : ENFORCEMENT_KERNEL,
                       .strict = hardware,
                       .job = job,
                   });
}

static void add_class(struct compile *c, const char *id, int64_t rate_bps, int64_t ceil_bps,
                      const struct site_job *job)
{
    OWN(json) json_t *object = json_object();
    const char *parent = strcmp(id, CLASS_PARENT) == 0 ? CLASS_ROOT : CLASS_PARENT;
    bool failed = !write_member(object, "ceil_bps", json_integer(ceil_bps)) ||
                  !write_member(object, "parent", json_string(parent)) ||
                  !write_member(object, "rate_bps", json_integer(rate_bps));
    compile_add(c, &(struct compile_knob){.kind = "tc.class",
                                          .id = id,
                                          .want = failed ? NULL : GIVE(object),
                                          .enforcement = ENFORCEMENT_KERNEL,
                                          .job = job});
}

static int64_t job_rate_bps(const struct site_job *job, int64_t port_bps)
{
    int64_t rate = bandwidth_on_port_bps(&job->job->guarantee, port_bps);
    return rate < RATE_FLOOR_BPS ? RATE_FLOOR_BPS : rate;
}

/* In fewer bits when more was promised than the port has, so that classes never add up to more. */
static int64_t fit(int64_t rate_bps, wide promised_bps, int64_t port_bps)
{
    if (promised_bps <= port_bps)
        return rate_bps;
    int64_t fitted = (int64_t)((wide)rate_bps * port_bps / promised_bps);
    return fitted < 1 ? 1 : fitted;
}

void compile_classifier(struct compile *c, const struct site_job *job, const char *id)
{
    bool policed = job->job->limit.kind != BANDWIDTH_NONE &&
                   c->view->fabric->limit_action == FABRIC_LIMIT_POLICE;
    OWN(json) json_t *actions = json_array();
    json_array_append_new(actions, action("class", json_string(id)));
    if (policed)
        json_array_append_new(
            actions, police(bandwidth_on_port_bps(&job->job->limit, c->site->port->speed_bps)));
    bool whole = json_array_size(actions) == (policed ? 2U : 1U);
    add_flower(c, job, false, whole ? GIVE(actions) : NULL);
}

static void add_job_class(struct compile *c, const struct site_job *job, int64_t rate_bps)
{
    char id[CLASS_TEXT_MAX];
    class_id(job, id);
    int64_t port_bps = c->site->port->speed_bps, ceil = port_bps;
    int64_t limit = bandwidth_on_port_bps(&job->job->limit, port_bps);
    bool limited = job->job->limit.kind != BANDWIDTH_NONE;
    bool policed = c->view->fabric->limit_action == FABRIC_LIMIT_POLICE;
    if (limited && !policed && limit < ceil)
        ceil = limit;
    if (rate_bps > ceil)
        rate_bps = ceil;
    add_class(c, id, rate_bps, ceil, job);
    compile_red(c, id, job);
    compile_classifier(c, job, id);
}

static bool label_fits(struct compile *c, const struct site_job *job)
{
    if (job->placement->label >= 1 && job->placement->label <= LABEL_MAX)
        return true;
    compile_leave_out(c, "label %u has no class; labels of the kernel's scheduler are 1 to %d",
                      (unsigned)job->placement->label, LABEL_MAX);
    return false;
}

/* The sum of what the classes of all jobs are promised. */
static wide promised(struct compile *c)
{
    wide sum = 0;
    for (size_t i = 0; i < c->site->job_count; i++)
        sum += job_rate_bps(&c->site->jobs[i], c->site->port->speed_bps);
    return sum;
}

/* True when filters were made. */
static bool compile_scheduler(struct compile *c)
{
    int64_t port_bps = c->site->port->speed_bps;
    struct bandwidth share = {.kind = BANDWIDTH_SHARE,
                              .share_permyriad = c->view->fabric->reserve_permyriad};
    int64_t reserve = bandwidth_on_port_bps(&share, port_bps);
    if (!site_kernel_shapes(c->site->port) || c->site->job_count == 0)
        return false;
    if (c->view->fabric->scheduler == FABRIC_SCHEDULER_ETS) {
        compile_bands(c);
        return true;
    }
    OWN(json) json_t *qdisc = json_object();
    bool failed = !write_member(qdisc, "default_class", json_string(CLASS_DEFAULT)) ||
                  !write_member(qdisc, "handle", json_string(CLASS_ROOT)) ||
                  !write_member(qdisc, "kind", json_string("htb"));
    compile_add(c, &(struct compile_knob){.kind = "tc.qdisc",
                                          .id = "root",
                                          .want = failed ? NULL : GIVE(qdisc),
                                          .enforcement = ENFORCEMENT_KERNEL});
    /* The default class keeps at least a floor; jobs without a guarantee take theirs from it. */
    wide sum = promised(c), rest = port_bps - sum;
    int64_t default_rate =
        rest < reserve ? (int64_t)(rest < RATE_FLOOR_BPS ? RATE_FLOOR_BPS : rest) : reserve;
    sum += default_rate;
    if (sum > port_bps)
        compile_leave_out(c, "more is guaranteed than the port has; all guarantees are reduced in "
                             "proportion");
    add_class(c, CLASS_PARENT, port_bps, port_bps, NULL);
    add_class(c, CLASS_DEFAULT, fit(default_rate, sum, port_bps), port_bps, NULL);
    for (size_t i = 0; i < c->site->job_count; i++) {
        const struct site_job *job = &c->site->jobs[i];
        if (label_fits(c, job))
            add_job_class(c, job, fit(job_rate_bps(job, port_bps), sum, port_bps));
    }
    return true;
}

static int compare_labels(const void *a, const void *b)
{
    const struct site_job *x = *(const struct site_job *const *)a;
    const struct site_job *y = *(const struct site_job *const *)b;
    return (x->placement->label > y->placement->label) -
           (x->placement->label < y->placement->label);
}

/* Entries in the NIC: oldest labels first, so that a newcomer never pushes out what works. */
static bool compile_flow_table(struct compile *c)
{
    const struct port_caps *caps = &c->site->port->caps;
    size_t count = c->site->job_count;
    if (!caps->flower_hw || count == 0)
        return false;
    OWN(mem) void *memory = malloc(count * sizeof(struct site_job *));
    const struct site_job **jobs = memory;
    if (jobs == NULL) {
        c->code = err_nomem(c->err);
        return false;
    }
    for (size_t i = 0; i < count; i++)
        jobs[i] = &c->site->jobs[i];
    qsort(jobs, count, sizeof(*jobs), compare_labels);
    if (caps->flower_hw_entries >= 0 && count > (size_t)caps->flower_hw_entries) {
        compile_leave_out(c, "its flow table holds %d entries; %zu of %zu are left out",
                          (int)caps->flower_hw_entries, count - (size_t)caps->flower_hw_entries,
                          count);
        count = (size_t)caps->flower_hw_entries;
    }
    for (size_t i = 0; i < count; i++) {
        OWN(json) json_t *actions = json_array();
        json_array_append_new(actions, action("priority", json_integer(jobs[i]->job->priority)));
        add_flower(c, jobs[i], true, json_array_size(actions) == 1 ? GIVE(actions) : NULL);
    }
    return count > 0;
}

void compile_tc(struct compile *c)
{
    bool scheduler = compile_scheduler(c);
    bool table = compile_flow_table(c);
    if (scheduler || table)
        compile_add(c, &(struct compile_knob){.kind = "tc.clsact",
                                              .want = json_true(),
                                              .enforcement = scheduler ? ENFORCEMENT_KERNEL
                                                                       : ENFORCEMENT_NIC});
}
