/*
 * server/archive.c - see archive.h. Each item is read as an upload of it would be; what fits
 * together is judged later, on the writer thread.
 */
#include "server/archive.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "db/tables.h"
#include "fleet/read.h"
#include "fleet/rollout_policy.h"
#include "fleet/switch.h"
#include "server/world.h"

#define SUBJECT_MAX (3 * NAME_SIZE)

static const char *const part_names[ARCHIVE_KINDS] = {
    "fabric", "rollout_policy", "tenants", "placements", "nodes", "switches", "retired_labels"};

static bool is_list(enum archive_kind kind)
{
    return kind >= ARCHIVE_TENANTS;
}

static size_t part_size(const struct archive *archive, enum archive_kind kind)
{
    const json_t *part = archive->parts[kind];
    return is_list(kind) ? json_array_size(part) : part != NULL;
}

static void check_digest(struct archive *archive, const json_t *content, const char *digest,
                         struct json_reader *r)
{
    struct err err = ERR_INIT;
    if (json_digest(content, archive->digest, &err) != ERR_OK)
        r->findings->nomem = true;
    else if (digest != NULL && strcmp(digest, archive->digest) != 0)
        read_problem(r, "digest",
                     "the content has the digest %s: it was changed or damaged; leave the digest "
                     "out if you changed it",
                     archive->digest);
}

enum err_code archive_open(const json_t *document, struct archive *out,
                           struct finding_list *findings, struct err *err)
{
    static const char *const formats[] = {ARCHIVE_FORMAT, NULL};
    struct json_reader r, content;
    const char *digest = NULL, *unused;
    int format;
    int64_t version;
    *out = (struct archive){.seen = json_object()};
    if (out->seen == NULL)
        return err_nomem(err);
    json_reader_init(&r, document, "", findings);
    json_reader_enum(&r, "format", true, formats, &format);
    json_reader_int(&r, "version", true, ARCHIVE_VERSION, ARCHIVE_VERSION, &version);
    json_reader_string(&r, "stellar", false, 0, NAME_MAX_LEN, &unused);
    json_reader_string(&r, "created", false, 0, NAME_MAX_LEN, &unused);
    json_reader_string(&r, "digest", false, 1, DIGEST_TEXT_MAX, &digest);
    if (json_reader_object(&r, "content", true, &content)) {
        for (enum archive_kind kind = ARCHIVE_FABRIC; !is_list(kind); kind++)
            json_reader_any(&content, part_names[kind], false, &out->parts[kind]);
        for (enum archive_kind kind = ARCHIVE_TENANTS; kind < ARCHIVE_KINDS; kind++)
            json_reader_array(&content, part_names[kind], false, ARCHIVE_ITEMS_MAX,
                              &out->parts[kind]);
        json_reader_end(&content);
        check_digest(out, content.object, digest, &r);
    }
    json_reader_end(&r);
    for (enum archive_kind kind = ARCHIVE_FABRIC; kind < ARCHIVE_KINDS; kind++)
        out->total += part_size(out, kind);
    return read_result(findings, err);
}

void archive_release(struct archive *archive)
{
    json_decref(archive->seen);
    archive->seen = NULL;
}

const json_t *archive_item(const struct archive *archive, size_t index, enum archive_kind *out_kind,
                           size_t *out_at)
{
    for (enum archive_kind kind = ARCHIVE_FABRIC; kind < ARCHIVE_KINDS; kind++) {
        size_t size = part_size(archive, kind);
        if (index < size) {
            *out_kind = kind;
            *out_at = index;
            return is_list(kind) ? json_array_get(archive->parts[kind], index)
                                 : archive->parts[kind];
        }
        index -= size;
    }
    return NULL;
}

/* Adds what a document's reader found, with the document's place before its pointers. */
static void add_findings(struct finding_list *to, const struct finding_list *from,
                         const char *place)
{
    char pointer[ERR_POINTER_MAX];
    for (size_t i = 0; i < from->count; i++) {
        struct finding finding = from->items[i];
        snprintf(pointer, sizeof(pointer), "%.120s%.120s", place,
                 finding.pointer == NULL ? "" : finding.pointer);
        finding.pointer = pointer;
        finding_add(to, &finding);
    }
    to->truncated |= from->truncated;
    to->nomem |= from->nomem;
}

/* One thing that the item holds. */
struct part {
    struct archive *archive;
    struct json_reader *r;
    const char *name, *tenant, *job;
};

static void see(const struct part *part, const char *subject)
{
    if (json_object_get(part->archive->seen, subject) != NULL)
        read_problem(part->r, NULL, "%s stands twice in the archive", subject);
    else if (json_object_set_new(part->archive->seen, subject, json_true()) != 0)
        part->r->findings->nomem = true;
}

static const char *borrow_name(struct json_reader *r, const char *key)
{
    const char *name = NULL;
    struct err err = ERR_INIT;
    if (!json_reader_string(r, key, true, 1, NAME_MAX_LEN, &name))
        return NULL;
    if (name_check(name, key, &err) == ERR_OK)
        return name;
    read_problem(r, key, "%s", err.text);
    return NULL;
}

/* Reads the member `key` by the reader of its kind; a failure beside findings is no memory. */
static void read_document(const struct part *part, const char *key, bool required,
                          enum err_code (*read)(const struct part *part, const json_t *document,
                                                struct finding_list *findings, struct err *err))
{
    OWN_FINDINGS struct finding_list own;
    const json_t *document;
    char pointer[ERR_POINTER_MAX];
    struct err err = ERR_INIT;
    finding_list_init(&own);
    if (!json_reader_any(part->r, key, required, &document))
        return;
    json_reader_pointer(part->r, key, pointer);
    enum err_code code = read(part, document, &own, &err);
    if (code != ERR_OK && !finding_list_has_errors(&own))
        part->r->findings->nomem |= code == ERR_NOMEM;
    add_findings(part->r->findings, &own, pointer);
}

