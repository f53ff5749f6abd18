/*
 * fleet/evidence/read_ethtool_json.c - ethtool --json: counters (-S --groups), pause (-a).
 */
#include <stdio.h>
#include <string.h>

#include "fleet/evidence/common.h"
#include "fleet/evidence/readers.h"
#include "fleet/evidence/rules.h"
#include "fleet/evidence/tool_json.h"

static const char *const groups[] = {"eth-mac", "eth-phy", "eth-ctrl", "rmon"};

static bool stats_begins(const struct evidence_job *job, size_t i)
{
    static const char *const keys[] = {"\"eth-mac\"", "\"eth-phy\"", "\"eth-ctrl\"", "\"rmon\"",
                                       NULL};
    return tool_json_begins(job, i, "\"ifname\"", keys);
}

static bool pause_begins(const struct evidence_job *job, size_t i)
{
    static const char *const keys[] = {"\"autonegotiate\"", NULL};
    return tool_json_begins(job, i, "\"ifname\"", keys);
}

static void set_subject(struct evidence_job *job, const json_t *object)
{
    const char *name = tool_json_text(object, "ifname");
    job_subject(job, "netdev%s%.64s", name[0] != '\0' ? " " : "", name);
}

/* A counter; what the rules say of it. */
static void put_count(struct evidence_job *job, size_t line, const char *name, const json_t *value)
{
    static const struct {
        enum counter_class class;
        const char *rule, *words;
        uint64_t many; /* fewer may be old and say less */
    } judgements[] = {
        {COUNTER_FCS, RULE_FCS_ERRORS, "frames arrived with a wrong check sequence", UINT64_MAX},
        {COUNTER_SYMBOL, RULE_SYMBOL_ERRORS, "the link delivered symbols that do not exist",
         SYMBOLS_MANY},
        {COUNTER_LINK_PAUSE, RULE_LINK_PAUSE, "the whole link was paused (802.3x)", 1},
    };
    struct counter counter;
    char text[32];
    uint64_t number;
    tool_json_word(value, text, sizeof(text));
    if (text[0] == '\0')
        return;
    bool known = put_counter(job, line, slice_of(name), slice_of(text), &number);
    if (!known || number == 0 || !counter_find(slice_of(name), &counter))
        return;
    for (size_t i = 0; i < sizeof(judgements) / sizeof(judgements[0]); i++) {
        if (counter.class == judgements[i].class && number >= judgements[i].many)
            put_finding(job, line, judgements[i].rule, "%s is %s: %s", name, text,
                        judgements[i].words);
        else if (counter.class == judgements[i].class)
            put_past(job, line, judgements[i].rule, "%s is %s: %s", name, text,
                     judgements[i].words);
    }
}

static void read_stats(struct evidence_job *job, struct json_part *part, const json_t *object)
{
    const char *key, *name;
    json_t *value, *count;
    set_subject(job, object);
    json_object_foreach((json_t *)object, key, value)
    {
        bool group = false;
        (void)json_part_line(part, key);
        for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++)
            group = group || strcmp(key, groups[i]) == 0;
        json_object_foreach(group ? value : NULL, name, count)
        {
            char full[EVIDENCE_NAME_MAX];
            size_t line = json_part_line(part, name);
            snprintf(full, sizeof(full), "%s-%s", key, name); /* as the text has it */
            put_count(job, line, full, count);
        }
    }
}

static void put_switch(struct evidence_job *job, size_t line, const char *name, const json_t *value)
{
    if (json_is_boolean(value))
        put_text(job, line, name, slice_of(json_is_true(value) ? "on" : "off"));
    else
        json_part_put(job, line, name, value, "");
}

static void read_pause(struct evidence_job *job, struct json_part *part, const json_t *object)
{
    static const struct {
        const char *key, *name;
    } names[] = {
        {"autonegotiate", "pause_autoneg"},
        {"rx", "pause_rx"},
        {"tx", "pause_tx"},
    };
    const char *key, *name;
    json_t *value, *count;
    set_subject(job, object);
    json_object_foreach((json_t *)object, key, value)
    {
        size_t line = json_part_line(part, key);
        for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
            if (strcmp(key, names[i].key) == 0)
                put_switch(job, line, names[i].name, value);
        }
        bool agreed = strcmp(key, "negotiated") == 0;
        json_object_foreach(json_is_object(value) ? value : NULL, name, count)
        {
            line = json_part_line(part, name);
            if (agreed && strcmp(name, "rx") == 0)
                put_switch(job, line, "pause_rx_negotiated", count);
            else if (agreed && strcmp(name, "tx") == 0)
                put_switch(job, line, "pause_tx_negotiated", count);
            else if (!agreed)
                put_count(job, line, name, count);
        }
    }
}

static size_t stats_read(struct evidence_job *job, size_t i)
{
    return tool_json_read(job, i, read_stats);
}

static size_t pause_read(struct evidence_job *job, size_t i)
{
    return tool_json_read(job, i, read_pause);
}

const struct evidence_reader reader_ethtool_stats_json = {
    .kind = "ethtool-S", .tool = "ethtool --json", .begins = stats_begins, .read = stats_read};
const struct evidence_reader reader_ethtool_pause_json = {
    .kind = "pfc", .tool = "ethtool --json -a", .begins = pause_begins, .read = pause_read};
