/*
 * agent/reboot.c - see reboot.h. Called by reboot_look.c and agent.c.
 */
#include "agent/reboot.h"

#include <stdio.h>
#include <string.h>

#include "agent/journal.h"
#include "agent/keep.h"
#include "base/json.h"
#include "base/log.h"
#include "base/text.h"
#include "fleet/digest.h"
#include "fleet/read.h"

#define REBOOT_VERSION 1
#define MINUTE_US      INT64_C(60000000)

/* File ------------------------------------------------------------------------------------------
 */

static json_t *reloads_to_json(const struct reboot *reboot)
{
    OWN(json) json_t *reloads = json_array();
    for (size_t i = 0; i < reboot->reload_count; i++)
        if (json_array_append_new(reloads, json_pack("{ssss}", "device", reboot->reloads[i].device,
                                                     "digest", reboot->reloads[i].digest)) != 0)
            return NULL;
    return GIVE(reloads);
}

static json_t *to_json(const struct reboot *reboot)
{
    OWN(json) json_t *object = json_object();
    json_t *begun = json_array();
    for (size_t i = 0; i < REBOOTS_A_DAY_MAX; i++)
        if (reboot->begun_us[i] != 0)
            json_array_append_new(begun, json_integer(reboot->begun_us[i]));
    bool whole =
        write_member(object, "begun_us", begun) &&
        write_member(object, "version", json_integer(REBOOT_VERSION)) &&
        write_text(object, "node", reboot->node) && write_text(object, "boot", reboot->boot) &&
        write_text(object, "tried", reboot->tried) && write_text(object, "owed", reboot->owed) &&
        write_text(object, "approved", reboot->approved) &&
        (reboot->down_us == 0 || write_member(object, "down_us", json_integer(reboot->down_us))) &&
        (reboot->reload_count == 0 || write_member(object, "reloads", reloads_to_json(reboot)));
    return whole ? GIVE(object) : NULL;
}

static enum err_code save(const struct reboot *reboot, struct err *err)
{
    OWN(json) json_t *document = to_json(reboot);
    return document == NULL ? err_nomem(err)
                            : keep_write(reboot->state_dir, REBOOT_FILE, document, err);
}

static void save_or_log(const struct reboot *reboot, const char *what)
{
    struct err err = ERR_INIT;
    if (save(reboot, &err) != ERR_OK)
        log_error("agent", "node %s: %s cannot be kept: %s", reboot->node, what, err.text);
}

static void read_reloads(struct json_reader *r, struct reboot *reboot)
{
    const json_t *reloads = NULL;
    json_reader_array(r, "reloads", false, REBOOT_RELOADS_MAX, &reloads);
    for (size_t i = 0; i < json_array_size(reloads); i++) {
        struct reboot_reload *out = &reboot->reloads[i];
        struct json_reader item;
        char pointer[32];
        snprintf(pointer, sizeof(pointer), "/reloads/%zu", i);
        json_reader_init(&item, json_array_get(reloads, i), pointer, r->findings);
        read_text(&item, "device", true, 1, out->device, sizeof(out->device));
        read_text(&item, "digest", true, 1, out->digest, sizeof(out->digest));
        json_reader_end(&item);
    }
    reboot->reload_count = json_array_size(reloads);
}

static enum err_code from_json(struct reboot *reboot, const json_t *document, struct err *err)
{
    OWN_FINDINGS struct finding_list findings;
    struct json_reader r;
    char node[NAME_SIZE] = "", boot[BOOT_ID_SIZE] = "";
    const json_t *begun = NULL;
    int64_t version;
    finding_list_init(&findings);
    json_reader_init(&r, document, "", &findings);
    json_reader_int(&r, "version", true, REBOOT_VERSION, REBOOT_VERSION, &version);
    read_text(&r, "node", true, 1, node, sizeof(node));
    read_text(&r, "boot", false, 1, boot, sizeof(boot));
    read_text(&r, "tried", false, 1, reboot->tried, sizeof(reboot->tried));
    read_text(&r, "owed", false, 1, reboot->owed, sizeof(reboot->owed));
    read_text(&r, "approved", false, 1, reboot->approved, sizeof(reboot->approved));
    json_reader_int(&r, "down_us", false, 1, INT64_MAX, &reboot->down_us);
    json_reader_array(&r, "begun_us", true, REBOOTS_A_DAY_MAX, &begun);
    for (size_t i = 0; i < json_array_size(begun); i++) {
        reboot->begun_us[i] = json_integer_value(json_array_get(begun, i));
        if (reboot->begun_us[i] <= 0)
            read_problem(&r, "begun_us", "holds something that is no time");
    }
    read_reloads(&r, reboot);
    json_reader_end(&r);
    enum err_code code = read_result(&findings, err);
    if (code != ERR_OK)
        return code;
    if (strcmp(node, reboot->node) != 0)
        return err_set(err, ERR_INVALID, "it is node %s's", node);
    if (strcmp(boot, reboot->boot) != 0) { /* the boot brought it */
        reboot->owed[0] = '\0';
        reboot->reload_count = 0;
        reboot->down_us = 0;
    }
    return ERR_OK;
}

