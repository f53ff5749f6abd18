/*
 * datapath/solar/perf/perf.c - what client and server have in common.
 */
#include "datapath/solar/perf/perf.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "datapath/solar/bytes.h"

#define MAGIC 0x534f4c50u

static const char *const names[] = {
    [PERF_SEND_LAT] = "send_lat",   [PERF_WRITE_BW] = "write_bw",
    [PERF_READ_BW] = "read_bw",     [PERF_CPU] = "cpu",
    [PERF_INCAST] = "incast",       [PERF_TENANTS] = "tenants",
    [PERF_ALLREDUCE] = "allreduce",
};

#define TESTS ((int)(sizeof(names) / sizeof(names[0])))

const char *perf_test_name(enum perf_test test)
{
    return names[test];
}

bool perf_test_from_name(const char *name, enum perf_test *out)
{
    for (int i = 0; i < TESTS; i++)
        if (strcmp(names[i], name) == 0) {
            *out = (enum perf_test)i;
            return true;
        }
    return false;
}

void perf_request_put(const struct perf_request *request, uint8_t out[PERF_REQUEST_SIZE])
{
    uint8_t *p = bytes_put(out, MAGIC, 4);
    p = bytes_put(p, (uint64_t)request->test, 4);
    p = bytes_put(p, request->size_bytes, 4);
    bytes_put(p, request->depth, 4);
}

bool perf_request_get(const uint8_t data[PERF_REQUEST_SIZE], struct perf_request *out)
{
    uint32_t test = (uint32_t)bytes_get(data + 4, 4);
    struct perf_request r = {.size_bytes = (uint32_t)bytes_get(data + 8, 4),
                             .depth = (uint32_t)bytes_get(data + 12, 4)};
    if (bytes_get(data, 4) != MAGIC || test >= (uint32_t)TESTS || r.size_bytes == 0 ||
        r.size_bytes > PERF_SIZE_MAX || r.depth == 0 || r.depth > PERF_DEPTH_MAX)
        return false;
    r.test = (enum perf_test)test;
    *out = r;
    return true;
}

const char *perf_peer(const struct perf_options *options)
{
    return options->peer != NULL ? options->peer : options->address;
}

int64_t perf_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int64_t perf_cpu_ns(const struct perf_options *options)
{
    struct timespec own, other = {.tv_sec = 0};
    clockid_t clock;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &own);
    if (options->server_pid > 0 && clock_getcpuclockid(options->server_pid, &clock) == 0 &&
        clock_gettime(clock, &other) != 0)
        other = (struct timespec){.tv_sec = 0};
    return (int64_t)(own.tv_sec + other.tv_sec) * 1000000000 + own.tv_nsec + other.tv_nsec;
}

static int by_size(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

void perf_times(int64_t *samples, int64_t count, struct perf_result *result)
{
    if (count == 0)
        return;
    qsort(samples, (size_t)count, sizeof(*samples), by_size);
    result->min_ns = samples[0] / 2;
    result->p50_ns = samples[count / 2] / 2;
    result->p99_ns = samples[count * 99 / 100] / 2;
    result->p999_ns = samples[count * 999 / 1000] / 2;
    result->max_ns = samples[count - 1] / 2;
}
