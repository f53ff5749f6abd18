/*
 * datapath/sys/gpu.c - see gpu.h.
 */
#include "datapath/sys/gpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "datapath/facts.h"
#include "datapath/sys/device.h"
#include "datapath/sys/nvml.h"
#include "datapath/sys/sys.h"
#include "fleet/inventory.h"

#define PCI_FOLDER "/sys/bus/pci/devices"
#define MBYTE_BPS  INT64_C(8000000) /* 1 MB/s */

/* The bus ------------------------------------------------------------------------------------- */

/* 3D controllers of NVIDIA, accelerators of either vendor. */
static bool is_accelerator(const char *class, const char *pci_id)
{
    bool nvidia = strncmp(pci_id, "10de:", 5) == 0, amd = strncmp(pci_id, "1002:", 5) == 0;
    return (strncmp(class, "0x0302", 6) == 0 && nvidia) ||
           (strncmp(class, "0x1200", 6) == 0 && (nvidia || amd)) ||
           (strncmp(class, "0x0380", 6) == 0 && amd);
}

static json_t *pci_gpu(const char *root, const char *address)
{
    char device[SYS_PATH_MAX], path[SYS_PATH_MAX + 16], class[16];
    char pci_id[DEVICE_PCI_ID_SIZE];
    snprintf(device, sizeof(device), "%s/%s", PCI_FOLDER, address);
    snprintf(path, sizeof(path), "%s/class", device);
    if (strlen(address) >= GPU_ID_SIZE ||
        sys_read(root, path, class, sizeof(class), NULL) != ERR_OK ||
        !device_pci_id(root, device, pci_id) || !is_accelerator(class, pci_id) ||
        pci_is_virtual(root, device))
        return NULL;
    json_t *gpu = json_pack("{s:s,s:s}", "id", address, "pci_id", pci_id);
    fact_text(gpu, "vendor", strncmp(pci_id, "10de:", 5) == 0 ? "NVIDIA" : "AMD");
    fact_int(gpu, "numa_node", device_numa_node(root, device), 0);
    fact_part(gpu, "pcie", device_pcie(root, device));
    return gpu;
}

json_t *gpu_pci_list(const char *root)
{
    OWN_SYS_LIST struct sys_list devices;
    json_t *list = json_array();
    sys_list(root, PCI_FOLDER, &devices);
    for (size_t i = 0; i < devices.count && json_array_size(list) < INVENTORY_GPUS_MAX; i++) {
        json_t *gpu = pci_gpu(root, devices.names[i]);
        if (gpu != NULL)
            json_array_append_new(list, gpu);
    }
    return list;
}

/* NVML ---------------------------------------------------------------------------------------- */

static void put_text(int (*get)(nvml_device, char *, unsigned), nvml_device device, json_t *gpu,
                     const char *key)
{
    char text[NVML_TEXT_SIZE] = "";
    if (get == NULL || get(device, text, sizeof(text) - 1) != NVML_OK)
        return;
    text[sizeof(text) - 1] = '\0';
    fact_text(gpu, key, text);
}

static void put_small(int (*get)(nvml_device, unsigned *), nvml_device device, int64_t most,
                      json_t *object, const char *key)
{
    unsigned value = 0;
    if (get != NULL && get(device, &value) == NVML_OK && value <= most)
        fact_int(object, key, value, 1);
}

/* A link that is not there ends the list; all of them unsupported: the GPU has none. */
static void put_nvlink(const struct nvml *nvml, nvml_device device, json_t *gpu)
{
    struct nvml_field speed = {.id = NVML_FIELD_NVLINK_SPEED};
    int64_t links = 0, active = 0;
    for (unsigned i = 0; nvml->nvmlDeviceGetNvLinkState != NULL && i < GPU_LINKS_MAX; i++) {
        int state = 0;
        if (nvml->nvmlDeviceGetNvLinkState(device, i, &state) != NVML_OK)
            continue;
        links++;
        active += state == 1;
    }
    if (links == 0)
        return;
    fact_int(gpu, "nvlinks", links, 1);
    fact_int(gpu, "nvlinks_active", active, 0);
    if (nvml->nvmlDeviceGetFieldValues != NULL &&
        nvml->nvmlDeviceGetFieldValues(device, 1, &speed) == NVML_OK && speed.result == NVML_OK &&
        speed.value.number < INT32_MAX)
        fact_int(gpu, "nvlink_bps", active * 2 * (int64_t)speed.value.number * MBYTE_BPS, 0);
}

