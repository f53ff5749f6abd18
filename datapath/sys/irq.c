/*
 * datapath/sys/irq.c - see irq.h.
 */
#include "datapath/sys/irq.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "datapath/sys/sys.h"

#define CPUS_SIZE 128

struct group {
    char cpus[CPUS_SIZE];
    int vectors;
};
struct groups {
    struct group items[IRQ_GROUPS_MAX];
    size_t count;
    bool truncated;
};

/* Where its interrupts really go; where they may go, on kernels that do not say. */
static bool read_cpus(const char *root, const char *irq, char out[CPUS_SIZE])
{
    static const char *const names[] = {"effective_affinity_list", "smp_affinity_list"};
    char path[SYS_PATH_MAX];
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        snprintf(path, sizeof(path), "/proc/irq/%s/%s", irq, names[i]);
        if (sys_read(root, path, out, CPUS_SIZE, NULL) == ERR_OK && out[0] != '\0')
            return true;
    }
    return false;
}

static void count_vector(struct groups *groups, const char *cpus)
{
    for (size_t i = 0; i < groups->count; i++) {
        if (strcmp(groups->items[i].cpus, cpus) == 0) {
            groups->items[i].vectors++;
            return;
        }
    }
    if (groups->count == IRQ_GROUPS_MAX) {
        groups->truncated = true;
        return;
    }
    struct group *group = &groups->items[groups->count++];
    group->vectors = 1;
    memcpy(group->cpus, cpus, strlen(cpus) + 1);
}

static int compare_groups(const void *a, const void *b)
{
    const struct group *x = a, *y = b;
    long first = strtol(x->cpus, NULL, 10), second = strtol(y->cpus, NULL, 10);
    return first != second ? (first > second) - (first < second) : strcmp(x->cpus, y->cpus);
}

json_t *irq_facts(const char *root, const char *device)
{
    char path[SYS_PATH_MAX], cpus[CPUS_SIZE];
    OWN_SYS_LIST struct sys_list vectors;
    struct groups groups = {.count = 0};
    snprintf(path, sizeof(path), "%s/msi_irqs", device);
    sys_list(root, path, &vectors);
    if (vectors.count == 0)
        return NULL;
    for (size_t i = 0; i < vectors.count; i++)
        if (read_cpus(root, vectors.names[i], cpus))
            count_vector(&groups, cpus);
    qsort(groups.items, groups.count, sizeof(groups.items[0]), compare_groups);
    json_t *list = json_array();
    for (size_t i = 0; i < groups.count; i++)
        json_array_append_new(list, json_pack("{s:s,s:i}", "cpus", groups.items[i].cpus, "vectors",
                                              groups.items[i].vectors));
    json_t *facts = json_pack("{s:I,s:o}", "vectors", (json_int_t)vectors.count, "affinity", list);
    if (groups.truncated || vectors.truncated)
        json_object_set_new(facts, "truncated", json_true());
    return facts;
}
