/*
 * fleet/evidence/read_dcb_json.c - dcb -j. The tool's JSON has '_' where its text has '-'.
 */
#include <stdio.h>
#include <string.h>

#include "fleet/evidence/dcb_rows.h"
#include "fleet/evidence/readers.h"
#include "fleet/evidence/tool_json.h"

static const char *const keys[] = {
    "\"pfc_cap\"",
    "\"pfc-cap\"",
    "\"prio_pfc\"",
    "\"prio-pfc\"",
    "\"tc_bw\"",
    "\"tc-bw\"",
    "\"tc_tsa\"",
    "\"tc-tsa\"",
    "\"prio_tc\"",
    "\"prio-tc\"",
    "\"dscp_prio\"",
    "\"dscp-prio\"",
    "\"default_prio\"",
    "\"default-prio\"",
    "\"ets_cap\"",
    "\"ets-cap\"",
    "\"prio_buffer\"",
    "\"prio-buffer\"",
    "\"tc_maxrate\"",
    "\"tc-maxrate\"",
    "\"buffer_size\"",
    "\"buffer-size\"",
    NULL,
};

static bool begins(const struct evidence_job *job, size_t i)
{
    return tool_json_begins(job, i, NULL, keys);
}

/* true is "on" in the text; what is no number or text is left out. */
static void put_scalar(struct evidence_job *job, size_t line, const char *name, const json_t *value)
{
    if (json_is_boolean(value))
        put_text(job, line, name, slice_of(json_is_true(value) ? "on" : "off"));
    else
        json_part_put(job, line, name, value, strcmp(name, "tc-bw") == 0 ? "%" : "");
}

/* [10,0,0,90] by the place, [[26,3],[48,6]] by the first of each. */
static void put_array(struct evidence_job *job, size_t line, const char *name, const char *kind,
                      const json_t *array)
{
    char subject[EVIDENCE_SUBJECT_MAX], word[64];
    memcpy(subject, job->subject, sizeof(subject));
    for (size_t i = 0; i < json_array_size(array); i++) {
        const json_t *value = json_array_get(array, i), *first = json_array_get(value, 0);
        if (json_array_size(value) == 2) {
            tool_json_word(first, word, sizeof(word));
            value = json_array_get(value, 1);
        } else {
            snprintf(word, sizeof(word), "%zu", i);
        }
        if (word[0] == '\0')
            continue;
        job_subject(job, "%.100s %s %s", subject, kind, word);
        put_scalar(job, line, name, value);
    }
    memcpy(job->subject, subject, sizeof(subject));
}

static void read_object(struct evidence_job *job, struct json_part *part, const json_t *object)
{
    char netdev[64];
    const char *key;
    json_t *value;
    snprintf(netdev, sizeof(netdev), "%s", tool_json_text(object, "ifname"));
    if (netdev[0] != '\0' || job_netdev(job, "dev", netdev, sizeof(netdev)))
        job_subject(job, "netdev %s", netdev);
    else
        job_subject(job, "netdev");
    json_object_foreach((json_t *)object, key, value)
    {
        char name[EVIDENCE_NAME_MAX];
        size_t line = json_part_line(part, key);
        snprintf(name, sizeof(name), "%s", key);
        for (char *c = name; *c != '\0'; c++)
            *c = *c == '_' ? '-' : *c;
        const char *kind = dcb_row_part(slice_of(name));
        if (kind != NULL)
            put_array(job, line, name, kind, value);
        else if (json_is_array(value) && json_array_size(value) == 1) /* default_prio */
            put_scalar(job, line, name, json_array_get(value, 0));
        else if (strcmp(key, "ifname") != 0)
            put_scalar(job, line, name, value);
    }
}

static size_t read(struct evidence_job *job, size_t i)
{
    return tool_json_read(job, i, read_object);
}

const struct evidence_reader reader_dcb_json = {
    .kind = "dcb", .tool = "dcb -j", .begins = begins, .read = read};
