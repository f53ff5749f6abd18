/*
 * agent/budget.c - see budget.h. Called by reconcile.
 */
#include "agent/budget.h"

#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/log.h"
#include "base/text.h"
#include "fleet/read.h"

#define BUDGET_VERSION 1

static const char *const of_names[] = {
    [BUDGET_PLAN] = "plan", [BUDGET_STANDING] = "standing", [BUDGET_RECOVERY] = "recovery"};
static const char *const of_texts[] = {
    [BUDGET_PLAN] = "this plan",
    [BUDGET_STANDING] = "putting back what stands",
    [BUDGET_RECOVERY] = "taking back what a crash left",
};

/* File ---------------------------------------------------------------------------------------- */

/* `name`: of the member that says what was tried. */
static json_t *tries_to_json(const struct budget_tries *tries, const char *name)
{
    OWN(json) json_t *object = json_object();
    if (object == NULL || !write_text(object, name, tries->of) ||
        !write_member(object, "count", json_integer(tries->count)) ||
        !write_text(object, "why", tries->why))
        return NULL;
    if (tries->quarantined_us != 0 &&
        !write_member(object, "quarantined_us", json_integer(tries->quarantined_us)))
        return NULL;
    return GIVE(object);
}

static json_t *subjects_to_json(const struct budget *budget)
{
    OWN(json) json_t *tries = json_array();
    OWN(json) json_t *object = json_object();
    for (size_t i = 0; i < budget->subject_count; i++)
        if (json_array_append_new(tries, tries_to_json(&budget->subjects[i], "subject")) != 0)
            return NULL;
    if (object == NULL || !write_text(object, "digest", budget->subjects_digest) ||
        !write_member(object, "tries", json_incref(tries)))
        return NULL;
    return GIVE(object);
}

static enum err_code save(const struct budget *budget, struct err *err)
{
    OWN(json) json_t *tries = json_object();
    OWN(json) json_t *object = json_object();
    for (int i = 0; i < BUDGET_OF_COUNT; i++)
        if (budget->tries[i].of[0] != '\0' &&
            !write_member(tries, of_names[i], tries_to_json(&budget->tries[i], "digest")))
            return err_nomem(err);
    if (object == NULL || !write_member(object, "version", json_integer(BUDGET_VERSION)) ||
        !write_text(object, "node", budget->node) ||
        !write_member(object, "attempt", json_integer(budget->attempt)) ||
        !write_text(object, "boot", budget->boot) ||
        !write_member(object, "boots", json_integer(budget->boots)) ||
        !write_member(object, "tries", json_incref(tries)))
        return err_nomem(err);
    if (budget->subject_count > 0 && !write_member(object, "subjects", subjects_to_json(budget)))
        return err_nomem(err);
    return keep_write(budget->state_dir, BUDGET_FILE, object, err);
}

static void save_or_log(const struct budget *budget)
{
    struct err err = ERR_INIT;
    if (save(budget, &err))
        log_error("agent", "node %s: %s cannot be stored: %s", budget->node, BUDGET_FILE, err.text);
}

static void tries_from_json(struct json_reader *r, const char *name, int least,
                            struct budget_tries *out)
{
    int64_t count = 0;
    read_text(r, name, true, 1, out->of, sizeof(out->of));
    json_reader_int(r, "count", true, least, BUDGET_TRIES, &count);
    read_text(r, "why", false, 1, out->why, sizeof(out->why));
    json_reader_int(r, "quarantined_us", false, 1, INT64_MAX, &out->quarantined_us);
    json_reader_end(r);
    out->count = (int)count;
}

static void subjects_from_json(struct json_reader *r, struct budget *out)
{
    const json_t *tries = NULL;
    read_text(r, "digest", true, 1, out->subjects_digest, sizeof(out->subjects_digest));
    json_reader_array(r, "tries", true, BUDGET_SUBJECTS_MAX, &tries);
    for (size_t i = 0; i < json_array_size(tries); i++) {
        struct json_reader element;
        json_reader_element(r, "tries", i, json_array_get(tries, i), &element);
        tries_from_json(&element, "subject", 1, &out->subjects[i]);
    }
    out->subject_count = json_array_size(tries);
    json_reader_end(r);
}

