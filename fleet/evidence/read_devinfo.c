/*
 * fleet/evidence/read_devinfo.c - ibv_devinfo (plain and -v), show_gids.
 */
#include <string.h>

#include "fleet/evidence/common.h"
#include "fleet/evidence/readers.h"
#include "fleet/evidence/rules.h"

#define SIW_VENDOR 0x626d74 /* of siw, which is software (kernel: SIW_VENDOR_ID) */

static bool device_row(struct slice line, struct slice *device)
{
    if (!slice_skip(&line, "hca_id:"))
        return false;
    *device = slice_trim(line);
    return is_device_name(*device);
}

static bool begins(const struct evidence_job *job, size_t i)
{
    struct slice device;
    return device_row(job_line(job, i), &device);
}

/* What the judgement of a port needs. */
struct device {
    struct slice name;
    bool is_software, is_ethernet, in_port;
    uint64_t active_mtu, max_mtu;
    size_t mtu_line;
    struct slice state, physical;
    size_t state_line;
};

static void end_port(struct evidence_job *job, struct device *d)
{
    if (!d->in_port)
        return;
    if (d->state.len > 0)
        judge_port(job, d->state_line, d->state, d->physical);
    bool up = d->state.len == 0 || slice_has(d->state, "ACTIVE"); /* else no MTU is in use */
    if (up && d->is_ethernet && !d->is_software && d->active_mtu > 0)
        judge_mtu(job, d->mtu_line, d->active_mtu, d->max_mtu);
    d->in_port = d->is_ethernet = false;
    d->active_mtu = d->max_mtu = 0;
    d->state.len = d->physical.len = 0;
}

/* A device of a card that was shown before under other names: its ports became one device. */
static void judge_bond(struct evidence_job *job, size_t i, struct slice guid, struct slice device)
{
    const struct evidence *e = job->out;
    size_t seen = 0;
    for (size_t k = 0; k < e->fact_count; k++) {
        const struct evidence_fact *fact = &e->facts[k];
        if (strcmp(fact->name, "sys_image_guid") == 0 && slice_is(guid, fact->value) &&
            strcmp(fact->subject, job->subject) != 0)
            seen++;
    }
    if (seen > 1 && slice_has(device, "bond"))
        put_finding(job, i, RULE_RDMA_BOND, "%zu devices of one card are now the one device %.*s",
                    seen, (int)device.len, device.at);
}

/* "4096 (5)" is 4096; "PORT_ACTIVE (4)" stays a text without its code. */
static void put_coded(struct evidence_job *job, size_t i, const char *name, struct slice value)
{
    struct slice code = value, word = value, before;
    if (slice_split(value, '(', &before, &code) && slice_ends(code, ")"))
        word = slice_trim(before);
    put_value(job, i, name, word, "");
}

static bool is_zero(struct slice guid)
{
    for (size_t i = 0; i < guid.len; i++) {
        if (guid.at[i] != '0' && guid.at[i] != ':')
            return false;
    }
    return guid.len > 0;
}

static void note_port(struct device *d, size_t i, struct slice key, struct slice value)
{
    struct slice rest;
    struct number number = number_front(value, &rest);
    if (slice_is(key, "state")) {
        d->state = value;
        d->state_line = i;
    } else if (slice_is(key, "phys_state")) {
        struct slice word = value;
        d->physical = slice_word(&word);
    } else if (slice_is(key, "link_layer")) {
        d->is_ethernet = slice_is(value, "Ethernet");
    } else if (slice_is(key, "active_mtu") && number.is_unsigned) {
        d->active_mtu = number.value;
        d->mtu_line = i;
    } else if (slice_is(key, "max_mtu") && number.is_unsigned) {
        d->max_mtu = number.value;
    }
}

