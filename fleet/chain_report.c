/*
 * fleet/chain_report.c - see chain_report.h. Written by agents, read by the server: hostile until
 * parsed.
 */
#include "fleet/chain_report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fleet/read.h"

#define REPORT_VERSION 1

static const char *const hop_names[] = {"dscp", "priority", "class", "pfc", "buffer", NULL};
static const char *const verdict_names[] = {"whole", "broken", "unknown", NULL};

void chain_report_free(struct chain_report *report)
{
    if (report == NULL)
        return;
    free(report->chains);
    free(report);
}

/* -1 is left out. */
static bool write_number(json_t *object, const char *key, int64_t number)
{
    return number < 0 || write_member(object, key, json_integer(number));
}

json_t *chain_to_json(const struct chain *chain)
{
    OWN(json) json_t *object = json_object();
    bool whole = chain->verdict == CHAIN_WHOLE;
    if (object == NULL || !write_text(object, "subject", chain->subject) ||
        !write_text(object, "source", chain->source) ||
        !write_number(object, "label", chain->label) ||
        !write_number(object, "dscp", chain->dscp) ||
        !write_number(object, "priority", chain->priority) ||
        !write_number(object, "class", chain->traffic_class) ||
        !write_number(object, "buffer", chain->buffer) ||
        !write_member(object, "lossless", json_boolean(chain->lossless)) ||
        !write_text(object, "verdict", chain_verdict_name(chain->verdict)))
        return NULL;
    if (!whole && (!write_text(object, "at", chain_hop_name(chain->at)) ||
                   !write_text(object, "why", chain->why)))
        return NULL;
    return GIVE(object);
}

json_t *chain_report_to_json(const struct plan *plan, const struct chain *chains, size_t count)
{
    OWN(json) json_t *array = json_array();
    OWN(json) json_t *object = json_object();
    for (size_t i = 0; i < count && i < CHAINS_MAX; i++)
        if (json_array_append_new(array, chain_to_json(&chains[i])) != 0)
            return NULL;
    if (object == NULL || !write_member(object, "version", json_integer(REPORT_VERSION)) ||
        !write_text(object, "node", plan->node) ||
        !write_member(object, "generation", json_integer(plan->generation)) ||
        !write_text(object, "digest", plan->digest) ||
        !write_member(object, "chains", json_incref(array)))
        return NULL;
    if (count > CHAINS_MAX && !write_member(object, "truncated", json_true()))
        return NULL;
    return GIVE(object);
}

static void number_from_json(struct json_reader *r, const char *key, int64_t max, int *out)
{
    int64_t number = -1;
    json_reader_int(r, key, false, 0, max, &number);
    *out = (int)number;
}

static void chain_from_json(struct json_reader *r, struct chain *out)
{
    int64_t dscp = 0;
    int verdict = CHAIN_UNKNOWN, at = CHAIN_DSCP;
    out->label = -1;
    read_text(r, "subject", true, 1, out->subject, sizeof(out->subject));
    read_text(r, "source", true, 1, out->source, sizeof(out->source));
    json_reader_int(r, "label", false, 0, INT32_MAX, &out->label);
    json_reader_int(r, "dscp", true, 0, CHAIN_DSCPS - 1, &dscp);
    number_from_json(r, "priority", CHAIN_PRIOS - 1, &out->priority);
    number_from_json(r, "class", CHAIN_PRIOS - 1, &out->traffic_class);
    number_from_json(r, "buffer", CHAIN_PRIOS - 1, &out->buffer);
    json_reader_bool(r, "lossless", true, &out->lossless);
    json_reader_enum(r, "verdict", true, verdict_names, &verdict);
    bool broken = verdict != CHAIN_WHOLE;
    json_reader_enum(r, "at", broken, hop_names, &at);
    read_text(r, "why", broken, 1, out->why, sizeof(out->why));
    json_reader_end(r);
    out->dscp = (int)dscp;
    out->verdict = (enum chain_verdict)verdict;
    out->at = (enum chain_hop)at;
}

