/*
 * agent/journal.c - see journal.h. Called by reconcile only.
 */
#include "agent/journal.h"

#include <stdio.h>
#include <string.h>

#include "agent/keep.h"
#include "base/json.h"
#include "fleet/read.h"

#define JOURNAL_VERSION 1

void journal_release(struct journal *journal)
{
    plan_steps_release(&journal->steps);
}

enum err_code journal_write(const char *state_dir, const struct plan *plan, const char *boot,
                            const struct plan_steps *steps, struct err *err)
{
    OWN(json) json_t *array = plan_steps_to_json(steps);
    OWN(json) json_t *object = json_object();
    if (array == NULL || object == NULL ||
        !write_member(object, "version", json_integer(JOURNAL_VERSION)) ||
        !write_text(object, "node", plan->node) ||
        !write_member(object, "generation", json_integer(plan->generation)) ||
        !write_text(object, "digest", plan->digest) || !write_text(object, "boot", boot) ||
        !write_member(object, "steps", json_incref(array)))
        return err_nomem(err);
    return keep_write(state_dir, JOURNAL_FILE, object, err);
}

static enum err_code from_json(const json_t *document, struct journal *out, struct err *err)
{
    OWN_FINDINGS struct finding_list findings;
    finding_list_init(&findings);
    struct json_reader r;
    int64_t version;
    const json_t *steps = NULL;
    json_reader_init(&r, document, "", &findings);
    json_reader_int(&r, "version", true, JOURNAL_VERSION, JOURNAL_VERSION, &version);
    read_text(&r, "node", true, 1, out->node, sizeof(out->node));
    json_reader_int(&r, "generation", true, 0, INT64_MAX, &out->generation);
    read_text(&r, "digest", true, 1, out->digest, sizeof(out->digest));
    read_text(&r, "boot", false, 0, out->boot, sizeof(out->boot));
    json_reader_array(&r, "steps", true, 3 * PLAN_KNOBS_MAX, &steps);
    json_reader_end(&r);
    enum err_code code = read_result(&findings, err);
    return code == ERR_OK ? plan_steps_from_json(steps, &out->steps, err) : code;
}

enum err_code journal_read(const char *state_dir, const char *node, struct clock *clock,
                           struct journal *out, struct err *err)
{
    OWN(json) json_t *document = NULL;
    OWN_JOURNAL struct journal journal = {0};
    enum err_code code = keep_read(state_dir, JOURNAL_FILE, &document, err);
    if (code == ERR_NOT_FOUND || code == ERR_NOMEM)
        return code;
    if (code == ERR_OK)
        code = from_json(document, &journal, err);
    if (code == ERR_OK && strcmp(journal.node, node) != 0)
        code = err_set(err, ERR_INVALID, "it is the journal of node %s", journal.node);
    if (code == ERR_NOMEM)
        return code;
    if (code != ERR_OK) {
        keep_set_aside(state_dir, JOURNAL_FILE, clock, err);
        return err_set(err, ERR_NOT_FOUND, "the journal was set aside");
    }
    *out = journal;
    journal = (struct journal){0};
    return ERR_OK;
}

enum err_code journal_remove(const char *state_dir, struct err *err)
{
    return keep_remove(state_dir, JOURNAL_FILE, err);
}
