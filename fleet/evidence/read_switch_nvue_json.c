/*
 * fleet/evidence/read_switch_nvue_json.c - Cumulus Linux: nv show qos roce -o json. The facts are
 * those of the text (read_switch_nvue.c).
 */
#include <stdio.h>
#include <string.h>

#include "fleet/evidence/json_part.h"
#include "fleet/evidence/readers.h"
#include "fleet/evidence/ruled_table.h"
#include "fleet/evidence/rules_logs.h"

#define DEPTH_MAX 6

struct nvue {
    bool lossless, no_pfc;
    size_t line;
};

static bool begins(const struct evidence_job *job, size_t i)
{
    static const char *const keys[] = {"\"congestion-control\"", "\"pfc-priority\"",
                                       "\"lldp-app-tlv\"", "\"trust-mode\"", NULL};
    return json_part_begins(job, i, keys);
}

static void read_object(struct evidence_job *job, struct json_part *part, const char *path,
                        const json_t *object, struct nvue *n, int depth)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)object, key, value)
    {
        char word[48], name[EVIDENCE_NAME_MAX];
        size_t line = json_part_line(part, key);
        key_name(slice_of(key), word, sizeof(word));
        snprintf(name, sizeof(name), "%.45s%s%.45s", path, path[0] != '\0' ? "." : "", word);
        if (json_is_object(value) && depth < DEPTH_MAX) {
            read_object(job, part, name, value, n, depth + 1);
            continue;
        }
        const char *text = json_string_value(value);
        if (text != NULL)
            put_measure(job, line, name, slice_of(text));
        else
            json_part_put(job, line, name, value, "");
        if (text != NULL && strcmp(name, "mode") == 0)
            n->lossless = strcmp(text, "lossless") == 0;
        if (text != NULL &&
            (strcmp(name, "pfc.tx_enabled") == 0 || strcmp(name, "pfc.rx_enabled") == 0)) {
            n->no_pfc = n->no_pfc || strcmp(text, "disabled") == 0 || strcmp(text, "no") == 0;
            n->line = line;
        }
    }
}

static size_t read(struct evidence_job *job, size_t i)
{
    struct nvue n = {.line = i};
    struct json_part part;
    char port[48];
    json_part_read(job, i, &part);
    if (job_command_option(job, "interface", port, sizeof(port)))
        job_subject(job, "switch-port %s", port);
    else
        job_subject(job, "switch");
    if (json_is_object(part.root))
        read_object(job, &part, "", part.root, &n, 0);
    if (n.lossless && n.no_pfc)
        put_finding(job, n.line, RULE_PFC_OFF, "RoCE is lossless, PFC is disabled");
    json_part_release(&part);
    return part.next;
}

const struct evidence_reader reader_switch_nvue_json = {
    .kind = "switch-roce", .tool = "nv show -o json", .begins = begins, .read = read};
