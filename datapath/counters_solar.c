/*
 * datapath/counters_solar.c - see counters_solar.h.
 */
#include "datapath/counters_solar.h"

#include <stdio.h>
#include <string.h>

#include "datapath/solar_node.h"
#include "fleet/histogram.h"

#define FOLDER_SIZE 256
#define LATENCY     "latency"
#define NAME_CHARS  "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-"

#define AT(member) offsetof(struct report_qp, member)

static const struct {
    struct telemetry_name name;
    size_t offset;
    bool has_none; /* 0 is not known */
} columns[] = {
    {{"sent_bytes", TELEMETRY_STAYS, 0}, AT(sent_bytes), false},
    {{"sent_packets", TELEMETRY_STAYS, 0}, AT(sent_packets), false},
    {{"received_bytes", TELEMETRY_STAYS, 0}, AT(received_bytes), false},
    {{"resent_packets", TELEMETRY_STAYS, 0}, AT(resent_packets), false},
    {{"lost_packets", TELEMETRY_STAYS, 0}, AT(lost_packets), false},
    {{"spurious_packets", TELEMETRY_STAYS, 0}, AT(spurious_packets), false},
    {{"timeouts", TELEMETRY_STAYS, 0}, AT(timeouts), false},
    {{"rtt_ns", TELEMETRY_GAUGE, 0}, AT(rtt_ns), true},
    {{"rate_bps", TELEMETRY_GAUGE, 0}, AT(rate_bps), false},
    {{"window_bytes", TELEMETRY_GAUGE, 0}, AT(window_bytes), false},
};

static void tell_latencies(const struct counters_sink *sink, const struct histogram *latency)
{
    struct telemetry_name name;
    for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++)
        if (latency->counts[i] > 0 && histogram_column(LATENCY, i, &name))
            sink->value(sink->arg, &name, (int64_t)latency->counts[i]);
}

static void tell_qp(const struct counters_sink *sink, const struct report_qp *qp)
{
    static const struct telemetry_name bad_paths = {"bad_paths", TELEMETRY_GAUGE, 0};
    for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++) {
        int64_t value;
        memcpy(&value, (const char *)qp + columns[i].offset, sizeof(value));
        sink->value(sink->arg, &columns[i].name,
                    value == 0 && columns[i].has_none ? TELEMETRY_ABSENT : value);
    }
    sink->value(sink->arg, &bad_paths, qp->bad_paths);
    tell_latencies(sink, &qp->latency);
}

/* The interface's name is the process's word, and becomes a device's. */
static void tell_report(void *arg, uint32_t label, const struct report *report)
{
    const struct counters_sink *sink = arg;
    char device[PORT_ID_SIZE];
    size_t len = strlen(report->ifname);
    if (len == 0 || strspn(report->ifname, NAME_CHARS) != len)
        return;
    snprintf(device, sizeof(device), "solar/%s", report->ifname);
    for (size_t i = 0; i < report->count; i++) {
        const struct telemetry_subject subject = {
            .number = (uint32_t)(report->process & 0xffff) << 16 | report->qps[i].number,
            .pid = report->pid,
            .label = label};
        sink->row(sink->arg, TELEMETRY_QP, device, &subject);
        tell_qp(sink, &report->qps[i]);
    }
}

void counters_tell_solar(const char *root, const struct counters_sink *sink)
{
    char folder[FOLDER_SIZE];
    snprintf(folder, sizeof(folder), "%.*s" SOLAR_FOLDER, FOLDER_SIZE / 2, root);
    solar_reports(folder, tell_report, (void *)(uintptr_t)sink);
}
