/*
 * fleet/evidence/read_sysfs.c - files of /sys/class/infiniband and /sys/class/net as people collect
 * them: "PATH:value" (grep), "PATH value", "name: value" after a cd (loops), "==> PATH <==" (head),
 * and debugfs tables of hns ("aeqe --- 3341").
 */
#include <stdio.h>
#include <string.h>

#include "fleet/evidence/common.h"
#include "fleet/evidence/readers.h"
#include "fleet/evidence/rules.h"

#define TWIN_WINDOW 512 /* facts that are looked at for the same counter at the device */

struct place { /* what a path says */
    struct slice device, port, name;
    struct slice ecn;   /* "roce_np" below /ecn/ */
    struct slice above; /* the folder of the file */
    bool is_rdma, is_hw, is_pci;
    char address[16];
};

static bool next_part(struct slice *path, struct slice *part)
{
    while (path->len > 0 && path->at[0] == '/') {
        path->at++;
        path->len--;
    }
    struct slice rest;
    if (path->len == 0)
        return false;
    if (!slice_split(*path, '/', part, &rest)) {
        *part = *path;
        path->len = 0;
    } else {
        *path = rest;
    }
    return true;
}

/* "[/sys/class/infiniband/]mlx5_0/ports/1/counters/link_downed", ".../net/eth0/statistics/x". */
static bool read_path(struct slice path, struct place *out)
{
    struct slice part, before = {.len = 0};
    bool rooted = false;
    *out = (struct place){.is_rdma = false};
    while (next_part(&path, &part)) {
        if (before.len > 0 && (slice_is(before, "infiniband") || slice_is(before, "net") ||
                               slice_is(before, "hns_roce"))) {
            out->device = part;
            out->is_rdma = !slice_is(before, "net");
            rooted = true;
        } else if (slice_is(part, "ports") && !rooted) {
            out->device = before;
            out->is_rdma = rooted = true;
        } else if (before.len > 0 && slice_is(before, "ports")) {
            out->port = part;
        }
        if (before.len > 0 && slice_is(before, "mlx5") && is_pci_address(part, out->address)) {
            out->device = part;
            out->is_pci = rooted = true;
        }
        if (before.len > 0 && slice_is(before, "ecn"))
            out->ecn = part;
        out->is_hw = out->is_hw || slice_is(part, "hw_counters");
        out->above = before;
        before = part;
    }
    out->name = before;
    uint64_t number;
    return rooted && is_device_name(out->device) &&
           (out->port.len == 0 || slice_uint(out->port, &number));
}

static bool is_attribute(struct slice name)
{
    static const char *const names[] = {
        "board_id",  "fw_ver",         "hca_type",  "hw_rev",
        "node_guid", "sys_image_guid", "node_desc", "node_type",
    };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (slice_is(name, names[i]))
            return true;
    }
    return false;
}

/* "mlx5_0/board_id": a device and an attribute that only RDMA devices have. */
static bool short_path(struct slice path, struct place *out)
{
    struct slice device, name;
    (void)slice_skip(&path, "./");
    if (!slice_split(path, '/', &device, &name) || !is_attribute(name) || !is_device_name(device))
        return false;
    *out = (struct place){.device = device, .name = name, .is_rdma = true};
    return true;
}

static bool is_file_name(struct slice s)
{
    bool letter = false;
    for (size_t i = 0; i < s.len; i++) {
        char c = s.at[i];
        bool hex = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || c == ':' || c == '.';
        if (c == ' ' || c == '\t')
            return false;
        letter = letter || !hex;
    }
    return letter;
}

/* ".../ports/1/gids/3", ".../gid_attrs/types/3": files whose names are numbers. */
static bool is_gid_file(struct slice path)
{
    static const char *const folders[] = {"/gids/", "/gid_attrs/types/", "/gid_attrs/ndevs/",
                                          "/pkeys/"};
    struct slice index;
    uint64_t number;
    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
        if (slice_after(path, folders[i], &index) && slice_uint(index, &number))
            return true;
    }
    return false;
}

