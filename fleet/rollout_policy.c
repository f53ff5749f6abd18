/*
 * fleet/rollout_policy.c - see rollout_policy.h.
 */
#include "fleet/rollout_policy.h"

#include <stdio.h>
#include <string.h>

#include "fleet/read.h"
#include "fleet/rollout_verify.h"

#define PERCENT_FULL 100

static void read_unavailable(struct json_reader *r, struct rollout_settings *settings)
{
    const json_t *value;
    struct bandwidth share;
    if (!json_reader_any(r, "max_unavailable", false, &value))
        return;
    if (json_is_integer(value) && json_integer_value(value) >= 0 &&
        json_integer_value(value) <= ROLLOUT_NODES_MAX) {
        settings->unavailable = json_integer_value(value);
        settings->unavailable_is_share = false;
    } else if (json_is_string(value) &&
               bandwidth_parse(json_string_value(value), &share, NULL) == ERR_OK &&
               share.kind == BANDWIDTH_SHARE) {
        settings->unavailable = share.share_permyriad;
        settings->unavailable_is_share = true;
    } else
        read_problem(r, "max_unavailable",
                     "is a number of nodes from 0 to %d, or a share such as "
                     "\"10%%\"",
                     ROLLOUT_NODES_MAX);
}

static bool read_names(struct json_reader *r, const json_t *names)
{
    bool ok = json_array_size(names) > 0;
    if (!ok)
        read_problem(r, "nodes", "names no node");
    for (size_t i = 0; i < json_array_size(names); i++) {
        const char *name = json_string_value(json_array_get(names, i));
        if (name != NULL && name_is_valid(name))
            continue;
        read_problem(r, "nodes", "element %zu is no node's name", i);
        ok = false;
    }
    return ok;
}

static bool read_selector(struct json_reader *r, const json_t *selector)
{
    const char *key;
    json_t *value;
    if (json_object_size(selector) == 0 || json_object_size(selector) > LABELS_MAX) {
        read_problem(r, NULL, "a selector has 1 to %d labels", LABELS_MAX);
        return false;
    }
    bool ok = true;
    json_object_foreach((json_t *)selector, key, value)
    {
        const char *text = json_string_value(value);
        if (name_is_valid(key) && text != NULL && (text[0] == '\0' || name_is_valid(text)))
            continue;
        read_problem(r, NULL, "'%.63s' and its value are no label of a node", key);
        ok = false;
    }
    return ok;
}

int rollout_pick_read(struct json_reader *r)
{
    const json_t *names;
    struct json_reader selector;
    int right = 0;
    if (json_reader_array(r, "nodes", false, ROLLOUT_PICK_NODES_MAX, &names))
        right += read_names(r, names);
    if (json_reader_object(r, "selector", false, &selector))
        right += read_selector(&selector, selector.object);
    return right;
}

bool rollout_pick_has(const json_t *pick, const struct view_node *node)
{
    const json_t *names = json_object_get(pick, "nodes");
    const json_t *selector = json_object_get(pick, "selector");
    for (size_t i = 0; i < json_array_size(names); i++)
        if (strcmp(json_string_value(json_array_get(names, i)), node->name) == 0)
            return true;
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)selector, key, value)
    {
        bool found = false;
        for (size_t i = 0; i < node->label_count && !found; i++)
            found = strcmp(node->labels[i].key, key) == 0 &&
                    strcmp(node->labels[i].value, json_string_value(value)) == 0;
        if (!found)
            return false;
    }
    return json_object_size(selector) > 0;
}

static void read_wave(struct json_reader *r)
{
    int64_t number;
    bool count = json_reader_int(r, "count", false, 1, ROLLOUT_NODES_MAX, &number);
    bool percent = json_reader_int(r, "percent", false, 1, 100, &number);
    int given = rollout_pick_read(r) + count + percent;
    json_reader_end(r);
    if (r->object != NULL && (given != 1 || json_object_size(r->object) != 1))
        read_problem(r, NULL, "a wave has one of nodes, selector, count and percent");
}