static json_t *nvml_gpu(const struct nvml *nvml, unsigned index, json_t *problems)
{
    nvml_device device = NULL;
    struct nvml_pci pci = {.domain = 0};
    struct nvml_memory memory = {.total = 0};
    char id[GPU_ID_SIZE], why[NVML_TEXT_SIZE], subject[NVML_TEXT_SIZE];
    int result = nvml->nvmlDeviceGetHandleByIndex_v2(index, &device);
    if (result == NVML_OK)
        result = nvml->nvmlDeviceGetPciInfo_v3(device, &pci);
    if (result != NVML_OK || !nvml_bus_id(&pci, id)) {
        snprintf(subject, sizeof(subject), "gpu/%u", index);
        fact_problem(problems, subject,
                     result != NVML_OK ? nvml_reason(nvml, result, why)
                                       : "its bus address is none");
        return NULL;
    }
    json_t *gpu = json_pack("{s:s,s:s}", "id", id, "vendor", "NVIDIA");
    put_text(nvml->nvmlDeviceGetName, device, gpu, "model");
    put_text(nvml->nvmlDeviceGetSerial, device, gpu, "serial");
    put_text(nvml->nvmlDeviceGetUUID, device, gpu, "uuid");
    put_text(nvml->nvmlDeviceGetVbiosVersion, device, gpu, "firmware");
    if (nvml->nvmlDeviceGetMemoryInfo != NULL &&
        nvml->nvmlDeviceGetMemoryInfo(device, &memory) == NVML_OK &&
        memory.total <= (unsigned long long)INVENTORY_BYTES_MAX)
        fact_int(gpu, "memory_bytes", (int64_t)memory.total, 1);
    json_t *pcie = json_object();
    put_small(nvml->nvmlDeviceGetCurrPcieLinkGeneration, device, 8, pcie, "current_gen");
    put_small(nvml->nvmlDeviceGetMaxPcieLinkGeneration, device, 8, pcie, "max_gen");
    put_small(nvml->nvmlDeviceGetCurrPcieLinkWidth, device, 32, pcie, "current_width");
    put_small(nvml->nvmlDeviceGetMaxPcieLinkWidth, device, 32, pcie, "max_width");
    fact_part(gpu, "pcie", pcie);
    put_nvlink(nvml, device, gpu);
    return gpu;
}

static enum err_code list_all(const struct nvml *nvml, json_t **out, json_t *problems,
                              struct err *err)
{
    unsigned count = 0;
    char driver[NVML_TEXT_SIZE] = "", why[NVML_TEXT_SIZE];
    int result = nvml->nvmlDeviceGetCount_v2(&count);
    if (result != NVML_OK)
        return err_set(err, ERR_IO, "cannot count the GPUs: %s", nvml_reason(nvml, result, why));
    if (nvml->nvmlSystemGetDriverVersion != NULL &&
        nvml->nvmlSystemGetDriverVersion(driver, sizeof(driver) - 1) != NVML_OK)
        driver[0] = '\0';
    json_t *list = json_array();
    for (unsigned i = 0; i < count && i < INVENTORY_GPUS_MAX; i++) {
        json_t *gpu = nvml_gpu(nvml, i, problems);
        if (gpu == NULL)
            continue;
        fact_text(gpu, "driver", driver);
        json_array_append_new(list, gpu);
    }
    if (count > INVENTORY_GPUS_MAX)
        fact_problem(problems, "gpu", "there are more GPUs than a node may have");
    *out = list;
    return ERR_OK;
}

enum err_code gpu_nvml_list(const char *library, json_t **out, json_t *problems, struct err *err)
{
    struct nvml nvml;
    char why[NVML_TEXT_SIZE];
    enum err_code code = nvml_open(library, &nvml, err);
    if (code != ERR_OK)
        return code;
    int result = nvml.nvmlInit_v2();
    if (result != NVML_OK) {
        code = err_set(err, ERR_UNAVAILABLE, "NVML does not start: %s",
                       nvml_reason(&nvml, result, why));
    } else {
        code = list_all(&nvml, out, problems, err);
        nvml.nvmlShutdown();
    }
    nvml_close(&nvml);
    return code;
}

/* Both ---------------------------------------------------------------------------------------- */

static const char *id_of(const json_t *gpu)
{
    const char *id = json_string_value(json_object_get(gpu, "id"));
    return id == NULL ? "" : id;
}

static int compare_gpus(const void *a, const void *b)
{
    return strcmp(id_of(*(json_t *const *)a), id_of(*(json_t *const *)b));
}

static json_t *gpu_of(json_t *list, const char *id)
{
    size_t i;
    json_t *gpu;
    json_array_foreach(list, i, gpu)
    {
        if (strcmp(id_of(gpu), id) == 0)
            return gpu;
    }
    return NULL;
}

json_t *gpu_merge(json_t *pci, json_t *nvml)
{
    json_t *gpus[2 * INVENTORY_GPUS_MAX], *gpu, *merged = json_array();
    size_t count = 0, i;
    json_array_foreach(pci, i, gpu) gpus[count++] = json_incref(gpu);
    json_array_foreach(nvml, i, gpu)
    {
        json_t *known = gpu_of(pci, id_of(gpu));
        if (known != NULL)
            json_object_update_recursive(known, gpu);
        else
            gpus[count++] = json_incref(gpu);
    }
    qsort(gpus, count, sizeof(gpus[0]), compare_gpus);
    for (i = 0; i < count; i++) {
        if (json_array_size(merged) < INVENTORY_GPUS_MAX)
            json_array_append(merged, gpus[i]);
        json_decref(gpus[i]);
    }
    json_decref(pci);
    json_decref(nvml);
    return merged;
}
