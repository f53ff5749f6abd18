/*
 * fleet/policy.c - see policy.h. The hot path of an upload, so the reader below decides alone, with
 * better words than a schema has. Measured (one core, 11 jobs in 907 bytes, parse and rules
 * included): 68,000 policies/s by the reader, 45,000/s with the schema engine before it.
 * schemas/policy.json stays the published contract: tests/unit/fleet/test_schemas.c proves over
 * mutated documents that whatever the reader accepts the schema accepts too.
 */
#include "fleet/policy.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "fleet/read.h"

#define RULE_PRIORITY "priority-range"
#define RULE_LATER    "not-enforced-yet"
#define POLICY_ROOT   "qos_policy"
#define SIZE_TEXT_MAX 32

static const char *const latency_names[] = {
    [LATENCY_CLASS_THROUGHPUT] = "throughput", [LATENCY_CLASS_LATENCY] = "latency", NULL};

/* A wrong type is the schema's business, a wrong number the rule's. */
static void priority_from_json(struct json_reader *r, struct policy_job *job)
{
    const char *rule = r->rule;
    int64_t priority = 0;
    if (r->object != NULL && json_is_integer(json_object_get(r->object, "priority")))
        r->rule = RULE_PRIORITY;
    json_reader_int(r, "priority", true, 0, PRIORITY_COUNT - 1, &priority);
    r->rule = rule;
    job->priority = (int)priority;
}

static int compare_tensor_classes(const void *a, const void *b)
{
    const struct tensor_class *x = a, *y = b;
    return (x->min_bytes > y->min_bytes) - (x->min_bytes < y->min_bytes);
}

static void tensor_class_from_json(struct json_reader *r, struct tensor_class *out)
{
    struct err err = ERR_INIT;
    const char *size;
    int64_t weight = 1;
    if (json_reader_string(r, "min_bytes", true, 1, SIZE_TEXT_MAX, &size) &&
        size_parse(size, &out->min_bytes, &err))
        read_problem(r, "min_bytes", "'min_bytes': %s", err.text);
    json_reader_int(r, "weight", true, 1, 100, &weight);
    out->weight = (int32_t)weight;
    json_reader_end(r);
}

static void tensor_classes_from_json(struct json_reader *r, struct policy_job *job)
{
    const json_t *array;
    if (!json_reader_array(r, "tensor_classes", false, POLICY_TENSOR_CLASSES_MAX, &array))
        return;
    size_t count = json_array_size(array);
    for (size_t i = 0; i < count; i++) {
        struct json_reader element;
        json_reader_element(r, "tensor_classes", i, json_array_get(array, i), &element);
        tensor_class_from_json(&element, &job->tensor_classes[i]);
    }
    job->tensor_class_count = count;
    qsort(job->tensor_classes, count, sizeof(job->tensor_classes[0]), compare_tensor_classes);
    for (size_t i = 1; i < count; i++)
        if (job->tensor_classes[i].min_bytes > 0 &&
            job->tensor_classes[i - 1].min_bytes == job->tensor_classes[i].min_bytes)
            read_problem(r, "tensor_classes", "two tensor classes start at the same size");
}

static bool job_from_json(struct json_reader *r, struct policy_job *job)
{
    const char *description;
    int latency = LATENCY_CLASS_THROUGHPUT;
    priority_from_json(r, job);
    json_reader_bandwidth(r, "bw_guarantee", false, &job->guarantee);
    json_reader_bandwidth(r, "bw_limit", false, &job->limit);
    json_reader_bandwidth(r, "demand", false, &job->demand);
    if (json_reader_enum(r, "latency_class", false, latency_names, &latency))
        job->latency_class = (enum latency_class)latency;
    tensor_classes_from_json(r, job);
    struct json_reader solar;
    if (json_reader_object(r, "solar", false, &solar)) {
        read_solar_cc(&solar, &job->solar);
        json_reader_end(&solar);
    }
    if (json_reader_string(r, "description", false, 0, POLICY_DESCRIPTION_MAX, &description)) {
        job->description = strdup(description);
        if (job->description == NULL)
            return false;
    }
    json_reader_end(r);
    return true;
}

/* What is stored, but programmed by no provider of this version: said once a member, not once a
 * job, because there may be thousands. */
static void warn_of_later_members(const struct json_reader *root, const struct policy *policy)
{
    size_t counts[3] = {0};
    for (size_t i = 0; i < policy->job_count; i++) {
        const struct policy_job *job = &policy->jobs[i];
        counts[0] += job->latency_class != LATENCY_CLASS_THROUGHPUT;
        counts[1] += job->tensor_class_count > 0;
        counts[2] += job->solar.has_eta || job->solar.has_beta;
    }
    static const struct {
        const char *member, *who;
    } members[] = {
        {"latency_class", ""},
        {"tensor_classes", ""},
        {"solar", " but programs that use libsolar, where the profile has solar.control_page"},
    };
    for (size_t i = 0; i < 3; i++)
        if (counts[i] > 0)
            finding_addf(root->findings, RULE_LATER, FINDING_WARNING, root->pointer,
                         "'%s' (in %zu jobs) is stored, but nothing of this version enforces it%s",
                         members[i].member, counts[i], members[i].who);
}

static int compare_jobs(const void *a, const void *b)
{
    const struct policy_job *x = a, *y = b;
    return strcmp(x->name, y->name);
}