static void read_waves(struct json_reader *r, struct rollout_settings *settings)
{
    const json_t *waves;
    if (!json_reader_array(r, "waves", false, ROLLOUT_WAVES_MAX, &waves))
        return;
    for (size_t i = 0; i < json_array_size(waves); i++) {
        struct json_reader wave;
        json_reader_element(r, "waves", i, json_array_get(waves, i), &wave);
        read_wave(&wave);
    }
    /* A copy of its own: the document belongs to another thread. */
    json_t *copy = json_deep_copy(waves);
    if (copy == NULL) {
        r->findings->nomem = true;
        return;
    }
    json_decref(settings->waves);
    settings->waves = copy;
}

void rollout_settings_read(struct json_reader *r, struct rollout_settings *settings)
{
    static const char *const confirms[] = {"auto", "manual", NULL};
    static const struct read_range timer = {ROLLOUT_TIME_MIN_NS, ROLLOUT_TIME_MAX_NS};
    static const struct read_range span = {0, ROLLOUT_TIME_MAX_NS};
    int manual = settings->manual;
    read_waves(r, settings);
    read_unavailable(r, settings);
    json_reader_enum(r, "confirm", false, confirms, &manual);
    settings->manual = manual == 1;
    read_duration(r, "confirm_timeout", &timer, &settings->confirm_timeout_ns);
    read_duration(r, "soak", &span, &settings->soak_ns);
    read_duration(r, "wave_deadline", &timer, &settings->wave_deadline_ns);
    rollout_verify_read(r, settings);
    if (settings->confirm_timeout_ns % NS_PER_S != 0)
        read_problem(r, "confirm_timeout", "is whole seconds: agents count it in seconds");
    if (settings->soak_ns >= settings->confirm_timeout_ns)
        read_problem(r, "soak",
                     "is not shorter than confirm_timeout: nodes would go back while it lasts");
}

bool rollout_settings_write(const struct rollout_settings *settings, json_t *object)
{
    json_t *waves = settings->waves == NULL ? json_array() : json_deep_copy(settings->waves);
    json_t *unavailable = json_integer(settings->unavailable);
    if (settings->unavailable_is_share) {
        char share[BANDWIDTH_TEXT_MAX];
        share_format(settings->unavailable, share);
        json_decref(unavailable);
        unavailable = json_string(share);
    }
    bool ok = write_member(object, "waves", waves);
    ok &= write_member(object, "max_unavailable", unavailable);
    ok &= write_member(object, "confirm", json_string(settings->manual ? "manual" : "auto"));
    ok &= write_duration(object, "confirm_timeout", settings->confirm_timeout_ns);
    ok &= write_duration(object, "soak", settings->soak_ns);
    ok &= settings->verify == NULL ||
          write_member(object, "verify", json_deep_copy(settings->verify));
    return ok && write_duration(object, "wave_deadline", settings->wave_deadline_ns);
}

void rollout_settings_init(struct rollout_settings *settings)
{
    *settings = (struct rollout_settings){.confirm_timeout_ns = 600 * NS_PER_S,
                                          .soak_ns = 30 * NS_PER_S,
                                          .wave_deadline_ns = 900 * NS_PER_S};
}

void rollout_settings_release(struct rollout_settings *settings)
{
    json_decref(settings->waves);
    json_decref(settings->verify);
    settings->waves = settings->verify = NULL;
}

enum err_code rollout_settings_copy(const struct rollout_settings *from,
                                    struct rollout_settings *out, struct err *err)
{
    struct rollout_settings copy = *from;
    copy.waves = from->waves == NULL ? NULL : json_deep_copy(from->waves);
    copy.verify = from->verify == NULL ? NULL : json_deep_copy(from->verify);
    if ((copy.waves == NULL) != (from->waves == NULL) ||
        (copy.verify == NULL) != (from->verify == NULL)) {
        rollout_settings_release(&copy);
        return err_nomem(err);
    }
    *out = copy;
    return ERR_OK;
}

size_t rollout_settings_unavailable(const struct rollout_settings *settings, size_t count)
{
    if (!settings->unavailable_is_share)
        return (size_t)settings->unavailable;
    return count * (size_t)settings->unavailable / SHARE_PERMYRIAD_FULL;
}

void rollout_policy_init(struct rollout_policy *policy)
{
    *policy = (struct rollout_policy){.staged = false};
    rollout_settings_init(&policy->settings);
}

void rollout_policy_release(struct rollout_policy *policy)
{
    rollout_settings_release(&policy->settings);
}