/* The path in front of a row, whose last part is no PCI address, and the value. */
static bool split_path(struct slice line, struct slice *path, struct slice *value)
{
    *path = *value = (struct slice){.at = line.at, .len = 0};
    for (size_t i = 0; i < line.len && i < 256; i++) {
        char c = line.at[i];
        if (c != ':' && c != ' ' && c != '\t' && c != '=')
            continue;
        *path = (struct slice){.at = line.at, .len = i};
        *value = slice_trim((struct slice){.at = line.at + i + 1, .len = line.len - i - 1});
        const char *slash = i > 0 ? memrchr(line.at, '/', i) : NULL;
        if (slash == NULL)
            return false;
        struct slice last = {.at = slash + 1, .len = (size_t)(line.at + i - slash - 1)};
        if (is_file_name(last) || slice_has(*path, "/ecn/") || is_gid_file(*path))
            break;
        if (c != ':')
            return false;
    }
    if (value->len > 0 && (value->at[0] == '=' || value->at[0] == ':')) {
        value->at++;
        value->len--;
        *value = slice_trim(*value);
    }
    return path->len > 0 && path->len < line.len;
}

static bool path_row(struct slice line, struct place *place, struct slice *value)
{
    struct slice path = {.len = 0};
    return split_path(line, &path, value) && (read_path(path, place) || short_path(path, place)) &&
           place->name.len > 0 && place->name.at != place->device.at;
}

static bool header_row(struct slice line, struct slice *path)
{
    if (!slice_skip(&line, "==> ") || !slice_ends(line, " <=="))
        return false;
    line.len -= 4;
    struct place place;
    *path = line;
    return read_path(line, &place) || short_path(line, &place);
}

static bool name_row(struct slice line, struct slice *name, struct slice *value)
{
    struct slice rest;
    if (!slice_split(line, ':', name, value) && !slice_split(line, '=', name, value))
        return false;
    *name = slice_trim(*name);
    *value = slice_trim(*value);
    rest = *name;
    (void)slice_word(&rest);
    return rest.len == 0 && name->len > 0 && number_read(*value).kind == NUMBER_INTEGER;
}

static bool dash_row(struct slice line, struct slice *name, struct slice *value)
{
    const char *dash = slice_find(line, " --- ");
    if (dash == NULL)
        return false;
    *name = slice_trim((struct slice){.at = line.at, .len = (size_t)(dash - line.at)});
    struct slice rest = *name;
    (void)slice_word(&rest);
    return slice_after(line, " --- ", value) && rest.len == 0 &&
           number_read(*value).kind == NUMBER_INTEGER;
}

static bool is_rdma_name(struct slice name)
{
    struct counter counter;
    return counter_find(name, &counter) &&
           (counter.width > 0 || counter.class == COUNTER_RDMA ||
            counter.class == COUNTER_RDMA_RETRY || counter.class == COUNTER_RDMA_LOSS);
}

static bool is_loop(const struct evidence_job *job)
{
    return job_command_has(job, "counters") &&
           (job_command_has(job, "cd ") || job_command_has(job, "for "));
}

/* The one line below "cat /sys/class/infiniband/mlx5_0/tc/1/traffic_class". */
static bool cat_row(const struct evidence_job *job, size_t i, struct place *place)
{
    struct slice rest = job->command, word = slice_word(&rest), path;
    if (slice_is(word, "sudo"))
        word = slice_word(&rest);
    path = slice_word(&rest);
    if (!slice_is(word, "cat") || rest.len > 0 || !slice_starts(path, "/sys/") ||
        i != job->command_line + 1)
        return false;
    struct slice line = job_line(job, i);
    return read_path(path, place) && place->name.len > 0 &&
           (number_read(line).kind != NUMBER_NONE || slice_has(line, "tclass=")) &&
           (job_is_blank(job, i + 1) || job_is_prompt(job, i + 1, NULL));
}

static bool begins(const struct evidence_job *job, size_t i)
{
    struct slice line = job_line(job, i), name, value;
    struct place place;
    if (path_row(line, &place, &value) || header_row(line, &name) ||
        dash_row(line, &name, &value) || cat_row(job, i, &place))
        return true;
    return name_row(line, &name, &value) && (is_rdma_name(name) || is_loop(job));
}

