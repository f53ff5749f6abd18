/*
 * fleet/inventory_hardware.c - see inventory_hardware.h.
 */
#include "fleet/inventory_hardware.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "fleet/read.h"
#include "fleet/shape.h"

#define PCIE_GEN_MAX    8
#define PCIE_WIDTH_MAX  32
#define CPU_SOCKETS_MAX 64
#define CPU_CORES_MAX   65536
#define NUMA_NODE_MAX   1023
#define NVLINKS_MAX     256
#define PCI_ID_MAX      15
#define GPU_ID_CHARS    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.:-"

static void read_int(struct json_reader *r, const char *key, int64_t max, int *out)
{
    int64_t value = -1;
    json_reader_int(r, key, false, 1, max, &value);
    *out = (int)value;
}

void pcie_from_json(struct json_reader *device, struct pcie_link *out)
{
    struct json_reader r;
    *out =
        (struct pcie_link){.current_gen = -1, .max_gen = -1, .current_width = -1, .max_width = -1};
    if (!json_reader_object(device, "pcie", false, &r))
        return;
    read_int(&r, "current_gen", PCIE_GEN_MAX, &out->current_gen);
    read_int(&r, "max_gen", PCIE_GEN_MAX, &out->max_gen);
    read_int(&r, "current_width", PCIE_WIDTH_MAX, &out->current_width);
    read_int(&r, "max_width", PCIE_WIDTH_MAX, &out->max_width);
    json_reader_bool(&r, "aer", false, &out->aer);
    json_reader_end(&r);
}

static const struct shape gpu_shape[] = {
    {"serial", SHAPE_TEXT, 0, INVENTORY_TEXT_MAX - 1, offsetof(struct gpu, serial), NULL, NULL,
     false},
    {"uuid", SHAPE_TEXT, 0, INVENTORY_TEXT_MAX - 1, SHAPE_UNKEPT, NULL, NULL, false},
    {"pci_id", SHAPE_TEXT, 0, PCI_ID_MAX, SHAPE_UNKEPT, NULL, NULL, false},
    {"numa_node", SHAPE_INT, 0, NUMA_NODE_MAX, offsetof(struct gpu, numa_node), NULL, NULL, false},
    {"nvlinks", SHAPE_INT, 0, NVLINKS_MAX, offsetof(struct gpu, nvlinks), NULL, NULL, false},
    {"nvlinks_active", SHAPE_INT, 0, NVLINKS_MAX, offsetof(struct gpu, nvlinks_active), NULL, NULL,
     false},
    {.key = NULL},
};

static void gpu_from_json(struct json_reader *r, struct gpu *gpu)
{
    const json_t *ignored;
    *gpu = (struct gpu){
        .memory_bytes = -1, .nvlink_bps = -1, .nvlinks = -1, .nvlinks_active = -1, .numa_node = -1};
    if (read_text(r, "id", true, 1, gpu->id, sizeof(gpu->id)) &&
        strspn(gpu->id, GPU_ID_CHARS) != strlen(gpu->id))
        read_problem(r, "id", "a GPU's id is its bus address");
    read_text(r, "model", false, 0, gpu->model, sizeof(gpu->model));
    read_text(r, "vendor", false, 0, gpu->vendor, sizeof(gpu->vendor));
    read_text(r, "firmware", false, 0, gpu->firmware, sizeof(gpu->firmware));
    read_text(r, "driver", false, 0, gpu->driver, sizeof(gpu->driver));
    json_reader_int(r, "memory_bytes", false, 1, INVENTORY_BYTES_MAX, &gpu->memory_bytes);
    /* 0: it was asked, and no link is active. */
    json_reader_int(r, "nvlink_bps", false, 0, RATE_BPS_MAX, &gpu->nvlink_bps);
    shape_read(r, gpu_shape, gpu);
    json_reader_any(r, "extra", false, &ignored);
    pcie_from_json(r, &gpu->pcie);
    json_reader_end(r);
}

static int compare_gpus(const void *a, const void *b)
{
    return strcmp(((const struct gpu *)a)->id, ((const struct gpu *)b)->id);
}

static void gpus_from_json(struct json_reader *r, const json_t *array, struct inventory *out)
{
    for (size_t i = 0; i < out->gpu_count; i++) {
        struct json_reader element;
        json_reader_element(r, "gpus", i, json_array_get(array, i), &element);
        gpu_from_json(&element, &out->gpus[i]);
    }
    if (out->gpu_count > 1)
        qsort(out->gpus, out->gpu_count, sizeof(*out->gpus), compare_gpus);
    for (size_t i = 1; i < out->gpu_count; i++)
        if (compare_gpus(&out->gpus[i - 1], &out->gpus[i]) == 0)
            read_problem(r, "gpus", "two GPUs have the id '%s'", out->gpus[i].id);
}

