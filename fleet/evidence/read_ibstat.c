/*
 * fleet/evidence/read_ibstat.c - ibstat and ibstatus of infiniband-diags.
 */
#include "fleet/evidence/common.h"
#include "fleet/evidence/readers.h"
#include "fleet/evidence/rules.h"

struct port { /* what is read of the one under way */
    struct slice device;
    bool in_port;
    struct slice state, physical;
    size_t state_line;
};

/* "'mlx5_0'" or "\"mlx5_0\"" or bare. */
static struct slice unquote(struct slice s)
{
    if (s.len >= 2 && (s.at[0] == '\'' || s.at[0] == '"') && s.at[s.len - 1] == s.at[0]) {
        s.at++;
        s.len -= 2;
    }
    return s;
}

static bool ca_row(struct slice line, struct slice *device)
{
    struct slice rest = line;
    if (!slice_skip(&rest, "CA '") && !slice_skip(&rest, "CA \"") && !slice_skip(&rest, "CA: '"))
        return false;
    *device = slice_word(&rest);
    if (device->len < 2 || rest.len > 0)
        return false;
    device->len--; /* the other quote */
    return is_device_name(*device);
}

static bool is_panic(struct slice line)
{
    return slice_starts(line, "ibpanic:") || slice_starts(line, "ibwarn:");
}

/* "ibstat DEVICE PORT": the rows of the port without their heads. */
static bool port_alone(const struct evidence_job *job, size_t i)
{
    return slice_starts(job_line(job, i), "State:") &&
           slice_starts(job_line(job, i + 1), "Physical state:");
}

static void alone_subject(struct evidence_job *job)
{
    struct slice rest = job->command, device, number;
    uint64_t port;
    (void)slice_word(&rest);
    device = slice_word(&rest);
    number = slice_word(&rest);
    if (job_command_has(job, "ibstat ") && is_device_name(device) && slice_uint(number, &port))
        job_subject(job, "port %.*s/%llu", (int)device.len, device.at, (unsigned long long)port);
    else
        job_subject(job, "port");
}

static bool begins(const struct evidence_job *job, size_t i)
{
    struct slice device, line = job_line(job, i);
    return ca_row(line, &device) || (is_panic(line) && slice_has(line, "IB device")) ||
           (slice_is(line, "Port 1:") && slice_starts(job_line(job, i + 1), "State:")) ||
           port_alone(job, i);
}

/* Names of the rows that are facts of the port; the others are of the device. */
static const struct {
    const char *key, *name, *unit;
    bool number;
} keys[] = {
    {"CA type", "type", "", false},
    {"Number of ports", "ports", "", true},
    {"Firmware version", "firmware", "", false},
    {"Hardware version", "hardware_version", "", false},
    {"Node GUID", "node_guid", "", false},
    {"System image GUID", "system_image_guid", "", false},
    {"State", "state", "", false},
    {"Physical state", "physical_state", "", false},
    {"Rate", "rate", "", false},
    {"Base lid", "base_lid", "", true},
    {"LMC", "lmc", "", true},
    {"SM lid", "sm_lid", "", true},
    {"Capability mask", "capability_mask", "", false},
    {"Port GUID", "port_guid", "", false},
    {"Link layer", "link_layer", "", false},
};
#define KEYS (sizeof(keys) / sizeof(keys[0]))

static bool is_zero_guid(struct slice s)
{
    (void)slice_skip(&s, "0x");
    for (size_t i = 0; i < s.len; i++) {
        if (s.at[i] != '0' && s.at[i] != ':')
            return false;
    }
    return s.len > 0;
}

/* "400", "40 (FDR10)". What stands there while the port is down is the driver's placeholder. */
static void put_rate(struct evidence_job *job, size_t i, struct slice value, struct slice state)
{
    struct slice rest;
    struct number number = number_front(value, &rest);
    if (number.kind == NUMBER_NONE || (rest.len > 0 && rest.at[0] != '(')) {
        put_unknown(job, i, "rate");
    } else if (slice_is(state, "Down")) {
        put_unknown(job, i, "rate");
        put_number(job, i, "rate_placeholder", slice_of(number.text), "Gb/s");
    } else {
        put_number(job, i, "rate", slice_of(number.text), "Gb/s");
    }
}

static bool put_row(struct evidence_job *job, size_t i, struct slice key, struct slice value,
                    struct slice state)
{
    for (size_t k = 0; k < KEYS; k++) {
        if (!slice_is(key, keys[k].key))
            continue;
        if (slice_is(key, "Firmware version"))
            put_firmware(job, i, value);
        else if (slice_is(key, "Rate"))
            put_rate(job, i, value, state);
        else if (keys[k].number)
            put_number(job, i, keys[k].name, value, keys[k].unit);
        else if (slice_ends(key, "GUID") && is_zero_guid(value))
            put_unknown(job, i, keys[k].name);
        else if (slice_is(key, "Link layer") && slice_is(value, "Unspecified"))
            put_unknown(job, i, keys[k].name);
        else if (slice_is_unknown(value))
            put_unknown(job, i, keys[k].name);
        else
            put_text(job, i, keys[k].name, value);
        return true;
    }
    return false;
}

static void end_port(struct evidence_job *job, struct port *port)
{
    if (port->in_port && port->state.len > 0 && port->physical.len > 0)
        judge_port(job, port->state_line, port->state, port->physical);
    port->state.len = port->physical.len = 0;
    port->in_port = false;
}

