/*
 * fleet/evidence/read_ethtool_link.c - what a link is: ethtool DEVICE (settings), --show-fec, -m
 * (the transceiver's pages).
 */
#include <stdio.h>
#include <string.h>

#include "fleet/evidence/common.h"
#include "fleet/evidence/readers.h"
#include "fleet/evidence/rules_logs.h"

static bool row(struct slice line, struct slice *key, struct slice *value)
{
    if (!slice_split(line, ':', key, value))
        return false;
    *key = slice_trim(*key);
    *value = slice_trim(*value);
    return key->len > 0;
}

/* Settings --------------------------------------------------------------------------------------
 */

#define SETTINGS "Settings for "

static bool settings_begin(const struct evidence_job *job, size_t i)
{
    return slice_starts(job_line(job, i), SETTINGS);
}

/* "100000Mb/s"; "Unknown!" and what has another unit are unknown. */
static void put_speed(struct evidence_job *job, size_t i, struct slice value)
{
    struct slice unit;
    struct number number = number_front(value, &unit);
    if (number.kind == NUMBER_INTEGER && number.is_unsigned && slice_is(unit, "Mb/s"))
        put_uint(job, i, "speed", number.value, "Mb/s");
    else
        put_unknown(job, i, "speed");
}

/* "yes", "no", "no (No cable)". */
static void put_link(struct evidence_job *job, size_t i, struct slice value)
{
    struct slice word = value, state = slice_word(&word);
    if (!slice_is(state, "yes") && !slice_is(state, "no")) {
        put_unknown(job, i, "link_detected");
        return;
    }
    put_text(job, i, "link_detected", state);
    word = slice_trim(word);
    if (slice_skip(&word, "(") && slice_ends(word, ")")) {
        word.len--;
        put_text(job, i, "link_down_reason", word);
    }
    if (slice_is(state, "no"))
        put_finding(job, i, RULE_PORT_DOWN, "ethtool detects no link%s%.*s",
                    word.len > 0 ? ": " : "", (int)word.len, word.at);
}

static void put_setting(struct evidence_job *job, size_t i, struct slice key, struct slice value)
{
    static const struct {
        const char *key, *name;
    } rows[] = {
        {"Duplex", "duplex"},
        {"Auto-negotiation", "autoneg"},
        {"Port", "port_type"},
        {"Lanes", "lanes"},
        {"Transceiver", "transceiver"},
        {"Supported FEC modes", "fec_supported"},
        {"Advertised FEC modes", "fec_advertised"},
        {"Link partner advertised FEC modes", "fec_partner"},
        {"Supports auto-negotiation", "autoneg_supported"},
        {"Wake-on", "wake_on"},
    };
    if (slice_is(key, "Speed")) {
        put_speed(job, i, value);
        return;
    }
    if (slice_is(key, "Link detected")) {
        put_link(job, i, value);
        return;
    }
    for (size_t k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
        if (!slice_is(key, rows[k].key))
            continue;
        if (slice_is(value, "Not reported") || slice_starts(value, "Unknown!"))
            put_unknown(job, i, rows[k].name);
        else
            put_value(job, i, rows[k].name, value, "");
    }
}

/* Rows without a colon go on with the list above them: modes of a link, names of messages. */
static size_t settings_read(struct evidence_job *job, size_t i)
{
    (void)netdev_headline(job, i, SETTINGS);
    for (i++; !job_stops(job, i, NULL); i++) {
        struct slice key, value, line = job_line(job, i);
        if (line.len == 0)
            break;
        if (row(line, &key, &value))
            put_setting(job, i, key, value);
        else if (job->lines[i].indent == 0)
            break;
    }
    return i;
}

const struct evidence_reader reader_ethtool_settings = {
    .kind = "ethtool-link",
    .tool = "ethtool",
    .begins = settings_begin,
    .read = settings_read,
};

/* FEC -------------------------------------------------------------------------------------------
 */

#define FEC "FEC parameters for "

static bool fec_begins(const struct evidence_job *job, size_t i)
{
    return slice_starts(job_line(job, i), FEC);
}

static void put_fec_count(struct evidence_job *job, size_t i, const char *name, struct slice value)
{
    uint64_t count;
    put_number(job, i, name, value, "");
    if (strcmp(name, "fec_uncorrectable_blocks") == 0 && slice_uint(value, &count) && count > 0)
        put_past(job, i, RULE_SYMBOL_ERRORS, "%.*s blocks could not be corrected", (int)value.len,
                 value.at);
}

