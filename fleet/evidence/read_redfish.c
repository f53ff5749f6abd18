/*
 * fleet/evidence/read_redfish.c - resources of a BMC (DMTF Redfish).
 *
 * Every scalar member becomes a fact under its path; members of the protocol ("@odata.type") and of
 * vendors ("Oem") are left out, as the standard wants it of readers that do not know them.
 */
#include <stdio.h>
#include <string.h>

#include "fleet/evidence/json_part.h"
#include "fleet/evidence/readers.h"
#include "fleet/evidence/rules.h"
#include "fleet/evidence/rules_logs.h"

#define DEPTH_MAX 8

static const char *const keys[] = {
    "\"@odata.id\"",   "\"@odata.type\"",           "\"@odata.context\"",
    "\"@odata.etag\"", "\"@Message.ExtendedInfo\"", NULL};

static bool begins(const struct evidence_job *job, size_t i)
{
    return json_part_begins(job, i, keys);
}

static bool is_left_out(const char *key)
{
    return (strchr(key, '@') != NULL && strcmp(key, "@Redfish.ActionInfo") != 0) ||
           strcmp(key, "Oem") == 0 || strcmp(key, "Links") == 0 || strcmp(key, "Members") == 0;
}

static void judge(struct evidence_job *job, size_t line, const char *path, const json_t *value)
{
    static const char *const failed[] = {"Exception", "Killed", "Cancelled", "Interrupted"};
    const char *text = json_string_value(value), *dot = strrchr(path, '.');
    const char *key = dot != NULL ? dot + 1 : path;
    if (text == NULL)
        return;
    char subject[EVIDENCE_SUBJECT_MAX];
    memcpy(subject, job->subject, sizeof(subject));
    if (dot != NULL)
        job_subject(job, "%.110s %.*s", subject, (int)(dot - path < 70 ? dot - path : 70), path);
    bool health = strcmp(key, "Health") == 0 || strcmp(key, "HealthRollup") == 0;
    if (health && strcmp(text, "OK") != 0)
        put_finding(job, line, RULE_BMC_HEALTH, "its health is %s", text);
    if (strcmp(path, "LinkStatus") == 0 &&
        (strcmp(text, "LinkDown") == 0 || strcmp(text, "NoLink") == 0))
        put_finding(job, line, RULE_PORT_DOWN, "The port's link status is %s", text);
    for (size_t i = 0; i < sizeof(failed) / sizeof(failed[0]); i++) {
        if (strcmp(key, "TaskState") == 0 && strcmp(text, failed[i]) == 0)
            put_finding(job, line, RULE_BMC_TASK, "its state is %s", text);
    }
    memcpy(job->subject, subject, sizeof(subject));
}

/* Counters that should be 0. */
static void judge_count(struct evidence_job *job, size_t line, const char *path,
                        const json_t *value)
{
    static const struct {
        const char *key, *rule;
        bool ever; /* one is too many, whenever it was */
    } counts[] = {
        {"RXFCSErrors", RULE_FCS_ERRORS, false},
        {"RXDiscards", RULE_RX_DISCARDS, false},
        {"TXDiscards", RULE_SEND_DISCARDS, false},
        {"FatalErrorCount", RULE_AER_FATAL, true},
        {"NonFatalErrorCount", RULE_AER_FATAL, true},
        {"CorrectableErrorCount", RULE_AER_CORRECTED, false},
        {"UncorrectableECCErrorCount", RULE_MEMORY_UE, true},
        {"CorrectableECCErrorCount", RULE_MEMORY_CE, false},
    };
    const char *dot = strrchr(path, '.'), *key = dot != NULL ? dot + 1 : path;
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        if (strcmp(key, counts[i].key) != 0 || json_integer_value(value) <= 0)
            continue;
        if (counts[i].ever)
            put_finding(job, line, counts[i].rule, "%s is %lld", path,
                        (long long)json_integer_value(value));
        else
            put_past(job, line, counts[i].rule, "%s is %lld", path,
                     (long long)json_integer_value(value));
    }
}

/* "PCIeType": "Gen3", "MaxPCIeType": "Gen4", "LanesInUse": 8, "MaxLanes": 16. */
static void judge_pcie(struct evidence_job *job, size_t line, const char *path,
                       const json_t *object)
{
    const char *type = json_string_value(json_object_get(object, "PCIeType"));
    const char *most = json_string_value(json_object_get(object, "MaxPCIeType"));
    json_int_t lanes = json_integer_value(json_object_get(object, "LanesInUse"));
    json_int_t all = json_integer_value(json_object_get(object, "MaxLanes"));
    bool slow = type != NULL && most != NULL && strncmp(type, "Gen", 3) == 0 &&
                strncmp(most, "Gen", 3) == 0 && strcmp(type, most) < 0;
    if (slow || (lanes > 0 && lanes < all))
        put_finding(
            job, line, RULE_PCIE_SLOW, "%s: the PCIe link runs at %s x%lld, it can %s x%lld", path,
            type != NULL ? type : "?", (long long)lanes, most != NULL ? most : "?", (long long)all);
}

