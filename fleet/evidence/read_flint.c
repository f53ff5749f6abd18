/*
 * fleet/evidence/read_flint.c - flint/mstflint query and burn, mlxfwmanager query and update,
 * mlxfwreset, devlink dev flash.
 *
 * A burn is judged by its worst line: lines that say OK before a failure count for nothing.
 */
#include <string.h>

#include "fleet/evidence/common.h"
#include "fleet/evidence/readers.h"
#include "fleet/evidence/rules.h"
#include "fleet/evidence/rules_logs.h"

static const struct {
    const char *key, *name;
} query_keys[] = {
    {"Image type:", "image_type"},
    {"FW Version:", "firmware"},
    {"FW Version(Running):", "firmware_running"},
    {"FW Release Date:", "release_date"},
    {"Product Version:", "product_version"},
    {"Rom Info:", "rom"},
    {"Base GUID:", "base_guid"},
    {"Base MAC:", "base_mac"},
    {"Image VSD:", "image_vsd"},
    {"Device VSD:", "device_vsd"},
    {"PSID:", "psid"},
    {"Orig PSID:", "original_psid"},
    {"Security Attributes:", "security"},
    {"Security Ver:", "security_version"},
    {"Device Type:", "device_type"},
    {"Part Number:", "part_number"},
    {"PCI Device Name:", "device_name"},
    {"Status:", "status"},
    {"Default Update Method:", "update_method"},
    {"Current FW version on flash:", "firmware_flash"},
    {"New FW version:", "firmware_new"},
    {"Description:", "description"},
};
#define KEYS (sizeof(query_keys) / sizeof(query_keys[0]))

static int find_key(struct slice line, struct slice *value)
{
    for (size_t i = 0; i < KEYS; i++) {
        if (slice_starts(line, query_keys[i].key) && slice_after(line, query_keys[i].key, value))
            return (int)i;
    }
    return -1;
}

static bool is_failure(struct slice line)
{
    return slice_starts(line, "-E-") || slice_starts(line, "Fail :") ||
           slice_starts(line, "FAIL:") || slice_starts(line, "Fail:") ||
           slice_starts(line, "devlink answers:") || slice_starts(line, "kernel answers:") ||
           (slice_starts(line, "[fw") &&
            (slice_has(line, "failed") || slice_has(line, "timeout"))) ||
           slice_starts(line, "Error: ") || slice_starts(line, "Flashing failed") ||
           slice_has(line, "- FAILED") || slice_has(line, "Burning FW image failed");
}

static bool needs_reset(struct slice line)
{
    return slice_has(line, "To load new FW run") || slice_has(line, "new firmware by ") ||
           slice_starts(line, "Suggest rebooting") ||
           slice_has(line, "reboot is needed for the firmware update") ||
           slice_has(line, "reload needed to activate") ||
           slice_has(line, "Restart needed for updates") ||
           slice_has(line, "Please reboot machine to load new configurations") ||
           (slice_has(line, "reboot") && slice_starts(line, "-I-"));
}

static bool is_loaded(struct slice line)
{
    return slice_has(line, "FW was loaded successfully");
}

static bool is_written(struct slice line)
{
    return slice_has(line, "Flashing done") || slice_starts(line, "Firmware update is completed");
}

static bool is_progress(struct slice line)
{
    static const char *const starts[] = {
        "Burning ", "Restoring signature", "FSMST_INITIALIZE", "Writing ",
        "Device #", "Querying ",           "Found ",           "Preparing",
        "Flashing", "Updating ",           "Erasing ",         "Done",
        "[fw",      "Downloading ",        "Requested reset",  "Continue with reset",
    };
    for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++) {
        if (slice_starts(line, starts[i]))
            return true;
    }
    return slice_ends(line, "- OK") || slice_ends(line, "-   OK") || slice_starts(line, "-I-") ||
           slice_starts(line, "-W-") || slice_starts(line, "Versions:");
}

static bool starts_any(struct slice line, const char *const *words)
{
    for (size_t k = 0; words[k] != NULL; k++) {
        if (slice_starts(line, words[k]))
            return true;
    }
    return false;
}

/* "3: Driver restart and PCI reset", of mlxfwreset's levels. */
static bool is_level(struct slice line)
{
    return line.len > 3 && line.at[0] >= '0' && line.at[0] <= '9' && line.at[1] == ':' &&
           slice_has(line, "reset");
}

static bool query_begins(const struct evidence_job *job, size_t i)
{
    static const char *const sure[] = {"Image type:", "FW Version:", "Orig PSID:", NULL};
    return starts_any(job_line(job, i), sure);
}