static size_t fec_read(struct evidence_job *job, size_t i)
{
    static const struct {
        const char *key, *name;
        bool count;
    } rows[] = {
        {"Supported/Configured FEC encodings", "fec_configured", false},
        {"Configured FEC encodings", "fec_configured", false},
        {"Active FEC encoding", "fec_active", false},
        {"Active FEC encodings", "fec_active", false},
        {"corrected_blocks", "fec_corrected_blocks", true},
        {"uncorrectable_blocks", "fec_uncorrectable_blocks", true},
        {"corrected_bits", "fec_corrected_bits", true},
    };
    struct slice key, value;
    (void)netdev_headline(job, i, FEC);
    for (i++; !job_stops(job, i, NULL) && row(job_line(job, i), &key, &value); i++) {
        for (size_t k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
            if (!slice_is(key, rows[k].key))
                continue;
            if (rows[k].count)
                put_fec_count(job, i, rows[k].name, value);
            else
                put_value(job, i, rows[k].name, value, "");
        }
    }
    return i;
}

const struct evidence_reader reader_ethtool_fec = {
    .kind = "ethtool-link",
    .tool = "ethtool --show-fec",
    .begins = fec_begins,
    .read = fec_read,
};

/* The transceiver -------------------------------------------------------------------------------
 */

/* "Identifier   : 0x11 (QSFP28)": the first row of each kind of page. */
static bool module_begins(const struct evidence_job *job, size_t i)
{
    struct slice key, value;
    return row(job_line(job, i), &key, &value) && slice_is(key, "Identifier") &&
           slice_starts(value, "0x") && slice_ends(value, ")");
}

/* "35.11 degrees C / 95.20 degrees F", "3.2946 V", "7.482 mA": the number and its unit. */
static bool put_measure(struct evidence_job *job, size_t i, const char *name, struct slice value)
{
    static const struct {
        const char *unit, *ours;
    } units[] = {{"degrees C", "C"}, {"V", "V"}, {"mA", "mA"}, {"mW", "mW"}, {"dBm", "dBm"}};
    struct slice rest;
    struct number number = number_front(value, &rest);
    for (size_t k = 0; number.kind != NUMBER_NONE && k < sizeof(units) / sizeof(units[0]); k++) {
        struct slice tail = rest;
        if (!slice_skip(&tail, units[k].unit) || (tail.len > 0 && tail.at[0] != ' '))
            continue;
        put_value(job, i, name, slice_of(number.text), units[k].ours);
        return true;
    }
    return false;
}

/* "0.9116 mW / -0.40 dBm" is two facts; no light is "-inf dBm". */
static void put_power(struct evidence_job *job, size_t i, const char *name, struct slice value)
{
    char full[EVIDENCE_NAME_MAX];
    struct slice watts, decibels;
    if (!slice_split(value, '/', &watts, &decibels)) {
        (void)put_measure(job, i, name, value);
        return;
    }
    (void)put_measure(job, i, name, slice_trim(watts));
    snprintf(full, sizeof(full), "%.*s_dbm", (int)(sizeof(full) - 5), name);
    if (!put_measure(job, i, full, slice_trim(decibels)))
        put_unknown(job, i, full);
}

static void put_module_row(struct evidence_job *job, size_t i, struct slice key, struct slice value)
{
    char name[EVIDENCE_NAME_MAX];
    fact_name("module", key, "", name); /* "module_laser_bias_current_channel_1" */
    bool flag = slice_is(value, "On") || slice_is(value, "Off");
    if (slice_has(key, "power") && slice_has(value, " mW")) {
        put_power(job, i, name, value);
    } else if (slice_starts(key, "Vendor") || slice_is(key, "Date code")) {
        if (slice_is_unknown(value))
            put_unknown(job, i, name);
        else
            put_text(job, i, name, value);
    } else if (!put_measure(job, i, name, value)) {
        put_value(job, i, name, value, "");
    }
    if (flag && slice_is(value, "On") && slice_has(key, " alarm") && !slice_has(key, "threshold"))
        put_finding(job, i, RULE_MODULE_ALARM, "%.*s is on", (int)key.len, key.at);
}

static size_t module_read(struct evidence_job *job, size_t i)
{
    static const char *const options[] = {"-m", "--module-info", "--dump-module-eeprom", NULL};
    struct slice key, value;
    netdev_subject(job, options);
    for (bool first = true; row(job_line(job, i), &key, &value); i++, first = false) {
        if (!first && (module_begins(job, i) || job_stops(job, i, NULL)))
            break;
        put_module_row(job, i, key, value);
    }
    return i;
}

const struct evidence_reader reader_ethtool_module = {
    .kind = "ethtool-link",
    .tool = "ethtool -m",
    .begins = module_begins,
    .read = module_read,
};
