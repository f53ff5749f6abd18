/*
 * fleet/compat.c - see compat.h.
 */
#include "fleet/compat.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/embed.h"
#include "base/json.h"
#include "fleet/compat_fact.h"
#include "fleet/read.h"
#include "fleet/version.h"

#define COMPAT_VERSION    1
#define COMPAT_SIZE_MAX   (256 * 1024)
#define FACT_NAME_SIZE    32
#define SUBJECT_TEXT_SIZE 256

/* Reading ------------------------------------------------------------------------------------- */

static void read_patterns(struct json_reader *r, struct compat_condition *out)
{
    const json_t *array;
    if (!json_reader_array(r, "any_of", true, COMPAT_PATTERNS_MAX, &array))
        return;
    if (json_array_size(array) == 0)
        read_problem(r, "any_of", "'any_of' needs a pattern at least");
    for (size_t i = 0; i < json_array_size(array); i++) {
        const char *text = json_string_value(json_array_get(array, i));
        if (text == NULL || text[0] == '\0' || strlen(text) >= sizeof(out->patterns[0]))
            read_problem(r, "any_of", "element %zu is no text of 1 to %zu bytes", i,
                         sizeof(out->patterns[0]) - 1);
        else
            snprintf(out->patterns[out->pattern_count++], sizeof(out->patterns[0]), "%s", text);
    }
}

static void condition_from_json(struct json_reader *r, enum compat_subject subject,
                                struct compat_condition *out)
{
    char name[FACT_NAME_SIZE];
    if (!read_text(r, "fact", true, 1, name, sizeof(name)))
        return;
    out->fact = compat_fact_get(subject, name);
    if (out->fact == NULL) {
        read_problem(r, "fact", "the subject has no fact '%s'", name);
        return;
    }
    switch (out->fact->kind) {
    case FACT_TEXT:
        read_patterns(r, out);
        break;
    case FACT_VERSION:
        if (read_text(r, "at_least", true, 1, out->version, sizeof(out->version)) &&
            !version_is_known(out->version))
            read_problem(r, "at_least", "'%s' is no version", out->version);
        break;
    case FACT_NUMBER:
        json_reader_int(r, "at_least", true, 0, INT64_MAX, &out->number);
        break;
    case FACT_FLAG:
        json_reader_bool(r, "is", true, &out->is);
        break;
    }
    json_reader_end(r);
}

static size_t conditions_from_json(struct json_reader *r, const char *key, bool required,
                                   enum compat_subject subject,
                                   struct compat_condition out[COMPAT_CONDITIONS_MAX])
{
    const json_t *array;
    struct json_reader element;
    if (!json_reader_array(r, key, required, COMPAT_CONDITIONS_MAX, &array))
        return 0;
    if (required && json_array_size(array) == 0)
        read_problem(r, key, "'%s' needs a condition at least", key);
    for (size_t i = 0; i < json_array_size(array); i++) {
        json_reader_element(r, key, i, json_array_get(array, i), &element);
        condition_from_json(&element, subject, &out[i]);
    }
    return json_array_size(array);
}

static void rule_from_json(struct json_reader *r, struct compat_rule *out)
{
    static const char *const subjects[] = {"nic", "gpu", "cpu", "switch", NULL};
    static const char *const severities[] = {"info", "warning", "error", NULL};
    int subject = 0, severity = 0;
    if (read_text(r, "id", true, 1, out->id, sizeof(out->id)) &&
        (strncmp(out->id, "compat-", 7) != 0 ||
         strspn(out->id, "abcdefghijklmnopqrstuvwxyz0123456789-") != strlen(out->id)))
        read_problem(r, "id", "an id is 'compat-' and lower-case words with '-' between them");
    if (json_reader_enum(r, "subject", true, subjects, &subject)) {
        out->subject = (enum compat_subject)subject;
        out->applies_count = conditions_from_json(r, "applies", false, out->subject, out->applies);
        out->requires_count =
            conditions_from_json(r, "requires", true, out->subject, out->requires);
    }
    json_reader_enum(r, "severity", true, severities, &severity);
    out->severity = (enum finding_severity)severity;
    read_text(r, "text", true, 1, out->text, sizeof(out->text));
    read_text(r, "reason", true, 1, out->reason, sizeof(out->reason));
    read_text(r, "hint", true, 1, out->hint, sizeof(out->hint));
    json_reader_end(r);
}

static void check_ids(const struct json_reader *r, const struct compat *compat)
{
    for (size_t i = 0; i < compat->rule_count; i++)
        for (size_t j = 0; j < i; j++)
            if (strcmp(compat->rules[i].id, compat->rules[j].id) == 0)
                read_problem(r, "rules", "two rules have the id '%s'", compat->rules[i].id);
}

enum err_code compat_from_json(const json_t *document, struct compat **out,
                               struct finding_list *findings, struct err *err)
{
    OWN(compat) struct compat *compat = calloc(1, sizeof(*compat));
    OWN_FINDINGS struct finding_list own;
    finding_list_init(&own);
    struct json_reader r, element;
    const json_t *rules = NULL;
    int64_t version;
    if (compat == NULL)
        return err_nomem(err);
    json_reader_init(&r, document, "", &own);
    json_reader_int(&r, "version", true, COMPAT_VERSION, COMPAT_VERSION, &version);
    json_reader_array(&r, "rules", true, COMPAT_RULES_MAX, &rules);
    json_reader_end(&r);
    compat->rule_count = json_array_size(rules);
    compat->rules = calloc(compat->rule_count + 1, sizeof(*compat->rules));
    if (compat->rules == NULL)
        return err_nomem(err);
    for (size_t i = 0; i < compat->rule_count; i++) {
        json_reader_element(&r, "rules", i, json_array_get(rules, i), &element);
        rule_from_json(&element, &compat->rules[i]);
    }
    check_ids(&r, compat);
    enum err_code code = read_result(&own, err);
    if (findings != NULL)
        finding_list_append(findings, &own);
    if (code == ERR_OK)
        *out = GIVE(compat);
    return code;
}