static void put_row(struct evidence_job *job, size_t i, struct slice key, struct slice value,
                    struct device *d)
{
    char name[EVIDENCE_NAME_MAX];
    uint64_t vendor;
    slice_copy(key, name, sizeof(name));
    if (slice_is(key, "fw_ver")) {
        put_firmware(job, i, value);
    } else if (slice_ends(key, "_guid")) {
        if (is_zero(value))
            put_unknown(job, i, name);
        else
            put_text(job, i, name, value);
    } else if (slice_is(key, "board_id") || slice_is(key, "link_layer")) {
        if (slice_is(value, "Unspecified") || slice_is_unknown(value))
            put_unknown(job, i, name);
        else
            put_text(job, i, name, value);
    } else {
        put_coded(job, i, name, value);
    }
    if (slice_is(key, "vendor_id") && slice_hex(value, &vendor)) {
        d->is_software = vendor == 0 || vendor == 0xffffff || vendor == SIW_VENDOR;
        put_text(job, i, "class", slice_of(d->is_software ? "software" : "hardware"));
    }
    if (slice_is(key, "sys_image_guid") && !is_zero(value))
        judge_bond(job, i, value, d->name);
    if (d->in_port)
        note_port(d, i, key, value);
}

/* "BAD_PKEY_CNTR": names of flags stand under their number; of some capabilities words do. */
static bool is_flag(struct slice s)
{
    static const char *const words[] = {"NO SUPPORT", "Delay drop", "tag matching not supported"};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (slice_is(s, words[i]))
            return true;
    }
    if (slice_ends(s, " offload"))
        return true;
    for (size_t i = 0; i < s.len; i++) {
        char c = s.at[i];
        if (!(c >= 'A' && c <= 'Z') && !(c >= '0' && c <= '9') && c != '_')
            return false;
    }
    return s.len >= 2 && s.at[0] >= 'A';
}