static void head_from_json(struct json_reader *r, struct chain_report *out)
{
    int64_t version;
    json_reader_int(r, "version", true, REPORT_VERSION, REPORT_VERSION, &version);
    read_name(r, "node", true, out->node);
    json_reader_int(r, "generation", true, 0, INT64_MAX, &out->generation);
    if (read_text(r, "digest", true, 1, out->digest, sizeof(out->digest)) &&
        !digest_is_valid(out->digest))
        read_problem(r, "digest", "is no digest; \"sha256:\" and 64 hex digits");
    json_reader_bool(r, "truncated", false, &out->truncated);
}

enum err_code chain_report_from_json(const json_t *document, struct chain_report **out,
                                     struct err *err)
{
    OWN_FINDINGS struct finding_list findings;
    finding_list_init(&findings);
    OWN(chain_report) struct chain_report *report = calloc(1, sizeof(*report));
    if (report == NULL)
        return err_nomem(err);
    struct json_reader r;
    const json_t *chains = NULL;
    json_reader_init(&r, document, "", &findings);
    head_from_json(&r, report);
    json_reader_array(&r, "chains", true, CHAINS_MAX, &chains);
    json_reader_end(&r);
    report->count = json_array_size(chains);
    report->chains = calloc(report->count + 1, sizeof(*report->chains));
    if (report->chains == NULL)
        return err_nomem(err);
    for (size_t i = 0; i < report->count; i++) {
        struct json_reader element;
        json_reader_element(&r, "chains", i, json_array_get(chains, i), &element);
        chain_from_json(&element, &report->chains[i]);
    }
    enum err_code code = read_result(&findings, err);
    if (code == ERR_OK)
        *out = GIVE(report);
    return code;
}

enum chain_verdict chain_neighbour(const struct chain *chain, const char *switch_name,
                                   const struct switch_info *info, char why[160])
{
    if (switch_name[0] == '\0') {
        snprintf(why, 160, "the port hears no neighbour (no LLDP): what is behind it is not known");
        return CHAIN_UNKNOWN;
    }
    if (chain->lossless && info != NULL && info->pfc == 0) {
        snprintf(why, 160, "switch %.60s has no PFC: it drops the packets of lossless priority %d",
                 switch_name, chain->priority);
        return CHAIN_BROKEN;
    }
    snprintf(why, 160, "what switch %.60s does with the mark is not told by it", switch_name);
    return CHAIN_UNKNOWN;
}

void chain_report_findings(const struct chain_report *report, struct finding_list *findings)
{
    for (size_t i = 0; i < report->count; i++) {
        const struct chain *chain = &report->chains[i];
        char subject[2 * NAME_SIZE + PORT_ID_SIZE], message[2 * ERR_TEXT_MAX];
        bool broken = chain->verdict == CHAIN_BROKEN;
        if (chain->verdict == CHAIN_WHOLE)
            continue;
        snprintf(subject, sizeof(subject), "node/%s/port/%s", report->node, chain->subject);
        snprintf(message, sizeof(message),
                 broken ? "packets of %s with DSCP %d on port %s of node %s: the chain breaks at "
                          "hop %s: %s"
                        : "packets of %s with DSCP %d on port %s of node %s: the chain is not "
                          "known from hop %s on: %s",
                 chain->source, chain->dscp, chain->subject, report->node,
                 chain_hop_name(chain->at), chain->why);
        finding_add(
            findings,
            &(struct finding){
                .rule = RULE_MARKING_CHAIN,
                .severity = broken ? FINDING_WARNING : FINDING_INFO,
                .subject = subject,
                .message = message,
                .observed = (char *)(uintptr_t)(broken ? chain_hop_name(chain->at) : "unknown"),
                .hint = (char *)(uintptr_t)(broken ? "see what holds the port off its plan: "
                                                     "the node's receipts and state"
                                                   : NULL),
            });
    }
}