enum err_code rollout_policy_from_json(const json_t *document, struct rollout_policy *out,
                                       struct finding_list *findings, struct err *err)
{
    static const char *const modes[] = {"direct", "staged", NULL};
    static const char *const starts[] = {"manual", "auto", NULL};
    OWN_FINDINGS struct finding_list own;
    struct json_reader r;
    struct rollout_policy read;
    int mode = 0, start = 0;
    finding_list_init(&own);
    rollout_policy_init(&read);
    json_reader_init(&r, document, "", &own);
    json_reader_enum(&r, "mode", true, modes, &mode);
    json_reader_enum(&r, "start", false, starts, &start);
    rollout_settings_read(&r, &read.settings);
    json_reader_end(&r);
    read.staged = mode == 1;
    read.auto_start = start == 1;
    enum err_code code = read_result(&own, err);
    if (findings != NULL)
        finding_list_append(findings, &own);
    if (code != ERR_OK) {
        rollout_policy_release(&read);
        return code;
    }
    rollout_policy_release(out);
    *out = read;
    return ERR_OK;
}

enum err_code rollout_request_from_json(const json_t *document, struct rollout_settings *settings,
                                        struct finding_list *findings, struct err *err)
{
    OWN_FINDINGS struct finding_list own;
    struct json_reader r;
    struct rollout_settings read;
    const char *message;
    bool all = false;
    finding_list_init(&own);
    enum err_code code = rollout_settings_copy(settings, &read, err);
    if (code != ERR_OK)
        return code;
    json_reader_init(&r, document, "", &own);
    int given = rollout_pick_read(&r) + (json_reader_bool(&r, "all", false, &all) && all);
    rollout_settings_read(&r, &read);
    json_reader_string(&r, "message", false, 0, ROLLOUT_MESSAGE_MAX, &message);
    json_reader_end(&r);
    if (given != 1 && !finding_list_has_errors(&own))
        read_problem(&r, NULL, "give one of nodes, selector and \"all\": true");
    code = read_result(&own, err);
    if (findings != NULL)
        finding_list_append(findings, &own);
    struct rollout_settings old = *settings;
    if (code == ERR_OK)
        *settings = read;
    rollout_settings_release(code == ERR_OK ? &old : &read);
    return code;
}

bool rollout_request_has(const json_t *document, const struct view_node *node)
{
    return json_is_true(json_object_get(document, "all")) || rollout_pick_has(document, node);
}

json_t *rollout_policy_to_json(const struct rollout_policy *policy)
{
    OWN(json) json_t *object = json_object();
    if (object == NULL ||
        !write_member(object, "mode", json_string(policy->staged ? "staged" : "direct")) ||
        !write_member(object, "start", json_string(policy->auto_start ? "auto" : "manual")) ||
        !rollout_settings_write(&policy->settings, object))
        return NULL;
    return GIVE(object);
}

/* How many nodes a wave by number takes; a share of the whole is rounded up, so that it is never
 * none. */
static size_t wave_room(const json_t *wave, size_t count)
{
    json_int_t percent = json_integer_value(json_object_get(wave, "percent"));
    if (percent > 0)
        return (count * (size_t)percent + PERCENT_FULL - 1) / PERCENT_FULL;
    return (size_t)json_integer_value(json_object_get(wave, "count"));
}

size_t rollout_assign_waves(const struct rollout_settings *settings, const struct view *view,
                            const char *const *names, size_t count, uint32_t *out)
{
    uint32_t wave = 0;
    size_t left = count;
    for (size_t i = 0; i < count; i++)
        out[i] = UINT32_MAX;
    for (size_t w = 0; w < json_array_size(settings->waves) && left > 0; w++) {
        const json_t *spec = json_array_get(settings->waves, w);
        size_t room = wave_room(spec, count), taken = 0;
        for (size_t i = 0; i < count; i++) {
            const struct view_node *node = view_node_get(view, names[i]);
            if (out[i] != UINT32_MAX || node == NULL ||
                !(taken < room || rollout_pick_has(spec, node)))
                continue;
            out[i] = wave;
            taken++;
        }
        left -= taken;
        wave += taken > 0;
    }
    for (size_t i = 0; i < count; i++)
        if (out[i] == UINT32_MAX)
            out[i] = wave;
    return left > 0 ? wave + 1 : wave;
}