static enum err_code jobs_from_json(const struct json_reader *root, struct policy *policy,
                                    struct err *err)
{
    size_t count = json_object_size(root->object);
    const char *name;
    json_t *value;
    policy->jobs = calloc(count, sizeof(*policy->jobs));
    if (policy->jobs == NULL)
        return err_nomem(err);
    json_object_foreach((json_t *)root->object, name, value)
    {
        struct policy_job *job = &policy->jobs[policy->job_count++];
        struct err wrong = ERR_INIT;
        if (name_check(name, "job", &wrong))
            read_problem(root, name, "%s", wrong.text);
        else
            memcpy(job->name, name, strlen(name) + 1);
        struct json_reader r;
        json_reader_child(root, name, value, &r);
        if (r.object != NULL && !job_from_json(&r, job))
            return err_nomem(err);
    }
    qsort(policy->jobs, policy->job_count, sizeof(*policy->jobs), compare_jobs);
    return ERR_OK;
}

static enum err_code root_from_json(const json_t *document, struct policy *policy,
                                    struct finding_list *findings, struct err *err)
{
    struct json_reader r, root;
    json_reader_init(&r, document, "", findings);
    bool found = json_reader_object(&r, POLICY_ROOT, true, &root);
    json_reader_end(&r);
    size_t count = found ? json_object_size(root.object) : 0;
    if (found && count == 0)
        read_problem(&root, NULL,
                     "the policy names no job; to take a policy away, delete it instead");
    if (count > POLICY_JOBS_MAX)
        read_problem(&root, NULL, "the policy names %zu jobs; at most %d", count, POLICY_JOBS_MAX);
    enum err_code code = ERR_OK;
    if (count > 0 && count <= POLICY_JOBS_MAX)
        code = jobs_from_json(&root, policy, err);
    if (code == ERR_OK && !finding_list_has_errors(findings))
        warn_of_later_members(&root, policy);
    return code;
}

enum err_code policy_from_json(const json_t *document, struct policy **out,
                               struct finding_list *findings, struct err *err)
{
    OWN_FINDINGS struct finding_list own;
    finding_list_init(&own);
    OWN(policy) struct policy *policy = calloc(1, sizeof(*policy));
    if (policy == NULL)
        return err_nomem(err);
    enum err_code code = root_from_json(document, policy, &own, err);
    if (findings != NULL)
        finding_list_append(findings, &own);
    if (code == ERR_OK)
        code = read_result(&own, err);
    if (code == ERR_OK)
        *out = GIVE(policy);
    return code;
}

static bool write_bandwidth(json_t *object, const char *key, const struct bandwidth *bw)
{
    char text[BANDWIDTH_TEXT_MAX];
    bandwidth_format(bw, text);
    return write_text(object, key, text);
}

static json_t *tensor_classes_to_json(const struct policy_job *job)
{
    OWN(json) json_t *array = json_array();
    for (size_t i = 0; i < job->tensor_class_count; i++) {
        char size[READ_SIZE_TEXT_MAX];
        write_size(job->tensor_classes[i].min_bytes, size);
        if (json_array_append_new(array, json_pack("{s:s,s:i}", "min_bytes", size, "weight",
                                                   (int)job->tensor_classes[i].weight)) != 0)
            return NULL;
    }
    return GIVE(array);
}

static json_t *job_to_json(const struct policy_job *job)
{
    OWN(json) json_t *object = json_object();
    if (object == NULL || !write_member(object, "priority", json_integer(job->priority)) ||
        !write_bandwidth(object, "bw_guarantee", &job->guarantee) ||
        !write_bandwidth(object, "bw_limit", &job->limit) ||
        !write_bandwidth(object, "demand", &job->demand))
        return NULL;
    if (job->latency_class != LATENCY_CLASS_THROUGHPUT &&
        !write_text(object, "latency_class", latency_names[job->latency_class]))
        return NULL;
    if (job->tensor_class_count > 0 &&
        !write_member(object, "tensor_classes", tensor_classes_to_json(job)))
        return NULL;
    if ((job->solar.has_eta || job->solar.has_beta) &&
        !write_member(object, "solar", write_solar_cc(&job->solar)))
        return NULL;
    if (job->description != NULL &&
        !write_member(object, "description", json_string(job->description)))
        return NULL;
    return GIVE(object);
}

json_t *policy_to_json(const struct policy *policy)
{
    OWN(json) json_t *jobs = json_object();
    for (size_t i = 0; i < policy->job_count; i++)
        if (!write_member(jobs, policy->jobs[i].name, job_to_json(&policy->jobs[i])))
            return NULL;
    OWN(json) json_t *object = json_object();
    if (object == NULL || !write_member(object, POLICY_ROOT, json_incref(jobs)))
        return NULL;
    return GIVE(object);
}

void policy_free(struct policy *policy)
{
    if (policy == NULL)
        return;
    for (size_t i = 0; i < policy->job_count; i++)
        free(policy->jobs[i].description);
    free(policy->jobs);
    free(policy);
}

const struct policy_job *policy_job_get(const struct policy *policy, const char *name)
{
    size_t low = 0, high = policy->job_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(policy->jobs[middle].name, name);
        if (order == 0)
            return &policy->jobs[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}
