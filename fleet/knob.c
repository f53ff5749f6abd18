/*
 * fleet/knob.c - the table of knob kinds; doc/knobs.md says the same for people.
 */
#include "fleet/knob.h"

#include <string.h>

#define SYSCTL_CHARS    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-"
#define SYSCTL_NAME_MAX 95 /* a knob's id */

static const char *const disruption_names[] = {
    [DISRUPTION_NONE] = "none",
    [DISRUPTION_PAUSE] = "pause",
    [DISRUPTION_LINK_RESET] = "link-reset",
    [DISRUPTION_DRIVER_RELOAD] = "driver-reload",
    [DISRUPTION_REBOOT] = "reboot",
};
#define DISRUPTION_COUNT (sizeof(disruption_names) / sizeof(disruption_names[0]))

const char *disruption_name(enum disruption disruption)
{
    return (size_t)disruption < DISRUPTION_COUNT ? disruption_names[disruption] : "unknown";
}

bool disruption_from_name(const char *name, enum disruption *out)
{
    for (size_t i = 0; i < DISRUPTION_COUNT; i++) {
        if (strcmp(disruption_names[i], name) == 0) {
            *out = (enum disruption)i;
            return true;
        }
    }
    return false;
}

/* The order on a port is manager, global pause, trust, ETS, rates, buffers, PFC: drivers recompute
 * buffers and may toggle the link when PFC changes, so it comes last of the DCB kinds. */
const struct knob_kind knob_kinds[] = {
    {"host.modparam", 10, false, KNOB_VIEW_NEXT_BOOT, DISRUPTION_NONE, NULL,
     "kernel module parameter"},
    {"host.sysctl", 11, false, KNOB_VIEW_LIVE, DISRUPTION_NONE, NULL, "kernel setting"},
    {"host.thp", 12, false, KNOB_VIEW_LIVE, DISRUPTION_NONE, NULL, "transparent huge pages"},
    {"host.file", 13, true, KNOB_VIEW_LIVE, DISRUPTION_NONE, NULL,
     "file of environment variables for jobs"},
    {"devlink.param", 15, false, KNOB_VIEW_NEXT_BOOT, DISRUPTION_DRIVER_RELOAD, NULL,
     "parameter of a device's driver"},
    {"link.mtu", 20, false, KNOB_VIEW_LIVE, DISRUPTION_LINK_RESET, NULL, "MTU of the port"},
    {"link.coalesce", 21, false, KNOB_VIEW_LIVE, DISRUPTION_PAUSE, NULL,
     "when the port interrupts for what it received or sent"},
    {"link.arp", 22, false, KNOB_VIEW_LIVE, DISRUPTION_NONE, NULL,
     "ARP and reverse path filter of several ports in one subnet"},
    {"dcb.dcbx", 28, false, KNOB_VIEW_LIVE, DISRUPTION_PAUSE, NULL,
     "who manages the port's dcb: the host"},
    {"link.pause", 29, false, KNOB_VIEW_LIVE, DISRUPTION_LINK_RESET, NULL,
     "pause frames of the whole link"},
    {"dcb.app", 30, false, KNOB_VIEW_LIVE, DISRUPTION_PAUSE, NULL, "DSCP to priority map"},
    {"dcb.ets", 31, false, KNOB_VIEW_LIVE, DISRUPTION_PAUSE, NULL,
     "traffic classes and their bandwidth shares"},
    {"dcb.maxrate", 32, false, KNOB_VIEW_LIVE, DISRUPTION_NONE, NULL,
     "rate limit of each traffic class"},
    {"dcb.buffer", 33, false, KNOB_VIEW_LIVE, DISRUPTION_PAUSE, NULL, "receive buffers"},
    {"dcb.pfc", 34, false, KNOB_VIEW_LIVE, DISRUPTION_LINK_RESET, NULL, "priority flow control"},
    {"roce.cc", 35, false, KNOB_VIEW_LIVE, DISRUPTION_NONE, NULL,
     "congestion control of RoCE in the NIC"},
    {"roce.tos", 36, false, KNOB_VIEW_LIVE, DISRUPTION_NONE, NULL,
     "type of service of RDMA connections that ask for none"},
    {"devlink.rate", 37, true, KNOB_VIEW_LIVE, DISRUPTION_NONE, "node/stellar",
     "transmit guarantee and limit of a virtual function"},
    {"tc.clsact", 40, true, KNOB_VIEW_LIVE, DISRUPTION_NONE, NULL, "hook for filters"},
    {"tc.qdisc", 41, true, KNOB_VIEW_LIVE, DISRUPTION_PAUSE, NULL, "scheduler of the port"},
    {"tc.class", 42, true, KNOB_VIEW_LIVE, DISRUPTION_NONE, "5e11:fffe",
     "guarantee and limit of a job in the scheduler"},
    {"tc.red", 43, true, KNOB_VIEW_LIVE, DISRUPTION_NONE, NULL,
     "ECN marks as the queue of a class grows"},
    {"tc.flower", 44, true, KNOB_VIEW_LIVE, DISRUPTION_NONE, NULL, "flow table entry of a job"},
    {"solar.page", 45, true, KNOB_VIEW_LIVE, DISRUPTION_NONE, NULL,
     "what programs that use libsolar may send on the port"},
    {NULL, 0, false, KNOB_VIEW_LIVE, DISRUPTION_NONE, NULL, NULL},
};

