/*
 * bench_health.c - what the rules cost of a fleet: each node's batch of queue pairs and ports taken
 * in and looked at. One batch is what the health desk's lock is held for. Times are the CPU's.
 *
 *   bench_health NODES QPS CYCLES     prints {"nodes":..,"batches":..,"per_s":..,"p50_us":..,
 * "p99_us":..,"max_us":..,"resident_bytes_per_node":..}; a cycle is ten seconds of the fleet
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "fleet/health_job.h"

#define SECONDS  10
#define START_US INT64_C(1790000040000000)
#define PORTS    2

/* Of this thread: what others take of the core is not counted. */
static int64_t now_ns(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
    return ts.tv_sec * INT64_C(1000000000) + ts.tv_nsec;
}

static void must(enum err_code code, const struct err *err)
{
    if (code == ERR_OK)
        return;
    fprintf(stderr, "bench_health: %s\n", err->text);
    exit(1);
}

static long resident_bytes(void)
{
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file == NULL || fscanf(file, "%*d %ld", &pages) != 1)
        pages = 0;
    if (file != NULL)
        fclose(file);
    return pages * sysconf(_SC_PAGESIZE);
}

static void add_row(struct telemetry_batch *batch, enum telemetry_kind kind, const char *device,
                    uint32_t number)
{
    struct telemetry_subject subject = {
        .kind = kind, .number = number, .label = kind == TELEMETRY_QP ? 1 + number % 4 : 0};
    struct err err = ERR_INIT;
    must(telemetry_device_add(batch, device, &subject.device, &err), &err);
    must(telemetry_row_add(batch, &subject, &err), &err);
}

/* A counter that grows by `step` each second. */
static void add_counter(struct telemetry_batch *batch, const char *text, int64_t step)
{
    struct telemetry_name name = {.course = TELEMETRY_STAYS};
    struct err err = ERR_INIT;
    uint16_t at;
    int64_t *values;
    snprintf(name.text, sizeof(name.text), "%s", text);
    must(telemetry_name_add(batch, &name, &at, &err), &err);
    must(telemetry_column_add(batch, at, &values, &err), &err);
    for (int i = 0; i < SECONDS; i++)
        values[i] = 1000 + ((int64_t)batch->seq * SECONDS + i) * step;
}

/* Ten seconds of a node on which all is well. */
static void fill(struct telemetry_batch *batch, uint64_t cycle, uint32_t qps)
{
    char device[PORT_ID_SIZE];
    telemetry_batch_clear(batch);
    batch->stream = 1;
    batch->seq = cycle;
    batch->interval_ms = 1000;
    batch->start_us = START_US + (int64_t)cycle * SECONDS * 1000000;
    batch->sample_count = SECONDS;
    for (uint32_t i = 0; i < SECONDS; i++)
        batch->offset_ms[i] = i * 1000;
    for (uint32_t i = 0; i < PORTS; i++) {
        snprintf(device, sizeof(device), "p%u", i);
        add_row(batch, TELEMETRY_PORT, device, 0);
        add_counter(batch, "rx_fcs_errors", 0);
        add_counter(batch, "link_down_events", 0);
        for (uint32_t k = 0; k < 8; k++) {
            add_row(batch, TELEMETRY_PRIORITY, device, k);
            add_counter(batch, "rx_pause", 1);
            add_counter(batch, "rx_pause_duration", 10);
        }
    }
    for (uint32_t i = 0; i < qps; i++) {
        snprintf(device, sizeof(device), "mlx5_%u", i % PORTS);
        add_row(batch, TELEMETRY_QP, device, i);
        add_counter(batch, "tx_bytes", 1000000000);
        add_counter(batch, "tx_packets", 250000);
        add_counter(batch, "retransmits", 0);
    }
}

static void promise(struct health *health)
{
    struct health_promise promises[PORTS * 4];
    struct err err = ERR_INIT;
    for (uint32_t i = 0; i < PORTS * 4; i++) {
        promises[i] = (struct health_promise){.label = 1 + i / PORTS,
                                              .speed_bps = 400000000000,
                                              .guarantee_bps = 10000000000,
                                              .limit_bps = 100000000000};
        snprintf(promises[i].job, sizeof(promises[i].job), "t/job%u", i / PORTS);
        snprintf(promises[i].port, sizeof(promises[i].port), "p%u", i % PORTS);
    }
    must(health_promise(health, promises, PORTS * 4, &err), &err);
    for (uint32_t i = 0; i < PORTS; i++) {
        char device[16], port[16];
        snprintf(device, sizeof(device), "mlx5_%u", i);
        snprintf(port, sizeof(port), "p%u", i);
        must(health_rdma_port(health, device, 1, port, &err), &err);
    }
}

static void on_change(void *arg, const struct health_status *status, enum health_state from)
{
    (void)status;
    (void)from;
    (*(uint64_t *)arg)++;
}

static int by_size(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
    size_t nodes = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;
    uint32_t qps = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 0;
    size_t cycles = argc > 3 ? strtoul(argv[3], NULL, 10) : 0;
    if (nodes == 0 || qps == 0 || cycles == 0) {
        fprintf(stderr, "usage: bench_health NODES QPS CYCLES\n");
        return 2;
    }
    struct err err = ERR_INIT;
    struct health_book *book = NULL;
    struct telemetry_batch batch;
    struct health **fleet = calloc(nodes, sizeof(*fleet));
    int64_t *took = calloc(nodes * cycles, sizeof(*took)), all_ns = 0;
    uint64_t changes = 0;
    size_t count = 0;
    if (fleet == NULL || took == NULL)
        return 1;
    telemetry_batch_init(&batch);
    must(health_book_new(&book, &err), &err);
    long before = resident_bytes();
    for (size_t i = 0; i < nodes; i++) {
        must(health_new(book, &fleet[i], &err), &err);
        promise(fleet[i]);
    }
    for (size_t c = 0; c < cycles; c++) {
        fill(&batch, c, qps);
        for (size_t i = 0; i < nodes; i++) {
            int64_t start_ns = now_ns();
            must(health_take_batch(fleet[i], &batch, &err), &err);
            must(health_look(fleet[i], HEALTH_FROM_NODE, batch.start_us, on_change, &changes, &err),
                 &err);
            took[count] = now_ns() - start_ns;
            all_ns += took[count++];
        }
    }
    long after = resident_bytes();
    qsort(took, count, sizeof(*took), by_size);
    printf("{\"nodes\":%zu,\"batches\":%zu,\"changes\":%llu,\"per_s\":%.0f,\"p50_us\":%.1f,"
           "\"p99_us\":%.1f,\"max_us\":%.1f,\"resident_bytes_per_node\":%ld}\n",
           nodes, count, (unsigned long long)changes, (double)count * 1e9 / (double)all_ns,
           (double)took[count / 2] / 1e3, (double)took[count * 99 / 100] / 1e3,
           (double)took[count - 1] / 1e3, (after - before) / (long)nodes);
    for (size_t i = 0; i < nodes; i++)
        health_free(fleet[i]);
    health_book_free(book);
    telemetry_batch_release(&batch);
    free(fleet);
    free(took);
    return 0;
}