/* An entry of a log is as bad as it says. */
static void judge_entry(struct evidence_job *job, size_t line, const json_t *root)
{
    const char *severity = json_string_value(json_object_get(root, "Severity"));
    const char *message = json_string_value(json_object_get(root, "Message"));
    if (severity != NULL && message != NULL && json_object_get(root, "EntryType") != NULL &&
        (strcmp(severity, "Critical") == 0 || strcmp(severity, "Warning") == 0))
        put_finding(job, line, RULE_BMC_HEALTH, "%s: %.200s", severity, message);
}

/* A sensor beyond its limit, whatever its health says. */
static void judge_reading(struct evidence_job *job, size_t line, const json_t *root)
{
    const json_t *reading = json_object_get(root, "Reading");
    const json_t *limits = json_object_get(root, "Thresholds");
    const json_t *high = json_object_get(json_object_get(limits, "UpperCritical"), "Reading");
    const json_t *low = json_object_get(json_object_get(limits, "LowerCritical"), "Reading");
    if (!json_is_number(reading))
        return;
    double value = json_number_value(reading);
    if ((json_is_number(high) && value >= json_number_value(high)) ||
        (json_is_number(low) && value <= json_number_value(low)))
        put_finding(job, line, RULE_BMC_HEALTH, "its reading %g is beyond its critical limit",
                    value);
}

/* "FTP,SFTP": an array of scalars as one text. */
static bool put_list(struct evidence_job *job, size_t line, const char *path, const json_t *array)
{
    char text[EVIDENCE_VALUE_MAX];
    size_t index, len = 0;
    const json_t *item;
    text[0] = '\0';
    json_array_foreach((json_t *)array, index, item)
    {
        const char *word = json_string_value(item);
        if (word == NULL)
            return false;
        int n = snprintf(text + len, sizeof(text) - len, "%s%s", index > 0 ? "," : "", word);
        if (n < 0 || (size_t)n >= sizeof(text) - len)
            break;
        len += (size_t)n;
    }
    put_text(job, line, path, slice_of(text));
    return true;
}

static void put_member(struct evidence_job *job, struct json_part *part, const char *path,
                       const json_t *value, size_t line, int depth);

static void put_object(struct evidence_job *job, struct json_part *part, const char *path,
                       const json_t *object, int depth)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)object, key, value)
    {
        char name[EVIDENCE_NAME_MAX];
        size_t line = json_part_line(part, key);
        if (is_left_out(key))
            continue;
        snprintf(name, sizeof(name), "%.60s%s%.34s", path, path[0] != '\0' ? "." : "", key);
        put_member(job, part, name, value, line, depth);
    }
}

/* "Parameters.ImageURI", "Fans.Fan1": an item by its name; else by its number. */
static void put_items(struct evidence_job *job, struct json_part *part, const char *path,
                      const json_t *array, int depth)
{
    static const char *const names[] = {"Name", "MemberId", "Id", "MessageId"};
    size_t index;
    json_t *item;
    json_array_foreach((json_t *)array, index, item)
    {
        char name[EVIDENCE_NAME_MAX];
        const char *word = NULL;
        for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && word == NULL; i++)
            word = json_string_value(json_object_get(item, names[i]));
        if (word != NULL)
            snprintf(name, sizeof(name), "%.50s.%.40s", path, word);
        else
            snprintf(name, sizeof(name), "%.70s.%zu", path, index);
        if (json_is_object(item))
            put_object(job, part, name, item, depth);
    }
}

static void put_member(struct evidence_job *job, struct json_part *part, const char *path,
                       const json_t *value, size_t line, int depth)
{
    if (depth >= DEPTH_MAX)
        return;
    if (json_is_object(value)) {
        judge_pcie(job, line, path, value);
        put_object(job, part, path, value, depth + 1);
    } else if (json_is_array(value)) {
        if (json_array_size(value) > 0 && json_is_string(json_array_get(value, 0)))
            (void)put_list(job, line, path, value);
        else
            put_items(job, part, path, value, depth + 1);
    } else if (strstr(path, "Version") != NULL || strstr(path, "Date") != NULL) {
        if (json_is_string(value) && json_string_value(value)[0] != '\0')
            put_text(job, line, path, slice_of(json_string_value(value)));
        else
            put_unknown(job, line, path);
    } else {
        json_part_put(job, line, path, value, "");
        judge(job, line, path, value);
        judge_count(job, line, path, value);
    }
}