static enum err_code read_tenant(const struct part *part, const json_t *document,
                                 struct finding_list *findings, struct err *err)
{
    struct tenant_quota quota;
    return tenant_document_read(document, part->name, &quota, findings, err);
}

static enum err_code read_policy(const struct part *part, const json_t *document,
                                 struct finding_list *findings, struct err *err)
{
    (void)part;
    struct policy *policy = NULL;
    enum err_code code = policy_from_json(document, &policy, findings, err);
    policy_free(policy);
    return code;
}

static enum err_code read_node(const struct part *part, const json_t *document,
                               struct finding_list *findings, struct err *err)
{
    struct node_document node = {.text = NULL};
    enum err_code code = node_document_read(document, part->name, &node, findings, err);
    node_document_release(&node);
    return code;
}

static enum err_code read_placement(const struct part *part, const json_t *document,
                                    struct finding_list *findings, struct err *err)
{
    struct placement *placement = NULL;
    enum err_code code =
        placement_from_json(document, part->tenant, part->job, 0, &placement, findings, err);
    placement_free(placement);
    return code;
}

static enum err_code read_switch(const struct part *part, const json_t *document,
                                 struct finding_list *findings, struct err *err)
{
    struct switch_info info;
    return switch_from_json(document, "", part->name, &info, findings, err);
}

/* The member "name"; the thing is KIND/NAME. */
static void check_name(struct part *part, const char *kind)
{
    char subject[SUBJECT_MAX];
    part->name = borrow_name(part->r, "name");
    if (part->name == NULL)
        return;
    snprintf(subject, sizeof(subject), "%s/%s", kind, part->name);
    see(part, subject);
}

static void check_tenant(struct part *part)
{
    check_name(part, "tenant");
    read_document(part, "tenant", true, read_tenant);
    read_document(part, "policy", false, read_policy);
}

static void check_node(struct part *part)
{
    check_name(part, "node");
    read_document(part, "node", true, read_node);
}

static void check_switch(struct part *part)
{
    check_name(part, "switch");
    read_document(part, "switch", true, read_switch);
}

static void check_label(struct part *part)
{
    char subject[SUBJECT_MAX];
    int64_t label;
    part->tenant = borrow_name(part->r, "tenant");
    part->job = borrow_name(part->r, "job");
    if (json_reader_int(part->r, "label", true, 1, DB_LABEL_MAX, &label)) {
        snprintf(subject, sizeof(subject), "label %lld", (long long)label);
        see(part, subject);
    }
    if (part->tenant != NULL && part->job != NULL) {
        snprintf(subject, sizeof(subject), "tenant/%s/job/%s", part->tenant, part->job);
        see(part, subject);
    }
}

static void check_placement(struct part *part)
{
    check_label(part);
    if (part->tenant != NULL && part->job != NULL)
        read_document(part, "placement", true, read_placement);
}

/* The profile keeps its document: a copy, since the archive is another thread's in the end. */
static enum err_code read_fabric(const json_t *document, struct finding_list *findings,
                                 struct err *err)
{
    struct fabric *fabric = NULL;
    OWN(json) json_t *copy = json_deep_copy(document);
    enum err_code code =
        copy == NULL ? err_nomem(err) : fabric_from_json(copy, &fabric, findings, err);
    fabric_free(fabric);
    return code;
}

static enum err_code read_rollout_policy(const json_t *document, struct finding_list *findings,
                                         struct err *err)
{
    struct rollout_policy policy;
    rollout_policy_init(&policy);
    enum err_code code = rollout_policy_from_json(document, &policy, findings, err);
    rollout_policy_release(&policy);
    return code;
}

/* A part that is one document. */
static void check_single(enum archive_kind kind, const json_t *document,
                         struct finding_list *findings)
{
    OWN_FINDINGS struct finding_list own;
    struct err err = ERR_INIT;
    char place[64];
    finding_list_init(&own);
    snprintf(place, sizeof(place), "/content/%s", part_names[kind]);
    enum err_code code = kind == ARCHIVE_FABRIC ? read_fabric(document, &own, &err)
                                                : read_rollout_policy(document, &own, &err);
    if (code != ERR_OK && !finding_list_has_errors(&own))
        findings->nomem = true;
    add_findings(findings, &own, place);
}

enum err_code archive_check(struct archive *archive, size_t first, size_t count,
                            struct finding_list *findings, struct err *err)
{
    static void (*const checks[ARCHIVE_KINDS])(struct part *) = {
        [ARCHIVE_TENANTS] = check_tenant,       [ARCHIVE_PLACEMENTS] = check_placement,
        [ARCHIVE_NODES] = check_node,           [ARCHIVE_SWITCHES] = check_switch,
        [ARCHIVE_RETIRED_LABELS] = check_label,
    };
    for (size_t i = first; i < first + count && i < archive->total; i++) {
        enum archive_kind kind;
        size_t at;
        char place[64];
        struct json_reader r;
        const json_t *item = archive_item(archive, i, &kind, &at);
        if (checks[kind] == NULL) {
            check_single(kind, item, findings);
            continue;
        }
        snprintf(place, sizeof(place), "/content/%s/%zu", part_names[kind], at);
        json_reader_init(&r, item, place, findings);
        struct part part = {.archive = archive, .r = &r};
        checks[kind](&part);
        json_reader_end(&r);
    }
    return findings->nomem ? err_nomem(err) : ERR_OK;
}