static void cpu_from_json(struct json_reader *r, struct cpu *cpu)
{
    static const char *const iommus[] = {"smmuv3", "smmuv2", "intel-vtd", "amd-vi", "none", NULL};
    const json_t *ignored;
    int iommu = 0;
    bool smt;
    cpu->present = true;
    read_text(r, "model", false, 0, cpu->model, sizeof(cpu->model));
    read_text(r, "vendor", false, 0, cpu->vendor, sizeof(cpu->vendor));
    read_text(r, "architecture", false, 0, cpu->architecture, sizeof(cpu->architecture));
    read_text(r, "firmware", false, 0, cpu->firmware, sizeof(cpu->firmware));
    read_int(r, "sockets", CPU_SOCKETS_MAX, &cpu->sockets);
    read_int(r, "cores", CPU_CORES_MAX, &cpu->cores);
    read_int(r, "threads", CPU_CORES_MAX, &cpu->threads);
    json_reader_bool(r, "smt", false, &smt);
    if (json_reader_enum(r, "iommu", false, iommus, &iommu))
        snprintf(cpu->iommu, sizeof(cpu->iommu), "%s", iommus[iommu]);
    json_reader_any(r, "extra", false, &ignored);
    json_reader_end(r);
}

/* Topology ------------------------------------------------------------------------------------ */

static const char *const path_names[] = {"pix", "pxb", "phb", "node", "sys", NULL};

const char *path_kind_name(enum path_kind kind)
{
    return path_names[kind];
}

static const struct shape path_shape[] = {
    {"nic", SHAPE_TEXT, 1, PORT_ID_SIZE - 1, offsetof(struct device_path, nic), NULL, NULL, true},
    {"gpu", SHAPE_TEXT, 1, PORT_ID_SIZE - 1, offsetof(struct device_path, gpu), NULL, NULL, true},
    {"path", SHAPE_INDEX, 0, 0, offsetof(struct device_path, kind), path_names, NULL, true},
    {.key = NULL},
};
static const struct shape numa_shape[] = {
    {"node", SHAPE_INT, 0, NUMA_NODE_MAX, SHAPE_UNKEPT, NULL, NULL, true},
    {"cpus", SHAPE_TEXT, 0, INVENTORY_TEXT_MAX - 1, SHAPE_UNKEPT, NULL, NULL, false},
    {"memory_bytes", SHAPE_NUMBER, 1, INVENTORY_BYTES_MAX, SHAPE_UNKEPT, NULL, NULL, false},
    {.key = NULL},
};
static const struct shape topology_shape[] = {
    {"numa", SHAPE_OBJECTS, 0, INVENTORY_NUMA_MAX, SHAPE_UNKEPT, NULL, numa_shape, false},
    {"kernel", SHAPE_TEXT, 0, INVENTORY_TEXT_MAX - 1, offsetof(struct inventory, kernel), NULL,
     NULL, false},
    {.key = NULL},
};

static enum err_code paths_from_json(struct json_reader *r, struct inventory *out, struct err *err)
{
    const json_t *paths;
    shape_read(r, topology_shape, out);
    if (!json_reader_array(r, "paths", false, INVENTORY_PATHS_MAX, &paths) ||
        json_array_size(paths) == 0)
        return ERR_OK;
    out->paths = calloc(json_array_size(paths), sizeof(*out->paths));
    if (out->paths == NULL)
        return err_nomem(err);
    out->path_count = json_array_size(paths);
    for (size_t i = 0; i < out->path_count; i++) {
        struct json_reader element;
        json_reader_element(r, "paths", i, json_array_get(paths, i), &element);
        shape_read(&element, path_shape, &out->paths[i]);
        json_reader_end(&element);
    }
    return ERR_OK;
}

enum err_code hardware_from_json(struct json_reader *r, struct inventory *out, struct err *err)
{
    const json_t *gpus;
    struct json_reader sub;
    out->cpu = (struct cpu){.sockets = -1, .cores = -1, .threads = -1};
    if (json_reader_object(r, "cpu", false, &sub))
        cpu_from_json(&sub, &out->cpu);
    enum err_code code = paths_from_json(r, out, err);
    if (code != ERR_OK)
        return code;
    if (!json_reader_array(r, "gpus", false, INVENTORY_GPUS_MAX, &gpus) ||
        json_array_size(gpus) == 0)
        return ERR_OK;
    out->gpus = calloc(json_array_size(gpus), sizeof(*out->gpus));
    if (out->gpus == NULL)
        return err_nomem(err);
    out->gpu_count = json_array_size(gpus);
    gpus_from_json(r, gpus, out);
    return ERR_OK;
}