const struct knob_kind *knob_kind_get(const char *name)
{
    for (const struct knob_kind *kind = knob_kinds; kind->name != NULL; kind++)
        if (strcmp(kind->name, name) == 0)
            return kind;
    return NULL;
}

enum disruption knob_disruption(const struct knob_kind *kind, const json_t *to)
{
    if (strcmp(kind->name, "devlink.param") != 0 || to == NULL)
        return kind->disruption;
    if (json_object_get(to, "permanent") != NULL)
        return DISRUPTION_REBOOT;
    return json_object_get(to, "driverinit") != NULL ? DISRUPTION_DRIVER_RELOAD : DISRUPTION_NONE;
}

const struct knob_kind *knob_base(const struct knob_kind *kind)
{
    bool stands = strcmp(kind->name, "tc.class") == 0 || strcmp(kind->name, "tc.red") == 0;
    return stands ? knob_kind_get("tc.qdisc") : NULL;
}

/* htb has no change operation (sch_htb.c), ets has. */
bool knob_changes_in_place(const struct knob_kind *kind, const json_t *from, const json_t *to)
{
    const char *was = json_string_value(json_object_get(from, "kind"));
    const char *will = json_string_value(json_object_get(to, "kind"));
    if (strcmp(kind->name, "tc.qdisc") != 0)
        return true;
    return was != NULL && will != NULL && strcmp(was, "ets") == 0 && strcmp(will, "ets") == 0;
}

bool knob_sysctl_is_managed(const char *name)
{
    static const char *const prefixes[] = {"net.", "vm.", "kernel.numa_", "kernel.sched_"};
    size_t len = strlen(name);
    if (len == 0 || len > SYSCTL_NAME_MAX || strspn(name, SYSCTL_CHARS) != len ||
        name[len - 1] == '.' || strstr(name, "..") != NULL)
        return false;
    for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
        if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0)
            return true;
    return false;
}

static int compare_ids(const struct knob_kind *kind, const char *a, const char *b)
{
    int order = strcmp(a, b);
    if (order == 0 || kind->first_id == NULL)
        return order;
    if (strcmp(a, kind->first_id) == 0)
        return -1;
    return strcmp(b, kind->first_id) == 0 ? 1 : order;
}

int knob_compare(const struct knob_kind *ka, const char *sa, const char *ia,
                 const struct knob_kind *kb, const char *sb, const char *ib)
{
    if (ka->rank != kb->rank)
        return ka->rank < kb->rank ? -1 : 1;
    int order = strcmp(sa, sb);
    return order != 0 ? order : compare_ids(ka, ia, ib);
}