enum err_code compat_builtin(struct compat **out, struct err *err)
{
    OWN(json) json_t *document = NULL;
    enum err_code code = json_parse_limit((const char *)compat_files[0].data, compat_files[0].len,
                                          COMPAT_SIZE_MAX, false, &document, err);
    return code != ERR_OK ? code : compat_from_json(document, out, NULL, err);
}

void compat_free(struct compat *compat)
{
    if (compat == NULL)
        return;
    free(compat->rules);
    free(compat);
}

/* Looking ------------------------------------------------------------------------------------- */

struct look {
    const struct compat *compat;
    enum compat_subject kind;
    const void *item;
    const char *subject; /* "node/n1/cpu" */
    const char *words;   /* "the CPU of node n1" */
    struct finding_list *findings;
};

static bool applies(const struct compat_rule *rule, const void *item)
{
    for (size_t i = 0; i < rule->applies_count; i++)
        if (compat_condition_check(&rule->applies[i], item) != FACT_MET)
            return false;
    return true;
}

/* The first requirement with the verdict, or NULL. */
static const struct compat_condition *find(const struct compat_rule *rule, const void *item,
                                           enum fact_verdict verdict)
{
    for (size_t i = 0; i < rule->requires_count; i++)
        if (compat_condition_check(&rule->requires[i], item) == verdict)
    return &rule->requires[i];
    return NULL;
}

static void report(const struct look *look, const struct compat_rule *rule,
                   const struct compat_condition *condition, bool unknown)
{
    char observed[FACT_TEXT_MAX], wanted[FACT_TEXT_MAX], message[COMPAT_TEXT_SIZE * 3];
    compat_condition_observed(condition, look->item, observed);
    compat_condition_wanted(condition, wanted);
    const char *label = condition->fact->label;
    if (unknown)
        snprintf(message, sizeof(message), "%s: %s is not known, so nobody can say that it is %s",
                 look->words, label, wanted);
    else
        snprintf(message, sizeof(message), "%s: %s is %s, wanted is %s%s", look->words, label,
                 observed,
                 condition->fact->kind == FACT_NUMBER || condition->fact->kind == FACT_VERSION
                     ? "at least "
                     : "",
                 wanted);
    finding_add(look->findings, &(struct finding){
                                    .rule = rule->id,
                                    .severity = unknown ? FINDING_INFO : rule->severity,
                                    .subject = (char *)look->subject,
                                    .message = message,
                                    .observed = observed,
                                    .limit = wanted,
                                    .hint = unknown ? NULL : (char *)rule->hint,
                                });
}

/* One finding a rule: what fails says more than what is unknown. */
static void look_at(const struct look *look)
{
    for (size_t i = 0; i < look->compat->rule_count; i++) {
        const struct compat_rule *rule = &look->compat->rules[i];
        if (rule->subject != look->kind || !applies(rule, look->item))
            continue;
        const struct compat_condition *failed = find(rule, look->item, FACT_FAILED);
        const struct compat_condition *unknown = find(rule, look->item, FACT_UNKNOWN);
        if (failed != NULL || unknown != NULL)
            report(look, rule, failed != NULL ? failed : unknown, failed == NULL);
    }
}

void compat_check_node(const struct compat *compat, const char *node,
                       const struct inventory *inventory, struct finding_list *findings)
{
    char subject[SUBJECT_TEXT_SIZE], words[SUBJECT_TEXT_SIZE];
    struct look look = {.compat = compat, .subject = subject, .words = words, .findings = findings};
    look.kind = COMPAT_NIC;
    for (size_t i = 0; i < inventory->port_count; i++) {
        look.item = &inventory->ports[i];
        snprintf(subject, sizeof(subject), "node/%s/port/%s", node, inventory->ports[i].id);
        snprintf(words, sizeof(words), "port %s of node %s", inventory->ports[i].id, node);
        look_at(&look);
    }
    look.kind = COMPAT_GPU;
    for (size_t i = 0; i < inventory->gpu_count; i++) {
        look.item = &inventory->gpus[i];
        snprintf(subject, sizeof(subject), "node/%s/gpu/%s", node, inventory->gpus[i].id);
        snprintf(words, sizeof(words), "GPU %s of node %s", inventory->gpus[i].id, node);
        look_at(&look);
    }
    if (!inventory->cpu.present)
        return;
    look.kind = COMPAT_CPU;
    look.item = &inventory->cpu;
    snprintf(subject, sizeof(subject), "node/%s/cpu", node);
    snprintf(words, sizeof(words), "the CPU of node %s", node);
    look_at(&look);
}

void compat_check_switch(const struct compat *compat, const char *name,
                         const struct switch_info *info, struct finding_list *findings)
{
    char subject[SUBJECT_TEXT_SIZE], words[SUBJECT_TEXT_SIZE];
    snprintf(subject, sizeof(subject), "switch/%s", name);
    snprintf(words, sizeof(words), "switch %s", name);
    look_at(&(struct look){.compat = compat,
                           .kind = COMPAT_SWITCH,
                           .item = info,
                           .subject = subject,
                           .words = words,
                           .findings = findings});
}
