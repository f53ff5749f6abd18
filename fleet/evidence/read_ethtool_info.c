/*
 * fleet/evidence/read_ethtool_info.c - ethtool -i DEVICE.
 */
#include "fleet/evidence/common.h"
#include "fleet/evidence/readers.h"
#include "fleet/evidence/rules.h"

/* Drivers of NICs that can speak RDMA, which is another question than whether this card does. */
static const char *const rdma_drivers[] = {
    "mlx5_core", "mlx4_en", "mlx4_core", "bnxt_en",   "ice", "i40e", "irdma",
    "idpf",      "qede",    "hns3",      "ionic",     "efa", "mana", "cxgb4",
    "enic",      "erdma",   "ib_ipoib",  "mlx5e_rep", NULL,
};

/* Interfaces that are no card: they say nothing of one. */
static const char *const no_cards[] = {
    "bonding",
    "bridge",
    "team",
    "tun",
    "veth",
    "macvlan",
    "ipvlan",
    "dummy",
    "vxlan",
    "macvtap",
    "openvswitch",
    "vcan",
    "802.1Q VLAN Support",
    "gre",
    "geneve",
    "vrf",
    "ifb",
    "netdevsim",
    NULL,
};

static bool row(struct slice line, struct slice *key, struct slice *value)
{
    if (!slice_split(line, ':', key, value))
        return false;
    *value = slice_trim(*value);
    return true;
}

static bool is_key(struct slice key)
{
    static const char *const keys[] = {
        "driver", "version", "firmware-version", "expansion-rom-version", "bus-info",
    };
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        if (slice_is(key, keys[i]))
            return true;
    }
    return slice_starts(key, "supports-");
}

/* One row may be a word of anything: the neighbour must be one too, except where a command says. */
static bool begins(const struct evidence_job *job, size_t i)
{
    struct slice key, value;
    if (!row(job_line(job, i), &key, &value) || !is_key(key))
        return false;
    if (slice_starts(key, "supports-") || slice_is(key, "expansion-rom-version") ||
        slice_is(key, "bus-info") || slice_is(key, "firmware-version"))
        return true;
    return row(job_line(job, i + 1), &key, &value) && is_key(key);
}

/* "mfw 8.37.7.0 storm 8.37.9.0" of qede and "1.27.5.0, TP 0.1.4.9" of cxgb4: the firmware of the
 * card, without that of its parts. */
static struct slice plain_version(struct slice value)
{
    struct slice first = value, rest;
    if (slice_skip(&first, "mfw "))
        return slice_word(&first);
    if (slice_has(value, ", TP ") && slice_split(value, ',', &first, &rest))
        return first;
    return value;
}

static void put_row(struct evidence_job *job, size_t i, struct slice key, struct slice value)
{
    char name[EVIDENCE_NAME_MAX];
    slice_copy(key, name, sizeof(name));
    if (slice_is(key, "firmware-version")) {
        struct slice version, psid;
        if (slice_after(value, "/pkg ", &psid)) { /* bnxt_en: firmware, and the package it is of */
            (void)slice_split(value, '/', &version, &psid);
            put_firmware(job, i, slice_trim(version));
            (void)slice_skip(&psid, "pkg ");
            put_text(job, i, "firmware_package", slice_trim(psid));
        } else if (slice_split(value, '(', &version, &psid) && slice_ends(psid, ")")) {
            psid.len--;
            put_firmware(job, i, slice_trim(version));
            put_text(job, i, "psid", psid);
        } else {
            put_firmware(job, i, plain_version(value));
        }
    } else if (slice_is(key, "bus-info") || slice_is(key, "driver") || value.len == 0) {
        put_text(job, i, name, value);
    } else if (slice_is_unknown(value)) {
        put_unknown(job, i, name);
    } else {
        put_text(job, i, name, value);
    }
}

static bool is_one_of(struct slice word, const char *const *words)
{
    while (*words != NULL && !slice_is(word, *words))
        words++;
    return *words != NULL;
}

static void judge_driver(struct evidence_job *job, size_t i, struct slice driver)
{
    struct slice base = driver, rest;
    (void)slice_split(driver, '[', &base, &rest); /* "mlx5_core[ib_ipoib]" */
    if (is_one_of(base, rdma_drivers) || is_one_of(driver, no_cards))
        return;
    put_finding(job, i, RULE_NIC_UNSUPPORTED, "Driver %.*s serves no RDMA NIC", (int)driver.len,
                driver.at);
}

static size_t read(struct evidence_job *job, size_t i)
{
    static const char *const options[] = {"--driver", "-i", NULL};
    struct slice key, value;
    netdev_subject(job, options);
    for (bool first = true; i < job->line_count; i++, first = false) {
        if (!row(job_line(job, i), &key, &value) || !is_key(key) ||
            (!first && slice_is(key, "driver")))
            break;
        put_row(job, i, key, value);
        if (slice_is(key, "driver"))
            judge_driver(job, i, value);
    }
    return i;
}

const struct evidence_reader reader_ethtool_info = {
    .kind = "ethtool-i",
    .tool = "ethtool",
    .begins = begins,
    .read = read,
};

#define PAUSE "Pause parameters for "

/* ethtool -a: "Pause parameters for eth0:", "RX:  on". */
static bool pause_begins(const struct evidence_job *job, size_t i)
{
    return slice_starts(job_line(job, i), PAUSE);
}

static size_t pause_read(struct evidence_job *job, size_t i)
{
    static const struct {
        const char *key, *name;
    } keys[] = {
        {"Autonegotiate", "pause_autoneg"},
        {"RX", "pause_rx"},
        {"TX", "pause_tx"},
        {"RX negotiated", "pause_rx_negotiated"},
        {"TX negotiated", "pause_tx_negotiated"},
    };
    struct slice key, value;
    bool statistics = false;
    (void)netdev_headline(job, i, PAUSE);
    for (i++; row(job_line(job, i), &key, &value); i++) {
        size_t k = 0;
        if (slice_is(key, "Statistics")) { /* ethtool -I -a */
            statistics = true;
            continue;
        }
        if (statistics && (slice_is(key, "tx_pause_frames") || slice_is(key, "rx_pause_frames"))) {
            uint64_t count = 0;
            if (put_counter(job, i, key, value, &count) && count > 0 && slice_starts(key, "rx"))
                put_finding(job, i, RULE_LINK_PAUSE,
                            "rx_pause_frames is %.*s: the whole link was paused (802.3x)",
                            (int)value.len, value.at);
            continue;
        }
        while (k < sizeof(keys) / sizeof(keys[0]) && !slice_is(key, keys[k].key))
            k++;
        if (k == sizeof(keys) / sizeof(keys[0]))
            break;
        put_value(job, i, keys[k].name, value, "");
    }
    return i;
}

const struct evidence_reader reader_ethtool_pause = {
    .kind = "pfc",
    .tool = "ethtool -a",
    .begins = pause_begins,
    .read = pause_read,
};