static enum err_code from_json(const json_t *document, struct budget *out, struct err *err)
{
    OWN_FINDINGS struct finding_list findings;
    finding_list_init(&findings);
    struct json_reader r, tries, one;
    int64_t version, boots = 0;
    char node[NAME_SIZE] = "";
    json_reader_init(&r, document, "", &findings);
    json_reader_int(&r, "version", true, BUDGET_VERSION, BUDGET_VERSION, &version);
    read_text(&r, "node", true, 1, node, sizeof(node));
    json_reader_int(&r, "attempt", true, 0, INT64_MAX, &out->attempt);
    read_text(&r, "boot", false, 1, out->boot, sizeof(out->boot));
    json_reader_int(&r, "boots", true, 0, BUDGET_BOOTS + 1, &boots);
    if (json_reader_object(&r, "tries", true, &tries)) {
        for (int i = 0; i < BUDGET_OF_COUNT; i++)
            if (json_reader_object(&tries, of_names[i], false, &one))
                tries_from_json(&one, "digest", 0, &out->tries[i]);
        json_reader_end(&tries);
    }
    if (json_reader_object(&r, "subjects", false, &one))
        subjects_from_json(&one, out);
    json_reader_end(&r);
    out->boots = (int)boots;
    enum err_code code = read_result(&findings, err);
    if (code == ERR_OK && strcmp(node, out->node) != 0)
        code = err_set(err, ERR_INVALID, "it is of node %s", node);
    return code;
}

enum err_code budget_load(struct budget *budget, struct err *err)
{
    OWN(json) json_t *document = NULL;
    struct err why = ERR_INIT;
    struct budget read = {
        .state_dir = budget->state_dir, .node = budget->node, .clock = budget->clock};
    enum err_code code = keep_read(budget->state_dir, BUDGET_FILE, &document, &why);
    if (code == ERR_NOT_FOUND)
        return ERR_OK;
    if (code == ERR_OK)
        code = from_json(document, &read, &why);
    if (code == ERR_NOMEM)
        return err_nomem(err);
    if (code != ERR_OK)
        keep_set_aside(budget->state_dir, BUDGET_FILE, budget->clock, &why);
    else
        *budget = read;
    return ERR_OK;
}

/* Boots --------------------------------------------------------------------------------------- */

static void close_tries(struct budget *budget, enum budget_of of, const char *digest)
{
    struct budget_tries *tries = &budget->tries[of];
    text_copy(tries->of, sizeof(tries->of), digest);
    tries->quarantined_us = budget->clock->wall_us(budget->clock);
    log_error("agent", "node %s: quarantined, %s is not tried again: %s", budget->node,
              of_texts[of], tries->why);
}

enum err_code budget_boot(struct budget *budget, const char *boot, const char *standing,
                          bool *out_new, struct err *err)
{
    *out_new = false;
    if (boot[0] == '\0' || strcmp(boot, budget->boot) == 0)
        return ERR_OK;
    *out_new = budget->boot[0] != '\0';
    text_copy(budget->boot, sizeof(budget->boot), boot);
    budget->boots = standing[0] == '\0' || !*out_new ? 0 : budget->boots + 1;
    if (budget->boots > BUDGET_BOOTS) {
        struct budget_tries *tries = &budget->tries[BUDGET_STANDING];
        snprintf(tries->why, sizeof(tries->why),
                 "the node booted %d times in a row without holding its plan for %d minutes",
                 budget->boots, (int)(BUDGET_HOLD_NS / NS_PER_S / 60));
        budget->boots = 0; /* an order begins anew */
        close_tries(budget, BUDGET_STANDING, standing);
    }
    return save(budget, err);
}

void budget_held(struct budget *budget)
{
    if (budget->boots == 0)
        return;
    budget->boots = 0;
    save_or_log(budget);
}

/* Tries --------------------------------------------------------------------------------------- */

bool budget_allows(const struct budget *budget, enum budget_of of, const char *digest,
                   char why[ERR_TEXT_MAX])
{
    const struct budget_tries *tries = &budget->tries[of];
    if (strcmp(tries->of, digest) != 0 ||
        (tries->quarantined_us == 0 && tries->count < BUDGET_TRIES))
        return true;
    snprintf(why, ERR_TEXT_MAX,
             "quarantined: %s is not tried again until another plan comes or the node is "
             "released: %s%.255s",
             of_texts[of], tries->count >= BUDGET_TRIES ? "it failed too often in a row: " : "",
             tries->why[0] == '\0' ? "the agent or the node ended in each try" : tries->why);
    return false;
}