static void push(struct reboot *reboot, int64_t now_us)
{
    size_t count = 0;
    while (count < REBOOTS_A_DAY_MAX && reboot->begun_us[count] != 0)
        count++;
    if (count == REBOOTS_A_DAY_MAX)
        memmove(reboot->begun_us, reboot->begun_us + 1, --count * sizeof(reboot->begun_us[0]));
    reboot->begun_us[count] = now_us;
}

enum err_code reboot_load(struct reboot *reboot, struct err *err)
{
    OWN(json) json_t *document = NULL;
    struct err why = ERR_INIT;
    enum err_code code = keep_read(reboot->state_dir, REBOOT_FILE, &document, &why);
    if (code == ERR_NOT_FOUND)
        return ERR_OK;
    if (code == ERR_OK)
        code = from_json(reboot, document, &why);
    if (code == ERR_NOMEM)
        return err_nomem(err);
    if (code == ERR_OK)
        return ERR_OK;
    keep_set_aside(reboot->state_dir, REBOOT_FILE, reboot->clock, &why);
    memset(reboot->begun_us, 0, sizeof(reboot->begun_us));
    reboot->tried[0] = '\0';
    reboot->owed[0] = '\0';
    reboot->approved[0] = '\0';
    reboot->reload_count = 0;
    reboot->down_us = 0;
    for (int i = 0; i < reboot->rules.a_day; i++) /* how many there were is not known */
        push(reboot, reboot->clock->wall_us(reboot->clock));
    save_or_log(reboot, "that earlier reboots are not known"); /* it has a plan to keep, too */
    return ERR_OK;
}

/* What waits ------------------------------------------------------------------------------------
 */

/* What is owed grows step by step: the digest of the one before and the next step. */
static void owe(char owed[DIGEST_TEXT_MAX], const struct receipt_step *step)
{
    char text[DIGEST_TEXT_MAX + sizeof(step->text) + 256];
    OWN(str)
    char *after =
        step->after == NULL ? NULL : json_dumps(step->after, JSON_ENCODE_ANY | JSON_SORT_KEYS);
    int n =
        snprintf(text, sizeof(text), "%s %s %.200s", owed, step->text, after == NULL ? "" : after);
    bytes_digest(text, (size_t)n, owed);
}

/* What the device's driver is to be reloaded for. It begins with what was begun last: the same
 * change, back and forth, is not the same thing again. */
static char *reload_of(struct reboot *reboot, const char *subject)
{
    size_t len = strcspn(subject, "/"), i = 0;
    while (i < reboot->reload_count && (strncmp(reboot->reloads[i].device, subject, len) != 0 ||
                                        reboot->reloads[i].device[len] != '\0'))
        i++;
    if (i == REBOOT_RELOADS_MAX)
        return reboot->owed;
    struct reboot_reload *reload = &reboot->reloads[i];
    if (i == reboot->reload_count) {
        snprintf(reload->device, sizeof(reload->device), "%.*s", (int)len, subject);
        memcpy(reload->digest, reboot->tried, sizeof(reload->digest));
        reboot->reload_count++;
    }
    return reload->digest;
}

void reboot_note(struct reboot *reboot, const struct receipt *receipt)
{
    bool news = false;
    for (size_t i = 0; i < receipt->step_count; i++) {
        const struct receipt_step *step = &receipt->steps[i];
        bool reloads = step->disruption == DISRUPTION_DRIVER_RELOAD && step->subject[0] != '\0';
        if (!step->done || step->undone || (!reloads && step->disruption != DISRUPTION_REBOOT))
            continue;
        owe(reloads ? reload_of(reboot, step->subject) : reboot->owed, step);
        news = true;
    }
    if (news)
        save_or_log(reboot, "that a reboot or reload is owed");
}