/* Versions have prefixes ("P79 v1.45") and suffixes: the first number that differs decides.
 * -1, 0, 1 in *out; false when they do not differ in a number. */
static bool compare_versions(const char *a, const char *b, int *out)
{
    size_t same = 0;
    while (a[same] != '\0' && a[same] == b[same])
        same++;
    while (same > 0 && a[same - 1] >= '0' && a[same - 1] <= '9')
        same--;
    struct slice left = slice_of(a + same), right = slice_of(b + same);
    uint64_t x, y;
    size_t n = strspn(left.at, "0123456789"), m = strspn(right.at, "0123456789");
    if (left.len == 0 && right.len == 0) {
        *out = 0;
        return true;
    }
    left.len = n;
    right.len = m;
    if (!slice_uint(left, &x) || !slice_uint(right, &y))
        return false;
    *out = x < y ? -1 : x > y ? 1 : 0;
    return x != y;
}

static void judge_version(struct evidence_job *job, size_t line, const json_t *root)
{
    const char *version = json_string_value(json_object_get(root, "Version"));
    const char *lowest = json_string_value(json_object_get(root, "LowestSupportedVersion"));
    int order;
    if (version == NULL || lowest == NULL)
        return;
    if (!compare_versions(version, lowest, &order)) {
        put_unknown(job, line, "version_supported");
        return;
    }
    put_text(job, line, "version_supported", slice_of(order >= 0 ? "true" : "false"));
    if (order < 0)
        put_finding(job, line, RULE_BMC_VERSION, "version %s is below %s", version, lowest);
}

static void judge_members(struct evidence_job *job, size_t line, const json_t *root)
{
    const json_t *members = json_object_get(root, "Members");
    const json_t *count = json_object_get(root, "Members@odata.count");
    if (!json_is_array(members))
        return;
    put_uint(job, line, "members", json_array_size(members), "");
    if (!json_is_integer(count))
        return;
    json_part_put(job, line, "members_count", count, "");
    bool more = json_object_get(root, "Members@odata.nextLink") != NULL;
    json_int_t there = (json_int_t)json_array_size(members);
    if (there > json_integer_value(count) || (there < json_integer_value(count) && !more))
        put_finding(job, line, RULE_BMC_COUNT, "it says %lld members and has %lld",
                    (long long)json_integer_value(count), (long long)there);
}

/* "error": {"code": ..., "message": ..., "@Message.ExtendedInfo": [{"Message": ...}]}: the first
 * message of the list says more than the code. */
static void judge_error(struct evidence_job *job, size_t line, const json_t *root)
{
    const json_t *error = json_object_get(root, "error");
    const json_t *info = json_object_get(error, "@Message.ExtendedInfo");
    const char *more = json_string_value(json_object_get(json_array_get(info, 0), "Message"));
    const char *text = json_string_value(json_object_get(error, "message"));
    text = more != NULL ? more : text;
    if (text != NULL)
        put_finding(job, line, RULE_TOOL_FAILED, "the BMC answered: %.200s", text);
}

static void read_resource(struct evidence_job *job, struct json_part *part, const json_t *root)
{
    const char *id = json_string_value(json_object_get(root, "@odata.id"));
    if (id == NULL)
        id = json_string_value(json_object_get(root, "Id"));
    job_subject(job, "bmc %s", id != NULL ? id : "resource");
    judge_members(job, part->first, root);
    judge_error(job, part->first, root);
    put_object(job, part, "", root, 0);
    judge_version(job, part->first, root);
    judge_entry(job, part->first, root);
    judge_reading(job, part->first, root);
    const json_t *members = json_object_get(root, "Members");
    size_t index;
    json_t *member; /* expanded ones ($expand) have more than their address */
    json_array_foreach((json_t *)members, index, member)
    {
        if (json_object_size(member) > 1)
            read_resource(job, part, member);
    }
}

static size_t read(struct evidence_job *job, size_t i)
{
    struct json_part part;
    json_part_read(job, i, &part);
    if (json_is_object(part.root)) {
        const char *start = part.cursor;
        read_resource(job, &part, part.root);
        part.cursor = start;
    }
    json_part_release(&part);
    return part.next;
}

const struct evidence_reader reader_redfish = {
    .kind = "redfish", .tool = "Redfish", .begins = begins, .read = read};