static void set_subject(struct evidence_job *job, const struct place *place)
{
    const char *type = place->is_pci         ? "pci"
                       : !place->is_rdma     ? "netdev"
                       : place->port.len > 0 ? "port"
                                             : "rdma";
    if (place->port.len > 0)
        job_subject(job, "%s %.*s/%.*s", type, (int)place->device.len, place->device.at,
                    (int)place->port.len, place->port.at);
    else
        job_subject(job, "%s %.*s", type, (int)place->device.len, place->device.at);
}

/* The command's directory, for rows that are names alone. */
static struct place command_place(const struct evidence_job *job)
{
    struct slice rest = job->command;
    struct place place, none = {.is_rdma = false};
    for (struct slice word = slice_word(&rest); word.len > 0; word = slice_word(&rest)) {
        if (word.at[word.len - 1] == ';')
            word.len--;
        if (slice_has(word, "/") && read_path(word, &place))
            return place;
    }
    return none;
}

/* irdma shows one counter at the device and at its port: it counts once. */
static bool has_twin(const struct evidence_job *job, const struct place *place, struct slice name,
                     struct slice value)
{
    const struct evidence *e = job->out;
    struct counter counter;
    char wanted[EVIDENCE_SUBJECT_MAX];
    if (place->port.len == 0 || !place->is_hw)
        return false;
    struct slice device = place->device;
    memcpy(wanted, "rdma ", 5);
    slice_copy(device, wanted + 5, sizeof(wanted) - 5);
    bool listed = counter_find(name, &counter);
    size_t from = e->fact_count > TWIN_WINDOW ? e->fact_count - TWIN_WINDOW : 0;
    for (size_t i = from; i < e->fact_count; i++) {
        const struct evidence_fact *fact = &e->facts[i];
        if (strcmp(fact->subject, wanted) == 0 && slice_is(value, fact->value) &&
            (listed ? strcmp(fact->name, counter.name) == 0 : slice_is(name, fact->name)))
            return true;
    }
    return false;
}

struct states { /* of the port that is read */
    char subject[EVIDENCE_SUBJECT_MAX];
    struct slice physical;
};

static void put_attribute(struct evidence_job *job, size_t i, struct slice name, struct slice value,
                          struct states *states)
{
    char text[EVIDENCE_NAME_MAX];
    struct slice rest;
    slice_copy(name, text, sizeof(text));
    struct number number = number_front(value, &rest);
    if (strcmp(states->subject, job->subject) != 0) {
        memcpy(states->subject, job->subject, sizeof(states->subject));
        states->physical = (struct slice){.at = "", .len = 0};
    }
    if (slice_is(name, "fw_ver")) {
        put_firmware(job, i, value);
    } else if (slice_is(name, "rate") && number.kind != NUMBER_NONE) {
        put_number(job, i, "rate", slice_of(number.text), "Gb/s");
        put_text(job, i, "rate_text", value);
    } else if (slice_is(name, "phys_state")) {
        put_text(job, i, "physical_state", value);
        states->physical = value;
    } else if (slice_is(name, "state")) {
        put_text(job, i, "state", value);
        judge_port(job, i, value, states->physical);
    } else if (slice_is_unknown(value) || (slice_is(name, "speed") && slice_is(value, "-1"))) {
        put_unknown(job, i, text);
    } else if (number_read(value).kind == NUMBER_INTEGER) {
        (void)put_rdma_counter(job, i, name, value);
    } else {
        put_value(job, i, text, value, "");
    }
}

