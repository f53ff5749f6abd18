/*
 * datapath/sensor_irq.c - how many interrupts each NIC and accelerator raised, and whether one
 * processor takes them all. See sensor.h, sys/irq_spread.h.
 */
#include "datapath/sensor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "datapath/sys/irq_spread.h"
#include "datapath/sys/sys.h"

#define VECTORS_MAX 8192 /* of all devices */

static const struct telemetry_name interrupts = {"interrupts", TELEMETRY_STAYS, 0},
                                   vectors = {"vectors", TELEMETRY_GAUGE, 0},
                                   share = {"busiest_cpu_share_permyriad", TELEMETRY_GAUGE, 0},
                                   cpu = {"busiest_cpu", TELEMETRY_GAUGE, 0};

struct vector {
    uint32_t irq;
    uint32_t device; /* of devices.addresses; no padding: they are compared as bytes */
};

struct picture {
    struct sensor_devices devices;
    struct irq_columns columns;
    struct vector vectors[VECTORS_MAX]; /* sorted by irq */
    size_t vector_count;
    size_t of_device[SENSOR_DEVICES_MAX];
    bool known[SENSOR_DEVICES_MAX];
    uint64_t counts[SENSOR_DEVICES_MAX][IRQ_CPUS_MAX]; /* by column */
};

struct state {
    char root[SENSOR_ROOT_SIZE];
    struct sensor_devices devices;
    struct picture pictures[2], *now, *before; /* before: NULL = none yet */
};

static int compare_vectors(const void *a, const void *b)
{
    const struct vector *x = a, *y = b;
    return (x->irq > y->irq) - (x->irq < y->irq);
}

static void list_vectors(const char *root, struct picture *picture)
{
    char path[SYS_PATH_MAX];
    int64_t number;
    picture->vector_count = 0;
    for (size_t i = 0; i < picture->devices.count; i++) {
        OWN_SYS_LIST struct sys_list list;
        snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/msi_irqs",
                 picture->devices.addresses[i]);
        sys_list(root, path, &list);
        picture->of_device[i] = picture->vector_count;
        for (size_t v = 0; v < list.count && picture->vector_count < VECTORS_MAX; v++)
            if (sys_parse_int(list.names[v], &number) && number >= 0 && number <= UINT32_MAX)
                picture->vectors[picture->vector_count++] =
                    (struct vector){(uint32_t)number, (uint32_t)i};
        picture->of_device[i] = picture->vector_count - picture->of_device[i];
    }
    qsort(picture->vectors, picture->vector_count, sizeof(picture->vectors[0]), compare_vectors);
}

static void count_line(struct picture *picture, const char *line)
{
    const char *counts;
    struct vector key = {0};
    if (!irq_number_parse(line, &key.irq, &counts))
        return;
    const struct vector *vector = bsearch(&key, picture->vectors, picture->vector_count,
                                          sizeof(picture->vectors[0]), compare_vectors);
    if (vector == NULL)
        return;
    if (irq_counts_add(counts, picture->columns.count, picture->counts[vector->device]))
        picture->known[vector->device] = true;
}

static bool take_picture(const char *root, struct picture *picture)
{
    char path[SYS_PATH_MAX + 32];
    OWN(mem) void *memory = NULL;
    char *line = NULL;
    size_t size = 0;
    memset(picture->known, 0, sizeof(picture->known));
    snprintf(path, sizeof(path), "%s/proc/interrupts", root);
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return false;
    bool good = getline(&line, &size, file) > 0 && irq_columns_parse(line, &picture->columns);
    for (size_t i = 0; good && i < picture->devices.count; i++)
        memset(picture->counts[i], 0, picture->columns.count * sizeof(uint64_t));
    while (good && getline(&line, &size, file) > 0)
        count_line(picture, line);
    memory = line;
    fclose(file);
    return good;
}

/* The same devices with the same vectors on the same processors. */
static bool is_like(const struct picture *a, const struct picture *b)
{
    return a->vector_count == b->vector_count && a->columns.count == b->columns.count &&
           memcmp(a->devices.addresses, b->devices.addresses, sizeof(a->devices.addresses)) == 0 &&
           memcmp(a->vectors, b->vectors, a->vector_count * sizeof(a->vectors[0])) == 0 &&
           memcmp(a->columns.cpus, b->columns.cpus,
                  a->columns.count * sizeof(a->columns.cpus[0])) == 0;
}

static void tell(const struct state *state, size_t device, struct sensor_readings *out)
{
    const struct picture *now = state->now, *before = state->before;
    struct irq_spread spread;
    uint64_t sum = 0;
    if (!now->known[device])
        return;
    for (size_t i = 0; i < now->columns.count; i++)
        sum += now->counts[device][i];
    sensor_subject(out, TELEMETRY_IRQ, now->devices.addresses[device], 0);
    sensor_put(out, &vectors, (int64_t)now->of_device[device]);
    if (sum <= INT64_MAX)
        sensor_put(out, &interrupts, (int64_t)sum);
    bool known =
        before != NULL && before->known[device] &&
        irq_spread_between(&now->columns, before->counts[device], now->counts[device], &spread) &&
        spread.known;
    sensor_put(out, &share, known ? spread.share_permyriad : TELEMETRY_ABSENT);
    sensor_put(out, &cpu, known ? spread.cpu : TELEMETRY_ABSENT);
}

static void *start(const struct sensor_config *config)
{
    struct state *state = calloc(1, sizeof(*state));
    if (state != NULL) {
        memcpy(state->root, config->root, sizeof(state->root));
        state->now = &state->pictures[0];
    }
    return state;
}

static void look(void *arg, struct sensor_readings *out)
{
    struct state *state = arg;
    sensor_scan(state->root, &state->devices);
    state->now->devices = state->devices;
    list_vectors(state->root, state->now);
    if (!take_picture(state->root, state->now)) {
        state->before = NULL;
        return;
    }
    if (state->before != NULL && !is_like(state->before, state->now))
        state->before = NULL;
    for (size_t i = 0; i < state->now->devices.count; i++)
        tell(state, i, out);
    state->before = state->now;
    state->now = state->now == &state->pictures[0] ? &state->pictures[1] : &state->pictures[0];
}

const struct sensor_kind sensor_irq = {.name = "irq", .start = start, .look = look, .free = free};