static bool key_is_plain(struct slice key)
{
    for (size_t i = 0; i < key.len; i++) {
        char c = key.at[i];
        if (!(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') && !(c >= '0' && c <= '9') &&
            strchr("_[] -", c) == NULL)
            return false;
    }
    return key.len > 0 && key.len < EVIDENCE_NAME_MAX;
}

/* "GID[  3]: ::ffff:192.0.2.7, RoCE v2", without the type in versions before rdma-core 34. */
static void put_table_gid(struct evidence_job *job, size_t i, struct slice key, struct slice value)
{
    struct slice index, rest, gid = value, type = {.len = 0};
    char subject[EVIDENCE_SUBJECT_MAX];
    uint64_t number;
    memcpy(subject, job->subject, sizeof(subject));
    if (slice_split(key, '[', &rest, &index) && slice_split(index, ']', &index, &rest) &&
        slice_uint(slice_trim(index), &number))
        job_subject(job, "%.150s gid %llu", subject, (unsigned long long)number);
    (void)slice_split(value, ',', &gid, &type);
    type = slice_trim(type);
    put_text(job, i, "gid", slice_word(&gid));
    if (slice_is(type, "RoCE v1") || slice_is(type, "IB/RoCE v1"))
        put_text(job, i, "gid_version", slice_of("v1"));
    else if (slice_is(type, "RoCE v2"))
        put_text(job, i, "gid_version", slice_of("v2"));
    else if (type.len > 0)
        put_text(job, i, "gid_type", type);
    memcpy(job->subject, subject, sizeof(subject));
}

static void start(struct evidence_job *job, struct device *d, struct slice name)
{
    end_port(job, d);
    *d = (struct device){.name = name};
    d->is_software = slice_starts(name, "rxe") || slice_starts(name, "siw");
    job_subject(job, "rdma %.*s", (int)name.len, name.at);
}

static size_t read(struct evidence_job *job, size_t i)
{
    struct device d = {.in_port = false};
    struct slice key, value, device;
    for (; i < job->line_count; i++) {
        struct slice line = job_line(job, i);
        uint64_t port;
        if (line.len == 0)
            continue;
        if (device_row(line, &device)) {
            start(job, &d, device);
            continue;
        }
        bool pair = slice_split(line, ':', &key, &value);
        value = pair ? slice_trim(value) : line;
        if (!pair && is_flag(line))
            continue;
        if (!pair || !key_is_plain(key) || job_is_prompt(job, i, NULL) ||
            job_stops(job, i, &reader_devinfo))
            break;
        if (slice_is(key, "port") && slice_uint(value, &port)) {
            end_port(job, &d);
            d.in_port = true;
            job_subject(job, "port %.*s/%llu", (int)d.name.len, d.name.at,
                        (unsigned long long)port);
            continue;
        }
        if (slice_starts(key, "GID"))
            put_table_gid(job, i, key, value);
        else
            put_row(job, i, slice_trim(key), value, &d);
    }
    end_port(job, &d);
    return i;
}

const struct evidence_reader reader_devinfo = {
    .kind = "ibv_devinfo",
    .tool = "ibv_devinfo",
    .begins = begins,
    .read = read,
};

/* show_gids: DEV PORT INDEX GID [IPv4] [VER] [DEV]; fields that a driver lacks are left out. */
static bool is_gid(struct slice s)
{
    size_t colons = 0;
    for (size_t i = 0; i < s.len; i++) {
        char c = s.at[i];
        bool hex = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
        if (c == ':')
            colons++;
        else if (!hex && c != '.')
            return false;
    }
    return colons >= 2 && s.len <= 45;
}

static bool gid_row(struct slice line, struct slice words[8], size_t *count)
{
    uint64_t number;
    *count = slice_words(line, words, 8);
    return *count >= 4 && *count <= 7 && is_device_name(words[0]) &&
           slice_uint(words[1], &number) && slice_uint(words[2], &number) && is_gid(words[3]);
}

static bool gids_begin(const struct evidence_job *job, size_t i)
{
    struct slice words[8], line = job_line(job, i);
    size_t count;
    return (slice_starts(line, "DEV") && slice_has(line, "PORT") && slice_has(line, "GID")) ||
           gid_row(line, words, &count);
}

static void put_gid(struct evidence_job *job, size_t i, const struct slice *words, size_t count)
{
    bool version = false, netdev = false;
    job_subject(job, "port %.*s/%.*s gid %.*s", (int)words[0].len, words[0].at, (int)words[1].len,
                words[1].at, (int)words[2].len, words[2].at);
    put_text(job, i, "gid", words[3]);
    for (size_t k = 4; k < count; k++) {
        if ((words[k].at[0] == 'v' || words[k].at[0] == 'V') && words[k].len == 2) {
            put_text(job, i, "gid_version", words[k]);
            version = true;
        } else if (slice_has(words[k], ".") && words[k].at[0] >= '0' && words[k].at[0] <= '9') {
            put_text(job, i, "ipv4", words[k]);
        } else {
            put_text(job, i, "netdev", words[k]);
            netdev = true;
        }
    }
    if (!version)
        put_unknown(job, i, "gid_version");
    if (!netdev)
        put_unknown(job, i, "netdev");
}

static size_t gids_read(struct evidence_job *job, size_t i)
{
    struct slice words[8], rest;
    size_t count;
    for (; i < job->line_count; i++) {
        struct slice line = job_line(job, i);
        if (line.len == 0 || slice_starts(line, "---") || slice_starts(line, "DEV"))
            continue;
        rest = line;
        if (slice_skip(&rest, "n_gids_found=")) {
            job_subject(job, "host");
            put_number(job, i, "gids_found", rest, "");
            return i + 1;
        }
        if (!gid_row(line, words, &count))
            break;
        put_gid(job, i, words, count);
    }
    return i;
}

const struct evidence_reader reader_show_gids = {
    .kind = "ibv_devinfo",
    .tool = "show_gids",
    .begins = gids_begin,
    .read = gids_read,
};

/* ibv_devices: "mlx5_0 b8599f0300c77ab8" below "device ... node GUID". */
static bool devices_begin(const struct evidence_job *job, size_t i)
{
    struct slice rest = job_line(job, i);
    return slice_is(slice_word(&rest), "device") && slice_is(rest, "node GUID");
}

static size_t devices_read(struct evidence_job *job, size_t i)
{
    struct slice words[2];
    uint64_t guid;
    for (i++; i < job->line_count; i++) {
        struct slice line = job_line(job, i);
        if (line.len == 0 || slice_starts(line, "------"))
            continue;
        if (slice_words(line, words, 2) != 2 || !is_device_name(words[0]) || words[1].len != 16 ||
            !slice_hex(words[1], &guid))
            break;
        job_subject(job, "rdma %.*s", (int)words[0].len, words[0].at);
        put_text(job, i, "node_guid", words[1]);
    }
    return i;
}

const struct evidence_reader reader_ibv_devices = {
    .kind = "ibv_devinfo",
    .tool = "ibv_devices",
    .begins = devices_begin,
    .read = devices_read,
};
