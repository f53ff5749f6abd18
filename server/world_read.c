/*
 * server/world_read.c - the documents that only the server has (tenant, node), and what the world
 * keeps of those that fleet/ reads. Any thread; no state.
 */
#include "server/world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "db/tables.h"
#include "fleet/read.h"
#include "server/tls_names.h"

#define DESCRIPTION_MAX     1024
#define METRICS_ADDRESS_MAX 260 /* a name of 253, a colon, a port */

/* Ends a reading: the findings to the caller, the first error as err. */
static enum err_code finish(struct finding_list *own, struct finding_list *findings,
                            struct err *err)
{
    enum err_code code = read_result(own, err);
    if (findings != NULL)
        finding_list_append(findings, own);
    return code;
}

/* A document may name its thing; it cannot rename it. */
static void keep_name(struct json_reader *r, const char *name)
{
    const char *named;
    if (json_reader_string(r, "name", false, 1, NAME_MAX_LEN, &named) && name != NULL &&
        strcmp(named, name) != 0)
        read_problem(r, "name", "the address says '%s'; a name cannot be changed", name);
}

enum err_code tenant_document_read(const json_t *document, const char *name,
                                   struct tenant_quota *out_quota, struct finding_list *findings,
                                   struct err *err)
{
    OWN_FINDINGS struct finding_list own;
    finding_list_init(&own);
    struct json_reader r, quota;
    const char *description;
    int64_t jobs = 0, labels = 0;
    struct bandwidth share = {.kind = BANDWIDTH_NONE};
    json_reader_init(&r, document, "", &own);
    keep_name(&r, name);
    json_reader_string(&r, "description", false, 0, DESCRIPTION_MAX, &description);
    if (json_reader_object(&r, "quota", false, &quota)) {
        json_reader_int(&quota, "jobs_max", false, 1, POLICY_JOBS_MAX, &jobs);
        json_reader_int(&quota, "labels_max", false, 1, DB_LABEL_MAX, &labels);
        if (json_reader_bandwidth(&quota, "guarantee_max", false, &share) &&
            share.kind != BANDWIDTH_SHARE)
            read_problem(&quota, "guarantee_max", "a quota is a share of a port, such as \"50%%\"");
        json_reader_end(&quota);
    }
    json_reader_end(&r);
    enum err_code code = finish(&own, findings, err);
    if (code == ERR_OK)
        *out_quota = (struct tenant_quota){.jobs_max = (int32_t)jobs,
                                           .labels_max = (int32_t)labels,
                                           .guarantee_permyriad_max = share.share_permyriad};
    return code;
}

static int compare_labels(const void *a, const void *b)
{
    return strcmp(((const struct label_pair *)a)->key, ((const struct label_pair *)b)->key);
}

static void read_label(struct json_reader *r, const char *key, const json_t *value,
                       struct label_pair *out)
{
    struct err err = ERR_INIT;
    if (name_check(key, "label", &err) != ERR_OK)
        read_problem(r, key, "%s", err.text);
    else if (!json_is_string(value))
        read_problem(r, key, "a label's value is a text");
    else if (json_string_length(value) > 0 &&
             name_check(json_string_value(value), "label's value", &err) != ERR_OK)
        read_problem(r, key, "%s", err.text);
    else {
        snprintf(out->key, sizeof(out->key), "%s", key);
        snprintf(out->value, sizeof(out->value), "%s", json_string_value(value));
    }
}

static enum err_code read_labels(struct json_reader *r, const json_t *object,
                                 struct node_document *out, struct err *err)
{
    size_t count = json_object_size(object), at = 0;
    const char *key;
    json_t *value;
    if (count > LABELS_MAX) {
        read_problem(r, NULL, "a node has at most %d labels", LABELS_MAX);
        return ERR_OK;
    }
    if (count == 0)
        return ERR_OK;
    out->labels = calloc(count, sizeof(*out->labels));
    if (out->labels == NULL)
        return err_nomem(err);
    out->label_count = count;
    json_object_foreach((json_t *)object, key, value) read_label(r, key, value, &out->labels[at++]);
    qsort(out->labels, count, sizeof(*out->labels), compare_labels);
    return ERR_OK;
}

