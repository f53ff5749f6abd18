/*
 * fleet/evidence/read_k8s.c - objects of Kubernetes as YAML: of NIC and SR-IOV operators, and the
 * table of firmware versions that one of them keeps in a ConfigMap.
 */
#include <stdio.h>
#include <string.h>

#include "fleet/evidence/json_part.h"
#include "fleet/evidence/manifest.h"
#include "fleet/evidence/readers.h"
#include "fleet/evidence/rules_logs.h"

#define PEEK_LINES    12
#define PATH_TEXT_MAX 512

static bool has_key(struct slice line, const char *key)
{
    return slice_skip(&line, key) && slice_starts(line, ": ");
}

/* kubectl -o json: YAML has JSON in it. */
static bool begins_json(const struct evidence_job *job, size_t i)
{
    static const char *const keys[] = {"\"apiVersion\"", "\"resourceList\"", NULL};
    return json_part_begins(job, i, keys);
}

/* "apiVersion:" and "kind:" at the same depth, in any order; comments may stand before them. */
static bool begins(const struct evidence_job *job, size_t i)
{
    struct slice line = job_line(job, i);
    bool version = has_key(line, "apiVersion"), kind = has_key(line, "kind");
    if (!version && !kind)
        return begins_json(job, i);
    for (size_t n = 1; n < PEEK_LINES && i + n < job->line_count; n++) {
        struct slice other = job_line(job, i + n);
        if (has_key(other, version ? "kind" : "apiVersion"))
            return job->lines[i].indent == job->lines[i + n].indent;
    }
    return false;
}

static void put_scalar(struct evidence_job *job, const char *path, const struct yaml_node *node)
{
    const char *dot = strrchr(path, '.');
    const char *key = dot != NULL ? dot + 1 : path;
    bool text = node->quoted || strstr(key, "ersion") != NULL || strcmp(key, "type") == 0 ||
                strcmp(key, "nicType") == 0 || strcmp(key, "deviceID") == 0 ||
                strcmp(key, "vendor") == 0 || strcmp(key, "name") == 0 || strcmp(key, "psid") == 0;
    if (!node->quoted &&
        (node->text[0] == '\0' || strcmp(node->text, "null") == 0 || strcmp(node->text, "~") == 0))
        put_unknown(job, node->line, path);
    else if (text)
        put_text(job, node->line, path, slice_of(node->text));
    else
        put_listed(job, node->line, path, slice_of(node->text), "");
}

static void put_node(struct evidence_job *job, const struct yaml_part *part, const char *path,
                     const struct yaml_node *node)
{
    size_t index = 0;
    if (node->kind == YAML_SCALAR && (node->block || path[0] == '\0'))
        return; /* texts of several lines (scripts, files); what has no name */
    if (node->kind == YAML_SCALAR) {
        put_scalar(job, path, node);
        return;
    }
    for (const struct yaml_node *n = yaml_child(part, node); n != NULL; n = yaml_next(part, n)) {
        char name[PATH_TEXT_MAX];
        const char *dot = path[0] != '\0' ? "." : "";
        if (node->kind == YAML_LIST)
            snprintf(name, sizeof(name), "%.400s%s%zu", path, dot, index++);
        else
            snprintf(name, sizeof(name), "%.200s%s%.250s", path, dot, n->key);
        put_node(job, part, name, n);
    }
}

/* "101b 25.01-0.6.0 20.43.2026": the device, the release of DOCA, the firmware. */
static void put_firmware(struct evidence_job *job, const struct yaml_part *part,
                         const struct yaml_node *data)
{
    for (const struct yaml_node *n = yaml_child(part, data); n != NULL; n = yaml_next(part, n)) {
        struct slice words[4];
        uint64_t device;
        if (n->kind != YAML_SCALAR || slice_words(slice_of(n->text), words, 4) != 3 ||
            words[0].len != 4 || !slice_hex(words[0], &device) || !slice_has(words[2], "."))
            continue;
        job_subject(job, "firmware-table device %.*s doca %.*s", (int)words[0].len, words[0].at,
                    (int)(words[1].len < 40 ? words[1].len : 40), words[1].at);
        put_text(job, n->line, "firmware", words[2]);
    }
}

static void read_object(struct evidence_job *job, struct yaml_part *part,
                        const struct yaml_node *root)
{
    const struct yaml_node *meta = yaml_get(part, root, "metadata");
    const char *kind = yaml_text(part, root, "kind"), *name = yaml_text(part, meta, "name");
    if (kind == NULL && yaml_get(part, root, "resourceList") != NULL) {
        job_subject(job, "device-plugin"); /* its configuration has no kind */
        put_node(job, part, "", root);
    }
    if (kind == NULL)
        return;
    if (name == NULL) { /* "generateName" is a template, not an object */
        job_subject(job, "document");
        put_finding(job, root->line, RULE_DOCUMENT_BROKEN, "the %.60s of line %zu has no name",
                    kind, root->line + 1);
        return;
    }
    job_subject(job, "%.60s %.110s", kind, name);
    put_node(job, part, "", root);
    part->root = root;
    manifest_judge(job, part, kind);
    if (strcmp(kind, "ConfigMap") == 0)
        put_firmware(job, part, yaml_get(part, root, "data"));
}

static void read_document(struct evidence_job *job, struct yaml_part *part)
{
    const struct yaml_node *items = yaml_get(part, part->nodes, "items");
    if (items == NULL || items->kind != YAML_LIST) {
        read_object(job, part, part->nodes);
        return;
    }
    for (const struct yaml_node *n = yaml_child(part, items); n != NULL; n = yaml_next(part, n))
        read_object(job, part, n);
}

static size_t read(struct evidence_job *job, size_t i)
{
    struct yaml_part part;
    yaml_part_read(job, i, &part);
    if (part.count > 0)
        read_document(job, &part);
    size_t next = part.next;
    yaml_part_release(&part);
    if (next < job->line_count && slice_is(job_line(job, next), "---"))
        next++;
    return next;
}

const struct evidence_reader reader_k8s = {
    .kind = "k8s", .tool = "Kubernetes", .begins = begins, .read = read};