static bool knob_waits(const struct plan_knob *knob, const struct state_knob *is)
{
    return strcmp(knob->kind->name, REBOOT_KNOB) == 0 && is != NULL && is->live != NULL &&
           is->next_boot != NULL && json_equal(is->next_boot, knob->want) &&
           !json_equal(is->live, knob->want);
}

static void add_wait(struct reboot_wait *out, const char *text)
{
    if (out->count++ == 0)
        text_copy(out->first, sizeof(out->first), text);
}

enum err_code reboot_waits(const struct reboot *reboot, const struct plan *plan,
                           const struct state *state, struct reboot_wait *out, struct err *err)
{
    struct digest digest;
    *out = (struct reboot_wait){.count = 0};
    digest_init(&digest);
    for (size_t i = 0; i < plan->knob_count; i++) {
        const struct plan_knob *knob = &plan->knobs[i];
        char text[KNOB_ID_SIZE + 64];
        if (!knob_waits(knob, state_get(state, knob->kind, knob->subject, knob->id)))
            continue;
        snprintf(text, sizeof(text), "module parameter %s", knob->id);
        add_wait(out, text);
        digest_knob(&digest, knob->kind, knob->subject, knob->id, 0, knob->want);
    }
    for (size_t i = 0; i < reboot->reload_count; i++) {
        char text[PORT_ID_SIZE + 80];
        OWN(json) json_t *steps = json_string(reboot->reloads[i].digest);
        snprintf(text, sizeof(text), "driver of %s, which takes parameters when it is reloaded",
                 reboot->reloads[i].device);
        add_wait(out, text);
        out->reloads++;
        digest_knob(&digest, knob_kind_get("devlink.param"), reboot->reloads[i].device, "", 0,
                    steps);
    }
    if (reboot->owed[0] != '\0')
        add_wait(out, "a parameter of a device that it reads when the node boots");
    enum err_code code = digest_finish(&digest, reboot->owed, out->digest, err);
    if (out->count == 0)
        out->digest[0] = '\0';
    return code;
}

/* Whether it may begin --------------------------------------------------------------------------
 */

static bool in_window(const struct reboot_rules *allowed, int64_t now_us)
{
    int minute = (int)(now_us / MINUTE_US % REBOOT_DAY_MIN);
    if (allowed->begin_min == allowed->end_min)
        return true;
    bool behind = minute >= allowed->begin_min, before = minute < allowed->end_min;
    return allowed->begin_min < allowed->end_min ? behind && before : behind || before;
}

/* A wall clock that went back counts as if no time had passed. */
static int begun_today(const struct reboot *reboot, int64_t now_us)
{
    int count = 0;
    for (size_t i = 0; i < REBOOTS_A_DAY_MAX; i++)
        count += reboot->begun_us[i] != 0 && now_us - reboot->begun_us[i] < REBOOT_DAY_US;
    return count;
}

enum err_code reboot_approve(struct reboot *reboot, const char *digest, struct err *err)
{
    struct reboot before = *reboot;
    text_copy(reboot->approved, sizeof(reboot->approved), digest);
    enum err_code code = save(reboot, err);
    if (code != ERR_OK)
        *reboot = before;
    return code;
}

bool reboot_is_approved(const struct reboot *reboot, const struct reboot_wait *wait)
{
    return wait->digest[0] != '\0' && strcmp(reboot->approved, wait->digest) == 0;
}

bool reboot_was_begun(const struct reboot *reboot, const struct reboot_wait *wait)
{
    return wait->digest[0] != '\0' && strcmp(wait->digest, reboot->tried) == 0;
}

bool reboot_is_reload(const struct reboot_wait *wait)
{
    return wait->reloads > 0 && wait->reloads == wait->count;
}

void reboot_mind_clock(struct reboot *reboot)
{
    int64_t now_us = reboot->clock->wall_us(reboot->clock);
    bool news = false;
    for (size_t i = 0; i < REBOOTS_A_DAY_MAX; i++) {
        if (reboot->begun_us[i] <= now_us)
            continue;
        reboot->begun_us[i] = now_us;
        news = true;
    }
    if (news)
        save_or_log(reboot, "when reboots were begun");
}