static bool begins(const struct evidence_job *job, size_t i)
{
    static const char *const sure[] = {
        "Current FW version on flash:",
        "Device Type:",
        "Burning F",
        "FSMST_INITIALIZE",
        "Querying Mellanox devices",
        "PSID:",
        "Writing Boot image component",
        "Fail : The Digest",
        "Preparing to flash",
        "Requested reset level for device",
        "Firmware update is completed",
        "[fw",
        NULL,
    };
    struct slice line = job_line(job, i);
    return starts_any(line, sure) || (slice_starts(line, "Device #") && slice_has(line, ":")) ||
           (slice_starts(line, "-E-") && (slice_has(line, "PSID") || slice_has(line, "FW") ||
                                          slice_has(line, "image") || slice_has(line, "Burn"))) ||
           slice_starts(line, "-E- Cannot open Device") ||
           slice_has(line, "- Device is in Livefish") ||
           (is_failure(line) && job_command_has(job, "dev flash")) ||
           (slice_starts(line, "-I-") && (needs_reset(line) || is_loaded(line)));
}

/* "The PSID on flash (LNV0000000025) differs from the PSID in the given image (MT_0000000158)." */
static void read_mismatch(struct evidence_job *job, size_t i, struct slice line)
{
    static const struct {
        const char *before, *name;
    } psids[] = {{"on flash (", "psid"}, {"image (", "image_psid"}};
    struct slice rest, psid;
    for (size_t k = 0; k < 2; k++) {
        if (slice_after(line, psids[k].before, &rest) && slice_split(rest, ')', &psid, &rest))
            put_text(job, i, psids[k].name, psid);
    }
    put_finding(job, i, RULE_FLASH_PSID, "%.*s", (int)line.len, line.at);
}

struct flint {
    bool query;
    struct slice version; /* "FW Version:" */
    bool rom;             /* the line before was of "Rom Info:" */
};

static void put_word(struct evidence_job *job, size_t i, const char *name, struct slice value)
{
    if (slice_is_unknown(value))
        put_unknown(job, i, name);
    else
        put_text(job, i, name, value);
}

/* What is written is another than what runs. */
static void judge_running(struct evidence_job *job, size_t i, struct slice running,
                          const struct flint *f)
{
    if (f->version.len > 0 && running.len > 0 && !slice_is_unknown(running) &&
        (running.len != f->version.len || memcmp(running.at, f->version.at, running.len) != 0))
        put_finding(job, i, RULE_FIRMWARE_STAGED, "Firmware %.*s is stored, %.*s runs",
                    (int)f->version.len, f->version.at, (int)running.len, running.at);
}

static void put_key(struct evidence_job *job, size_t i, int key, struct slice value,
                    struct flint *f)
{
    const char *name = query_keys[key].name;
    f->rom = strcmp(name, "rom") == 0;
    if (strcmp(name, "firmware") == 0 && value.len > 0) {
        f->version = value;
        put_firmware(job, i, value);
    } else if (strcmp(name, "base_guid") == 0 || strcmp(name, "base_mac") == 0) {
        put_word(job, i, name, slice_word(&value)); /* a count stands behind */
    } else {
        put_word(job, i, name, value);
    }
    if (strcmp(name, "firmware_running") == 0)
        judge_running(job, i, value, f);
    if (strcmp(name, "status") == 0 && slice_starts(value, "Failed to "))
        put_finding(job, i, RULE_TOOL_FAILED, "%.*s", (int)value.len, value.at);
}

/* mlxfwmanager: "FW             22.32.0498     22.32.0498" below "Versions: Current Available". */
static bool read_versions(struct evidence_job *job, size_t i, struct slice line, struct flint *f)
{
    static const char *const names[] = {"FW", "PXE", "UEFI", "NVMe", "VIRTIO"};
    struct slice words[4], last;
    size_t n = slice_words(line, words, 4);
    if (n >= 3 && slice_is(words[0], "FW") && slice_is(words[1], "(Running)")) {
        put_word(job, i, "firmware_running", words[2]);
        judge_running(job, i, words[2], f);
        return true;
    }
    for (size_t k = 0; n >= 2 && n <= 3 && k < sizeof(names) / sizeof(names[0]); k++) {
        char name[32];
        if (!slice_is(words[0], names[k]))
            continue;
        slice_copy(words[0], name, sizeof(name));
        if (k == 0)
            put_firmware(job, i, words[1]);
        else
            put_word(job, i, name, words[1]);
        if (k == 0)
            f->version = words[1];
        last = n > 2 ? words[2] : slice_of("");
        memcpy(name + words[0].len, "_available", sizeof("_available"));
        put_word(job, i, name, last);
        return true;
    }
    return false;
}