/* Where the node's metrics are served, for GET /v1/http-sd: "10.0.0.7:9100", "[fd00::7]:9100". */
static void read_metrics_address(struct json_reader *r)
{
    const char *text;
    char host[METRICS_ADDRESS_MAX + 1], *end = NULL;
    struct err err = ERR_INIT;
    if (!json_reader_string(r, "metrics_address", false, 1, METRICS_ADDRESS_MAX, &text))
        return;
    const char *colon = strrchr(text, ':');
    size_t len = colon == NULL ? 0 : (size_t)(colon - text);
    bool bracketed = len > 2 && text[0] == '[' && text[len - 1] == ']';
    snprintf(host, sizeof(host), "%.*s", (int)(bracketed ? len - 2 : len), text + bracketed);
    long port =
        colon != NULL && colon[1] >= '1' && colon[1] <= '9' ? strtol(colon + 1, &end, 10) : 0;
    if (port < 1 || port > 65535 || *end != '\0' || bracketed != (strchr(host, ':') != NULL) ||
        tls_name_check(host, &err) != ERR_OK)
        read_problem(r, "metrics_address",
                     "a host or its address, and a port: \"10.0.0.7:9100\", \"[fd00::7]:9100\"");
}

enum err_code node_document_read(const json_t *document, const char *name,
                                 struct node_document *out, struct finding_list *findings,
                                 struct err *err)
{
    OWN_FINDINGS struct finding_list own;
    finding_list_init(&own);
    struct json_reader r, labels;
    struct node_document read = {0};
    const char *description;
    enum err_code code = ERR_OK;
    json_reader_init(&r, document, "", &own);
    keep_name(&r, name);
    json_reader_string(&r, "description", false, 0, DESCRIPTION_MAX, &description);
    read_metrics_address(&r);
    if (json_reader_object(&r, "labels", false, &labels))
        code = read_labels(&labels, labels.object, &read, err);
    json_reader_end(&r);
    if (code == ERR_OK)
        code = finish(&own, findings, err);
    if (code == ERR_OK && (read.text = json_canonical(document, NULL)) == NULL)
        code = err_nomem(err);
    if (code == ERR_OK)
        *out = read;
    else
        node_document_release(&read);
    return code;
}

void receipt_note_of(const struct receipt *receipt, const char *body_digest,
                     struct receipt_note *out)
{
    *out = (struct receipt_note){.generation = receipt->generation,
                                 .time_us = receipt->time_us,
                                 .result = receipt->result,
                                 .gap = receipt->gap,
                                 .gap_ms = receipt->gap_ms};
    snprintf(out->digest, sizeof(out->digest), "%s", receipt->digest);
    snprintf(out->observed, sizeof(out->observed), "%s", receipt->observed);
    snprintf(out->body_digest, sizeof(out->body_digest), "%s", body_digest);
    text_copy(out->problem, sizeof(out->problem), receipt->problem);
    if (receipt->rollout[0] != '\0' && !rollout_id_parse(receipt->rollout, &out->rollout))
        out->rollout = -1; /* none of ours, and not final either */
    out->probes_ok = true;
    for (size_t i = 0; i < receipt->probe_count; i++)
        out->probes_ok &= receipt->probes[i].ok || receipt->probes[i].not_possible;
}

char *placement_item_text(const struct placement *placement, int64_t revision,
                          const json_t *document)
{
    char etag[32];
    etag_format(revision, etag);
    OWN(json)
    json_t *item = json_pack("{ss, ss, sI, sI, ss, sO}", "tenant", placement->tenant, "job",
                             placement->job, "label", (json_int_t)placement->label, "revision",
                             (json_int_t)revision, "etag", etag, "placement", document);
    return item == NULL ? NULL : json_canonical(item, NULL);
}
