/*
 * datapath/counters.c - see counters.h: what its providers share, and the simulator.
 */
#include "datapath/counters.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/duration.h"

#define LABEL_PREFIX "stellar-job-"

void counters_free(struct counters *counters)
{
    if (counters != NULL)
        counters->ops->free(counters);
}

/* A path's part up to the next '/' or the line's end. */
static uint32_t label_of_part(const char *part, size_t len)
{
    static const char *const ends[] = {"", ".slice", ".scope", ".service"};
    char *rest;
    size_t prefix = strlen(LABEL_PREFIX);
    if (len <= prefix || strncmp(part, LABEL_PREFIX, prefix) != 0 || part[prefix] < '1' ||
        part[prefix] > '9')
        return 0;
    unsigned long long label = strtoull(part + prefix, &rest, 10);
    size_t end_len = len - (size_t)(rest - part);
    if (label > UINT32_MAX || rest > part + len)
        return 0;
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
        if (strlen(ends[i]) == end_len && strncmp(rest, ends[i], end_len) == 0)
            return (uint32_t)label;
    return 0;
}

uint32_t counters_label(const char *cgroup)
{
    uint32_t label = 0;
    while (label == 0 && *cgroup != '\0') {
        size_t len = strcspn(cgroup, "/\n");
        label = label_of_part(cgroup, len);
        cgroup += len + (cgroup[len] != '\0');
    }
    return label;
}

/* Simulator ------------------------------------------------------------------------------------ */

struct counters_sim {
    struct counters base;
    int port_count;
};

/* Each queue pair sends at a rate of its own and loses one packet in a million. */
static void tell_qp(const struct counters_sink *sink, int port, int qp, int64_t mono_ns)
{
    static const struct telemetry_name bytes = {"tx_bytes", TELEMETRY_STAYS, 0},
                                       packets = {"tx_packets", TELEMETRY_STAYS, 0},
                                       resent = {"local_ack_timeout_err", TELEMETRY_STAYS, 0};
    char device[PORT_ID_SIZE];
    struct telemetry_subject subject = {.number = (uint32_t)(17 + qp),
                                        .pid = (uint32_t)(1000 + qp)};
    int64_t sent = mono_ns / NS_PER_MS * (1 + qp); /* packets */
    snprintf(device, sizeof(device), "sim%d", port);
    sink->row(sink->arg, TELEMETRY_QP, device, &subject);
    sink->value(sink->arg, &packets, sent);
    sink->value(sink->arg, &bytes, sent * 4096);
    sink->value(sink->arg, &resent, sent / 1000000);
}

static enum err_code sim_read(struct counters *base, int64_t mono_ns,
                              const struct counters_sink *sink, struct err *err)
{
    static const struct telemetry_name sent = {"tx_bytes", TELEMETRY_STAYS, 0},
                                       received = {"rx_bytes", TELEMETRY_STAYS, 0},
                                       fcs = {"rx_fcs_errors", TELEMETRY_STAYS, 0};
    const struct counters_sim *sim = (const struct counters_sim *)base;
    (void)err;
    for (int i = 0; i < sim->port_count; i++) {
        struct telemetry_subject subject = {0};
        char device[PORT_ID_SIZE];
        snprintf(device, sizeof(device), "sim%d/0", i);
        sink->row(sink->arg, TELEMETRY_PORT, device, &subject);
        sink->value(sink->arg, &sent, mono_ns / NS_PER_MS * 4096 * 136);
        sink->value(sink->arg, &received, mono_ns / NS_PER_MS * 2048);
        sink->value(sink->arg, &fcs, 0);
        for (int qp = 0; qp < COUNTERS_SIM_QPS; qp++)
            tell_qp(sink, i, qp, mono_ns);
    }
    return ERR_OK;
}

static void sim_free(struct counters *base)
{
    free(base);
}

enum err_code counters_sim_new(int port_count, struct counters **out, struct err *err)
{
    static const struct counters_ops ops = {.read = sim_read, .free = sim_free};
    struct counters_sim *sim = calloc(1, sizeof(*sim));
    if (sim == NULL)
        return err_nomem(err);
    sim->base.ops = &ops;
    sim->port_count = port_count;
    *out = &sim->base;
    return ERR_OK;
}