static void read_failure(struct evidence_job *job, size_t i, struct slice line)
{
    if (slice_has(line, "borted by user")) {
        put_text(job, i, "result", slice_of("aborted"));
        return;
    }
    if (slice_has(line, "annot open") || slice_has(line, "ailed to open")) {
        put_finding(job, i, RULE_TOOL_FAILED, "%.*s", (int)line.len, line.at);
        return; /* before anything was written */
    }
    if (slice_has(line, "PSID mismatch") || slice_has(line, "differs from the PSID"))
        read_mismatch(job, i, line);
    else
        put_finding(job, i, RULE_FLASH_FAILED, "%.*s", (int)line.len, line.at);
    put_text(job, i, "result", slice_of("failed"));
}

/* Lines that say nothing and may stand between. */
static bool is_noise(struct slice line)
{
    return slice_starts(line, "---") || slice_starts(line, "GuidsNumber");
}

/* "Device #2: Updating FW ...": of a tool that goes over all cards. */
static void set_device(struct evidence_job *job, struct slice line, struct flint *f)
{
    struct slice number, rest;
    uint64_t index;
    if (!slice_skip(&line, "Device #") || !slice_split(line, ':', &number, &rest) ||
        !slice_uint(number, &index))
        return;
    job_subject(job, "firmware device %llu", (unsigned long long)index);
    f->version.len = 0;
}

/* "Chip Revision:         0" and what else a query of a newer tool says. */
static bool read_other(struct evidence_job *job, size_t i, struct slice line)
{
    struct slice key, value;
    char name[48];
    if (!slice_split(line, ':', &key, &value) || key.len == 0 || key.len >= sizeof(name) ||
        slice_columns(key, &key, 1) != 1)
        return false;
    slice_copy(key, name, sizeof(name));
    for (char *c = name; *c != '\0'; c++) {
        bool letter = (*c >= 'a' && *c <= 'z') || (*c >= '0' && *c <= '9');
        if (*c >= 'A' && *c <= 'Z')
            *c = (char)(*c + 'a' - 'A');
        else if (*c == ' ' || *c == '/')
            *c = '_';
        else if (!letter && strchr("()_-", *c) == NULL)
            return false;
    }
    value = slice_trim(value);
    if (slice_is_unknown(value))
        put_unknown(job, i, name);
    else
        put_text(job, i, name, value);
    return true;
}

static bool read_line(struct evidence_job *job, size_t i, struct flint *f)
{
    struct slice line = job_line(job, i), value;
    int key = find_key(line, &value);
    bool rom = f->rom;
    set_device(job, line, f);
    f->rom = false;
    if (key >= 0) {
        put_key(job, i, key, value, f);
        return true;
    }
    if (is_failure(line)) {
        read_failure(job, i, line);
        return true;
    }
    if (needs_reset(line)) {
        put_text(job, i, "result", slice_of("pending-reset"));
        put_finding(job, i, RULE_FIRMWARE_STAGED,
                    "The new firmware is written and does not run yet");
        return true;
    }
    if (is_loaded(line) || is_written(line)) {
        put_text(job, i, "result", slice_of("success"));
        if (is_loaded(line) &&
            evidence_finding(job->out, RULE_FIRMWARE_STAGED, job->subject) != NULL)
            put_verdict(job, i, RULE_FIRMWARE_STAGED, FINDING_INFO,
                        "The new firmware was written, and a reset loaded it");
        return true;
    }
    if (rom && slice_starts(line, "type=")) {
        put_text(job, i, "rom", line);
        f->rom = true;
        return true;
    }
    return read_versions(job, i, line, f) || is_progress(line) || is_level(line) ||
           is_noise(line) || (f->query && read_other(job, i, line));
}

static size_t read(struct evidence_job *job, size_t i)
{
    struct flint f = {.query = query_begins(job, i)};
    char device[64];
    size_t end = i, first = i;
    if (job_command_option(job, "-d", device, sizeof(device)))
        job_subject(job, "firmware %s", device);
    else if (job_command_option(job, "flash", device, sizeof(device)) &&
             strncmp(device, "pci/", 4) == 0)
        job_subject(job, "firmware %s", device + 4);
    else
        job_subject(job, "firmware");
    for (; i < job->line_count; i++) {
        struct slice line = job_line(job, i);
        if (line.len == 0)
            continue;
        if (job_is_prompt(job, i, NULL) ||
            (i > first && job_stops(job, i, &reader_flint) &&
             job_stops(job, i, &reader_flint_query)) ||
            !read_line(job, i, &f))
            break;
        end = i + 1;
    }
    return end;
}

const struct evidence_reader reader_flint_query = {
    .kind = "devlink-info",
    .tool = "flint",
    .begins = query_begins,
    .read = read,
};

const struct evidence_reader reader_flint = {
    .kind = "devlink-flash",
    .tool = "flint",
    .begins = begins,
    .read = read,
};