enum err_code budget_begin(struct budget *budget, enum budget_of of, const char *digest,
                           struct err *err)
{
    struct budget_tries *tries = &budget->tries[of];
    struct budget_tries before = *tries;
    if (strcmp(tries->of, digest) != 0) {
        *tries = (struct budget_tries){.count = 0};
        text_copy(tries->of, sizeof(tries->of), digest);
    }
    tries->count++;
    enum err_code code = save(budget, err);
    if (code != ERR_OK)
        *tries = before;
    return code;
}

void budget_good(struct budget *budget, enum budget_of of)
{
    budget->tries[of] = (struct budget_tries){.count = 0};
    save_or_log(budget);
}

bool budget_failed(struct budget *budget, enum budget_of of, const char *why)
{
    struct budget_tries *tries = &budget->tries[of];
    text_copy(tries->why, sizeof(tries->why), why);
    bool last = tries->count >= BUDGET_TRIES;
    if (last)
        close_tries(budget, of, tries->of);
    save_or_log(budget);
    return last;
}

/* Subjects ------------------------------------------------------------------------------------ */

static struct budget_tries *find(struct budget *budget, const char *subject)
{
    for (size_t i = 0; i < budget->subject_count; i++)
        if (strcmp(budget->subjects[i].of, subject) == 0)
            return &budget->subjects[i];
    return NULL;
}

bool budget_allows_subject(const struct budget *budget, const char *digest, const char *subject,
                           char why[ERR_TEXT_MAX])
{
    if (strcmp(budget->subjects_digest, digest) != 0)
        return true;
    for (size_t i = 0; i < budget->subject_count; i++) {
        const struct budget_tries *one = &budget->subjects[i];
        if (strcmp(one->of, subject) != 0 || one->count < BUDGET_TRIES)
            continue;
        snprintf(why, ERR_TEXT_MAX,
                 "quarantined: %s is not put back until another plan comes or the node is "
                 "released: it failed too often in a row: %.255s",
                 subject, one->why);
        return false;
    }
    return true;
}

bool budget_subject_failed(struct budget *budget, const char *digest, const char *subject,
                           const char *why, bool *out_last)
{
    if (strcmp(budget->subjects_digest, digest) != 0) {
        budget->subject_count = 0;
        text_copy(budget->subjects_digest, sizeof(budget->subjects_digest), digest);
    }
    struct budget_tries *one = find(budget, subject);
    if (one == NULL && budget->subject_count == BUDGET_SUBJECTS_MAX)
        return false;
    if (one == NULL) {
        one = &budget->subjects[budget->subject_count++];
        *one = (struct budget_tries){.count = 0};
        text_copy(one->of, sizeof(one->of), subject);
    }
    one->count++;
    text_copy(one->why, sizeof(one->why), why);
    *out_last = one->count >= BUDGET_TRIES;
    if (*out_last) {
        one->quarantined_us = budget->clock->wall_us(budget->clock);
        log_error("agent", "node %s: quarantined, %s is not put back any more: %s", budget->node,
                  subject, why);
    }
    save_or_log(budget);
    return true;
}

void budget_subject_good(struct budget *budget, const char *subject)
{
    struct budget_tries *one = find(budget, subject);
    if (one != NULL)
        *one = budget->subjects[--budget->subject_count];
}

void budget_follow(struct budget *budget, int64_t attempt)
{
    budget->attempt = attempt;
    save_or_log(budget);
}

void budget_release(struct budget *budget, int64_t attempt)
{
    bool had = budget->attempt != attempt || budget->boots != 0 || budget->subject_count > 0;
    budget->subject_count = 0;
    for (int i = 0; i < BUDGET_OF_COUNT; i++) {
        had = had || budget->tries[i].of[0] != '\0';
        budget->tries[i] = (struct budget_tries){.count = 0};
    }
    budget->attempt = attempt;
    budget->boots = 0;
    if (had)
        save_or_log(budget);
}