bool reboot_is_due(const struct reboot *reboot, const struct reboot_wait *wait,
                   char why[ERR_TEXT_MAX])
{
    const struct reboot_rules *allowed = &reboot->rules;
    int64_t now_us = reboot->clock->wall_us(reboot->clock);
    why[0] = '\0';
    if (wait->count == 0)
        snprintf(why, ERR_TEXT_MAX, "nothing waits for a reboot");
    else if (allowed->mode == REBOOT_NEVER)
        snprintf(why, ERR_TEXT_MAX, "this node is never rebooted by its agent");
    else if (reboot_was_begun(reboot, wait))
        snprintf(why, ERR_TEXT_MAX,
                 "a %s for it was begun already, and it still waits: look at the node%s%.300s",
                 reboot_is_reload(wait) ? "reload" : "reboot",
                 reboot->failed[0] == '\0' ? "" : "; ", reboot->failed);
    else if (allowed->mode == REBOOT_ASK && !reboot_is_approved(reboot, wait))
        snprintf(why, ERR_TEXT_MAX, "%san operator has to approve it: stellarctl node reboot %s",
                 reboot->approved[0] == '\0' ? "" : "what was approved is not what waits now; ",
                 reboot->node);
    else if (begun_today(reboot, now_us) >= allowed->a_day)
        snprintf(why, ERR_TEXT_MAX,
                 "%d reboots or reloads were begun within 24 hours, which is the limit",
                 allowed->a_day);
    else if (!in_window(allowed, now_us))
        snprintf(why, ERR_TEXT_MAX, "the window for reboots is %02d:%02d-%02d:%02d UTC",
                 allowed->begin_min / 60, allowed->begin_min % 60, allowed->end_min / 60,
                 allowed->end_min % 60);
    return why[0] == '\0';
}

enum err_code reboot_begin(struct reboot *reboot, const struct reboot_wait *wait, struct err *err)
{
    struct reboot before = *reboot;
    push(reboot, reboot->clock->wall_us(reboot->clock));
    memcpy(reboot->tried, wait->digest, sizeof(reboot->tried));
    reboot->approved[0] = '\0'; /* it was for this one */
    reboot->failed[0] = '\0';
    if (!reboot_is_reload(wait))
        reboot->down_us = reboot->clock->wall_us(reboot->clock);
    enum err_code code = save(reboot, err);
    if (code != ERR_OK)
        *reboot = before;
    return code;
}

/* A wall clock that was set back counts as if no time had passed. */
int64_t reboot_down_ns(const struct reboot *reboot)
{
    int64_t past_us = reboot->clock->wall_us(reboot->clock) - reboot->down_us;
    if (reboot->down_us == 0 || past_us >= REBOOT_DOWN_NS / 1000)
        return 0;
    return past_us < 0 ? REBOOT_DOWN_NS : REBOOT_DOWN_NS - past_us * 1000;
}

void reboot_stays_up(struct reboot *reboot)
{
    reboot->down_us = 0;
    save_or_log(reboot, "that the node stays up");
}

void reboot_reloaded(struct reboot *reboot, const struct err *why)
{
    struct reboot_reload *first = &reboot->reloads[0];
    if (why != NULL) {
        snprintf(reboot->failed, sizeof(reboot->failed), "%s: %.400s", first->device, why->text);
        return;
    }
    if (reboot->reload_count > 0)
        memmove(first, first + 1, --reboot->reload_count * sizeof(*first));
    save_or_log(reboot, "that a driver was reloaded");
}

void reboot_gone(struct reboot *reboot, const char *device)
{
    for (size_t i = 0; i < reboot->reload_count; i++) {
        struct reboot_reload *reload = &reboot->reloads[i];
        if (strcmp(reload->device, device) != 0)
            continue;
        log_warning("agent", "node %s: device %s is gone: it waits for no reload of its driver",
                    reboot->node, device);
        memmove(reload, reload + 1, (--reboot->reload_count - i) * sizeof(*reload));
        save_or_log(reboot, "that a device is gone");
        return;
    }
}

static bool parse_minute(const char *text, int *out)
{
    for (int i = 0; i < 5; i++)
        if (i == 2 ? text[i] != ':' : text[i] < '0' || text[i] > '9')
            return false;
    int hour = (text[0] - '0') * 10 + text[1] - '0', minute = (text[3] - '0') * 10 + text[4] - '0';
    *out = hour * 60 + minute;
    return hour < 24 && minute < 60;
}

enum err_code reboot_window_parse(const char *text, struct reboot_rules *out, struct err *err)
{
    int begin, end;
    if (strlen(text) != 11 || text[5] != '-' || !parse_minute(text, &begin) ||
        !parse_minute(text + 6, &end))
        return err_set(err, ERR_INVALID, "'%.64s': HH:MM-HH:MM of UTC is wanted", text);
    out->begin_min = begin;
    out->end_min = end;
    return ERR_OK;
}