/* ".../gids/3", ".../gid_attrs/types/3": of one GID. */
static bool put_gid(struct evidence_job *job, size_t i, const struct place *place,
                    struct slice value)
{
    static const struct {
        const char *folder, *part, *name;
    } files[] = {{"gids", "gid", "gid"},
                 {"types", "gid", "gid_version"},
                 {"ndevs", "gid", "netdev"},
                 {"pkeys", "pkey", "pkey"}};
    uint64_t index;
    for (size_t k = 0; k < sizeof(files) / sizeof(files[0]); k++) {
        if (!slice_is(place->above, files[k].folder) || !slice_uint(place->name, &index))
            continue;
        job_subject(job, "port %.*s/%.*s %s %llu", (int)place->device.len, place->device.at,
                    (int)place->port.len, place->port.at, files[k].part, (unsigned long long)index);
        bool type = slice_is(place->above, "types");
        if (type && slice_is(value, "RoCE v2"))
            value = slice_of("v2");
        else if (type && slice_is(value, "IB/RoCE v1"))
            value = slice_of("v1");
        put_text(job, i, files[k].name, value);
        return true;
    }
    return false;
}

static void put_at(struct evidence_job *job, size_t i, const struct place *place, struct slice name,
                   struct slice value, struct states *states)
{
    uint64_t prio;
    if (put_gid(job, i, place, value))
        return;
    set_subject(job, place);
    if (place->ecn.len > 0) { /* mlx5: .../ecn/roce_np/cnp_dscp, .../ecn/roce_rp/enable/3 */
        char text[EVIDENCE_NAME_MAX];
        bool by_prio = slice_uint(name, &prio) && prio <= 7;
        struct slice last = by_prio ? place->above : name;
        snprintf(text, sizeof(text), "%.*s_%.*s", (int)place->ecn.len, place->ecn.at, (int)last.len,
                 last.at);
        if (by_prio)
            job_subject(job, "netdev %.*s prio %llu", (int)place->device.len, place->device.at,
                        (unsigned long long)prio);
        put_value(job, i, text, value, "");
    } else if (!has_twin(job, place, name, value)) {
        put_attribute(job, i, name, value, states);
    }
}

static void put_dashed(struct evidence_job *job, size_t i, const struct place *place,
                       struct slice name, struct slice value)
{
    char text[EVIDENCE_NAME_MAX];
    uint64_t number;
    slice_copy(name, text, sizeof(text));
    if (place->device.len > 0)
        set_subject(job, place);
    else
        job_subject(job, "rdma");
    put_number(job, i, text, value, "");
    if (slice_ends(name, "_err") && slice_uint(value, &number) && number > 0)
        put_past(job, i, RULE_DRIVER_ERRORS, "%s is %llu", text, (unsigned long long)number);
}

static size_t read(struct evidence_job *job, size_t i)
{
    struct place place, at = command_place(job);
    struct states states = {.physical = {.at = "", .len = 0}};
    struct slice name, value, path;
    for (; i < job->line_count; i++) {
        struct slice line = job_line(job, i);
        if (line.len == 0)
            continue;
        if (cat_row(job, i, &place)) {
            struct slice number = line;
            if (slice_after(line, "tclass=", &value)) /* "Global tclass=106" */
                number = slice_word(&value);
            put_at(job, i, &place, place.name, number, &states);
        } else if (header_row(line, &path)) {
            if (!read_path(path, &place))
                (void)short_path(path, &place);
            if (i + 1 < job->line_count && !header_row(job_line(job, i + 1), &path) &&
                !job_is_prompt(job, i + 1, NULL)) {
                i++;
                put_at(job, i, &place, place.name, job_line(job, i), &states);
            }
        } else if (path_row(line, &place, &value)) {
            put_at(job, i, &place, place.name, value, &states);
        } else if (dash_row(line, &name, &value)) {
            put_dashed(job, i, &at, name, value);
        } else if (slice_starts(line, "/sys/") && !slice_has(line, " ")) {
            continue; /* what "cd -" prints */
        } else if (name_row(line, &name, &value) && (is_rdma_name(name) || is_loop(job)) &&
                   !job_is_prompt(job, i, NULL)) {
            if (at.device.len > 0)
                put_at(job, i, &at, name, value, &states);
            else
                job_subject(job, "port"), (void)put_rdma_counter(job, i, name, value);
        } else {
            break;
        }
    }
    return i;
}

const struct evidence_reader reader_sysfs = {
    .kind = "sysfs-counters",
    .tool = "sysfs",
    .begins = begins,
    .read = read,
};
