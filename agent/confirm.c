/*
 * agent/confirm.c - see confirm.h. Each change is one durable file, so that a crash leaves the old
 * trial or the new one.
 */
#include "agent/confirm.h"

#include <string.h>

#include "agent/fallback.h"
#include "agent/journal.h"
#include "agent/keep.h"
#include "base/json.h"
#include "base/log.h"
#include "fleet/read.h"

#define CONFIRM_VERSION 1

static const char *const state_names[] = {
    [CONFIRM_NONE] = "none",
    [CONFIRM_ARMED] = "armed",
    [CONFIRM_EXPIRED] = "expired",
    [CONFIRM_EXPIRED + 1] = NULL,
};

static int64_t now_ns(const struct confirm *confirm)
{
    return confirm->clock->mono_ns(confirm->clock);
}

/* What was said of a trial, without the borrowed members. */
static void forget(struct confirm *confirm)
{
    plan_free(confirm->plan);
    plan_steps_release(&confirm->undo);
    *confirm = (struct confirm){
        .state_dir = confirm->state_dir,
        .node = confirm->node,
        .boot = confirm->boot,
        .clock = confirm->clock,
    };
}

void confirm_release(struct confirm *confirm)
{
    forget(confirm);
}

int64_t confirm_left_ns(const struct confirm *confirm)
{
    if (confirm->state != CONFIRM_ARMED)
        return -1;
    int64_t left_ns = confirm->deadline_ns - now_ns(confirm);
    return left_ns > 0 ? left_ns : 0;
}

/* Out ------------------------------------------------------------------------------------------ */

static json_t *base_to_json(const struct confirm *confirm)
{
    OWN(json) json_t *object = json_object();
    if (object == NULL || !write_text(object, "tag", confirm->base) ||
        !write_member(object, "generation", json_integer(confirm->base_generation)))
        return NULL;
    return GIVE(object);
}

static bool write_trial(json_t *object, const struct confirm *confirm)
{
    return write_member(object, "plan", plan_to_json(confirm->plan)) &&
           write_member(object, "undo", plan_steps_to_json(&confirm->undo)) &&
           (confirm->base[0] == '\0' || write_member(object, "base", base_to_json(confirm))) &&
           write_text(object, "boot", confirm->boot) &&
           write_member(object, "deadline_ns", json_integer(confirm->deadline_ns)) &&
           write_member(object, "left_ns", json_integer(confirm_left_ns(confirm)));
}

static enum err_code write_file(const struct confirm *confirm, struct err *err)
{
    OWN(json) json_t *object = json_object();
    if (object == NULL || !write_member(object, "version", json_integer(CONFIRM_VERSION)) ||
        !write_text(object, "state", state_names[confirm->state]) ||
        !write_text(object, "node", confirm->node) || !write_text(object, "tag", confirm->tag))
        return err_nomem(err);
    if (confirm->state == CONFIRM_ARMED && !write_trial(object, confirm))
        return err_nomem(err);
    return keep_write(confirm->state_dir, CONFIRM_FILE, object, err);
}

enum err_code confirm_save(struct confirm *confirm, struct err *err)
{
    if (confirm->state != CONFIRM_ARMED)
        return ERR_OK;
    confirm->saved_ns = now_ns(confirm); /* also when it fails: the disk is not asked at once */
    return write_file(confirm, err);
}

enum err_code confirm_arm(struct confirm *confirm, struct plan **plan, const struct plan *good,
                          const struct plan_steps *done, struct err *err)
{
    struct confirm next = {
        .state_dir = confirm->state_dir,
        .node = confirm->node,
        .boot = confirm->boot,
        .clock = confirm->clock,
        .state = CONFIRM_ARMED,
        .plan = *plan,
        .saved_ns = now_ns(confirm),
        .deadline_ns = now_ns(confirm) + (*plan)->confirm.timeout_s * NS_PER_S,
    };
    plan_tag(*plan, next.tag);
    if (good != NULL) {
        plan_tag(good, next.base);
        next.base_generation = good->generation;
    }
    enum err_code code = fallback_merge(&confirm->undo, done, &next.undo, err);
    if (code == ERR_OK)
        code = write_file(&next, err);
    if (code != ERR_OK) {
        plan_steps_release(&next.undo);
        return code;
    }
    forget(confirm);
    *confirm = next;
    *plan = NULL;
    return ERR_OK;
}

enum err_code confirm_expire(struct confirm *confirm, struct err *err)
{
    char tag[PLAN_TAG_SIZE];
    memcpy(tag, confirm->tag, sizeof(tag));
    forget(confirm);
    confirm->state = CONFIRM_EXPIRED;
    memcpy(confirm->tag, tag, sizeof(tag));
    return write_file(confirm, err);
}

enum err_code confirm_clear(struct confirm *confirm, struct err *err)
{
    if (confirm->state == CONFIRM_NONE)
        return ERR_OK;
    forget(confirm);
    return keep_remove_durable(confirm->state_dir, CONFIRM_FILE, err);
}

/* In ------------------------------------------------------------------------------------------- */