static void read_panic(struct evidence_job *job, size_t i, struct slice line)
{
    struct slice rest, device = slice_of("");
    if (slice_split(line, '\'', &device, &rest)) /* "'mlx5_9' IB device can't be found" */
        (void)slice_split(rest, '\'', &device, &rest);
    else if (slice_after(line, "IB device", &rest))
        device = unquote(slice_word(&rest));
    if (!slice_has(line, "IB device") || !is_device_name(device))
        return;
    job_subject(job, "rdma %.*s", (int)device.len, device.at);
    put_finding(job, i, RULE_DEVICE_VANISHED,
                "The tool died on %.*s: what it printed before is all that is known",
                (int)device.len, device.at);
}

static bool start_port(struct evidence_job *job, struct slice line, struct port *port)
{
    struct slice number = line;
    uint64_t value;
    if (!slice_skip(&number, "Port ") || !slice_ends(number, ":"))
        return false;
    number.len--;
    if (!slice_uint(number, &value))
        return false;
    end_port(job, port);
    job_subject(job, "port %.*s/%llu", (int)port->device.len, port->device.at,
                (unsigned long long)value);
    port->in_port = true;
    return true;
}

static size_t read(struct evidence_job *job, size_t i)
{
    struct port port = {.device = {.at = "", .len = 0}, .in_port = port_alone(job, i)};
    struct slice key, value, device;
    if (port.in_port)
        alone_subject(job);
    for (; i < job->line_count; i++) {
        struct slice line = job_line(job, i);
        if (line.len == 0)
            continue;
        if (ca_row(line, &device)) {
            end_port(job, &port);
            port.device = device;
            job_subject(job, "rdma %.*s", (int)device.len, device.at);
            continue;
        }
        if (is_panic(line)) {
            end_port(job, &port);
            read_panic(job, i, line);
            continue;
        }
        if (start_port(job, line, &port))
            continue;
        if (!slice_split(line, ':', &key, &value) ||
            !put_row(job, i, key, slice_trim(value), port.state))
            break;
        if (slice_is(key, "State")) {
            port.state = slice_trim(value);
            port.state_line = i;
        }
        if (slice_is(key, "Physical state"))
            port.physical = slice_trim(value);
    }
    end_port(job, &port);
    return i;
}

const struct evidence_reader reader_ibstat = {
    .kind = "ibstat",
    .tool = "ibstat",
    .begins = begins,
    .read = read,
};

/* ibstatus: "Infiniband device 'mlx5_0' port 1 status:" and rows like sysfs has them. */
static bool status_row(struct slice line, struct slice *device, struct slice *port)
{
    struct slice rest;
    if (!slice_starts(line, "Infiniband device") || !slice_after(line, "device", &rest))
        return false;
    *device = unquote(slice_word(&rest));
    if (!slice_is(slice_word(&rest), "port"))
        return false;
    *port = slice_word(&rest);
    uint64_t number;
    return is_device_name(*device) && slice_uint(*port, &number);
}

static bool status_begins(const struct evidence_job *job, size_t i)
{
    struct slice device, port;
    return status_row(job_line(job, i), &device, &port);
}

static const struct {
    const char *key, *name;
} status_keys[] = {
    {"default gid", "default_gid"},
    {"base lid", "base_lid"},
    {"sm lid", "sm_lid"},
    {"state", "state"},
    {"phys state", "physical_state"},
    {"rate", "rate"},
    {"link_layer", "link_layer"},
};

static bool put_status(struct evidence_job *job, size_t i, struct slice key, struct slice value,
                       struct slice state)
{
    for (size_t k = 0; k < sizeof(status_keys) / sizeof(status_keys[0]); k++) {
        struct slice rest;
        if (!slice_is(key, status_keys[k].key))
            continue;
        struct number number = number_front(value, &rest);
        if (slice_is(key, "rate") && number.kind != NUMBER_NONE) {
            if (slice_ends(state, "DOWN")) { /* the driver's placeholder */
                put_unknown(job, i, "rate");
                put_number(job, i, "rate_placeholder", slice_of(number.text), "Gb/s");
            } else {
                put_number(job, i, "rate", slice_of(number.text), "Gb/s");
            }
            put_text(job, i, "rate_text", value);
        } else if (slice_ends(key, " lid")) {
            put_number(job, i, status_keys[k].name, value, "");
        } else {
            put_text(job, i, status_keys[k].name, value);
        }
        return true;
    }
    return false;
}

static size_t status_read(struct evidence_job *job, size_t i)
{
    struct slice device, number, key, value;
    struct port port = {.in_port = false};
    for (; i < job->line_count; i++) {
        struct slice line = job_line(job, i);
        if (line.len == 0)
            continue;
        if (status_row(line, &device, &number)) {
            end_port(job, &port);
            job_subject(job, "port %.*s/%.*s", (int)device.len, device.at, (int)number.len,
                        number.at);
            port.in_port = true;
            continue;
        }
        if (!slice_split(line, ':', &key, &value) ||
            !put_status(job, i, key, slice_trim(value), port.state))
            break;
        if (slice_is(key, "state")) {
            port.state = slice_trim(value);
            port.state_line = i;
        }
        if (slice_is(key, "phys state"))
            port.physical = slice_trim(value);
    }
    end_port(job, &port);
    return i;
}

const struct evidence_reader reader_ibstatus = {
    .kind = "ibstat",
    .tool = "ibstatus",
    .begins = status_begins,
    .read = status_read,
};
