/*
 * fleet/evidence/read_devlink.c - devlink dev info.
 */
#include <string.h>

#include "fleet/evidence/common.h"
#include "fleet/evidence/readers.h"
#include "fleet/evidence/rules.h"

#define STORED_MAX 32

struct versions {
    struct slice name, value;
};

struct device {
    const char *group; /* NULL = none yet */
    struct versions running[STORED_MAX];
    size_t running_count;
};

/* "pci/0000:af:00.0:", "auxiliary/mlx5_core.sf.2:" */
static bool device_row(struct slice line, struct slice *handle)
{
    struct slice bus, name;
    if (!slice_ends(line, ":") || slice_has(line, " ") || line.len > 80)
        return false;
    line.len--;
    if (!slice_split(line, '/', &bus, &name) || !is_device_name(bus) || !is_device_name(name))
        return false;
    *handle = line;
    return true;
}

static void set_subject(struct evidence_job *job, struct slice handle)
{
    if (!devlink_subject(job, handle))
        job_subject(job, "device %.*s", (int)handle.len, handle.at);
}

static bool is_group(struct slice line, const char **group)
{
    static const char *const groups[] = {"fixed", "running", "stored"};
    for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++) {
        struct slice word = line;
        if (slice_skip(&word, groups[i]) && slice_is(word, ":")) {
            *group = groups[i];
            return true;
        }
    }
    return false;
}

static bool begins(const struct evidence_job *job, size_t i)
{
    struct slice next = job_line(job, i + 1), line = job_line(job, i), handle;
    if (device_row(line, &handle))
        return slice_starts(next, "driver ") || slice_starts(next, "serial") ||
               slice_is(next, "versions:") || slice_starts(next, "board.");
    return slice_is(line, "versions:");
}

static void put_version(struct evidence_job *job, size_t i, const char *group, struct slice name,
                        struct slice value)
{
    char text[EVIDENCE_NAME_MAX];
    char full[EVIDENCE_NAME_MAX];
    slice_copy(name, text, sizeof(text) - 16);
    size_t len = strlen(group);
    memcpy(full, group, len);
    full[len] = ' ';
    slice_copy(slice_of(text), full + len + 1, sizeof(full) - len - 1);
    if (slice_is_unknown(value))
        put_unknown(job, i, full);
    else
        put_text(job, i, full, value);
}

/* What is stored is another than what runs: it waits for a reload. */
static void judge_stored(struct evidence_job *job, size_t i, const struct device *d,
                         struct slice name, struct slice value)
{
    for (size_t k = 0; k < d->running_count; k++) {
        const struct versions *v = &d->running[k];
        if (v->name.len != name.len || memcmp(v->name.at, name.at, name.len) != 0)
            continue;
        if (v->value.len != value.len || memcmp(v->value.at, value.at, value.len) != 0)
            put_finding(job, i, RULE_FIRMWARE_STAGED, "%.*s %.*s is stored, %.*s runs",
                        (int)name.len, name.at, (int)value.len, value.at, (int)v->value.len,
                        v->value.at);
        return;
    }
}

static void read_version(struct evidence_job *job, size_t i, struct slice line, struct device *d)
{
    struct slice value = line, name = slice_word(&value);
    put_version(job, i, d->group, name, value);
    if (strcmp(d->group, "running") == 0 && d->running_count < STORED_MAX)
        d->running[d->running_count++] = (struct versions){.name = name, .value = value};
    if (strcmp(d->group, "stored") == 0)
        judge_stored(job, i, d, name, value);
}

/* "00-01-00-ff-ff-00-00-00": an Ethernet address that was never set. */
bool devlink_placeholder(struct slice serial)
{
    return slice_has(serial, "-00-00-00") || slice_has(serial, "ff-ff-ff-ff");
}

static bool read_key(struct evidence_job *job, size_t i, struct slice line)
{
    struct slice value;
    if (slice_starts(line, "driver ") && slice_after(line, "driver ", &value)) {
        put_text(job, i, "driver", value);
        return true;
    }
    if (slice_starts(line, "board.serial_number ") && slice_after(line, " ", &value)) {
        put_text(job, i, "board.serial_number", value);
        return true;
    }
    value = line;
    if (slice_skip(&value, "serial_number ") || slice_skip(&value, "serial number ")) {
        value = slice_trim(value);
        if (devlink_placeholder(value))
            put_unknown(job, i, "serial_number");
        else
            put_text(job, i, "serial_number", value);
        return true;
    }
    return false;
}

static bool is_version(struct slice line)
{
    struct slice rest = line, name = slice_word(&rest);
    return name.len > 0 && rest.len > 0 && !slice_ends(name, ":") &&
           (slice_has(name, ".") || slice_starts(name, "fw") || slice_starts(name, "board") ||
            slice_starts(name, "asic"));
}

static size_t read(struct evidence_job *job, size_t i)
{
    struct device d = {.group = NULL};
    struct slice handle;
    job_subject(job, "pci");
    for (; i < job->line_count; i++) {
        struct slice line = job_line(job, i);
        if (line.len == 0 || slice_is(line, "versions:"))
            continue;
        if (device_row(line, &handle)) {
            d = (struct device){.group = NULL};
            set_subject(job, handle);
        } else if (is_group(line, &d.group) || read_key(job, i, line)) {
            continue;
        } else if (d.group != NULL && is_version(line) && !job_is_prompt(job, i, NULL)) {
            read_version(job, i, line, &d);
        } else {
            break;
        }
    }
    return i;
}

const struct evidence_reader reader_devlink_info = {
    .kind = "devlink-info",
    .tool = "devlink",
    .begins = begins,
    .read = read,
};