/* After a reboot the old deadline means nothing; in the same boot it is exact. The time that was
 * saved is never exceeded. */
static int64_t deadline_of(const struct confirm *confirm, const char *boot, int64_t deadline_ns,
                           int64_t left_ns)
{
    int64_t now = now_ns(confirm), timeout_ns = confirm->plan->confirm.timeout_s * NS_PER_S;
    if (left_ns > timeout_ns)
        left_ns = timeout_ns;
    bool rebooted = boot[0] != '\0' && confirm->boot[0] != '\0' && strcmp(boot, confirm->boot) != 0;
    return rebooted || deadline_ns > now + left_ns ? now + left_ns : deadline_ns;
}

static void base_from_json(struct json_reader *r, struct confirm *out)
{
    struct json_reader base;
    if (!json_reader_object(r, "base", false, &base))
        return;
    read_text(&base, "tag", true, 1, out->base, sizeof(out->base));
    json_reader_int(&base, "generation", true, 0, INT64_MAX, &out->base_generation);
    json_reader_end(&base);
}

static enum err_code trial_from_json(struct json_reader *r, struct confirm *out, struct err *err)
{
    char boot[BOOT_ID_SIZE];
    int64_t deadline_ns = 0, left_ns = 0;
    const json_t *plan = NULL, *undo = NULL;
    OWN_STEPS struct plan_steps changed = {0};
    static const struct plan_steps none = {0};
    json_reader_any(r, "plan", true, &plan);
    json_reader_array(r, "undo", true, 3 * PLAN_KNOBS_MAX, &undo);
    base_from_json(r, out);
    read_text(r, "boot", false, 1, boot, sizeof(boot));
    json_reader_int(r, "deadline_ns", true, 0, INT64_MAX, &deadline_ns);
    json_reader_int(r, "left_ns", true, 0, INT64_MAX, &left_ns);
    json_reader_end(r);
    enum err_code code = read_result(r->findings, err);
    if (code == ERR_OK)
        code = plan_from_json(plan, &out->plan, err);
    if (code == ERR_OK)
        code = plan_steps_from_json(undo, &changed, err);
    if (code == ERR_OK)
        code = fallback_merge(&none, &changed, &out->undo, err); /* sorts */
    if (code == ERR_OK && plan_is_final(out->plan))
        code = err_set(err, ERR_INVALID, "its plan is not on trial");
    if (code != ERR_OK)
        return code;
    out->deadline_ns = deadline_of(out, boot, deadline_ns, left_ns);
    out->saved_ns = now_ns(out);
    return ERR_OK;
}

static enum err_code from_json(const json_t *document, struct confirm *out, struct err *err)
{
    OWN_FINDINGS struct finding_list findings;
    finding_list_init(&findings);
    struct json_reader r;
    int64_t version;
    int state = CONFIRM_NONE;
    char node[NAME_SIZE];
    json_reader_init(&r, document, "", &findings);
    json_reader_int(&r, "version", true, CONFIRM_VERSION, CONFIRM_VERSION, &version);
    json_reader_enum(&r, "state", true, state_names, &state);
    read_text(&r, "node", true, 1, node, sizeof(node));
    read_text(&r, "tag", true, 1, out->tag, sizeof(out->tag));
    out->state = (enum confirm_state)state;
    if (out->state == CONFIRM_ARMED) {
        if (trial_from_json(&r, out, err))
            return err->code;
    } else {
        json_reader_end(&r);
        if (read_result(&findings, err))
            return err->code;
    }
    if (strcmp(node, out->node) != 0)
        return err_set(err, ERR_INVALID, "it is the trial of node %s", node);
    if (out->plan != NULL && strcmp(out->plan->node, out->node) != 0)
        return err_set(err, ERR_INVALID, "its plan is of node %s", out->plan->node);
    return ERR_OK;
}

/* Between two files a crash may leave a trial that the last good plan has settled already. */
static bool is_settled(const struct confirm *confirm, const struct plan *good)
{
    char tag[PLAN_TAG_SIZE] = "";
    if (confirm->state != CONFIRM_ARMED)
        return false;
    if (good == NULL) /* set aside or lost: what stood before is still known */
        return false;
    plan_tag(good, tag);
    return strcmp(good->digest, confirm->plan->digest) == 0 || strcmp(tag, confirm->base) != 0 ||
           good->generation != confirm->base_generation;
}

enum err_code confirm_load(struct confirm *confirm, const struct plan *good, struct err *err)
{
    OWN(json) json_t *document = NULL;
    struct err why = ERR_INIT;
    enum err_code code = keep_read(confirm->state_dir, CONFIRM_FILE, &document, &why);
    if (code == ERR_NOT_FOUND)
        return ERR_OK;
    if (code == ERR_OK)
        code = from_json(document, confirm, &why);
    if (code == ERR_OK && !is_settled(confirm, good))
        return ERR_OK;
    if (code == ERR_OK)
        return confirm_clear(confirm, err);
    forget(confirm);
    if (code == ERR_NOMEM)
        return err_nomem(err);
    keep_set_aside(confirm->state_dir, CONFIRM_FILE, confirm->clock, &why);
    return ERR_OK;
}
