/*
 * datapath/sensor_gpu.c - what NVIDIA's management library says of each GPU: errors of its memory,
 * rows that wait to be remapped, Xid events, temperature, and whether it fell off the bus. See
 * sensor.h.
 */
#include "datapath/sensor.h"

#include <stdlib.h>
#include <string.h>

#include "datapath/sys/nvml.h"
#include "fleet/inventory.h"

#define RETRY_LOOKS 60 /* without a library or a driver */
#define EVENTS_MAX  64 /* of one look; what is more waits */

static const struct telemetry_name corrected = {"ecc_corrected", TELEMETRY_STAYS, 0},
                                   uncorrected = {"ecc_uncorrected", TELEMETRY_STAYS, 0},
                                   remapped_corrected = {"remapped_rows_corrected", TELEMETRY_GAUGE,
                                                         0},
                                   remapped_uncorrected = {"remapped_rows_uncorrected",
                                                           TELEMETRY_GAUGE, 0},
                                   remap_pending = {"remap_pending", TELEMETRY_GAUGE, 0},
                                   remap_failed = {"remap_failed", TELEMETRY_GAUGE, 0},
                                   xid_events = {"xid_events", TELEMETRY_STAYS, 0},
                                   xid_last = {"xid_last", TELEMETRY_GAUGE, 0},
                                   is_lost = {"is_lost", TELEMETRY_GAUGE, 0},
                                   temperature = {"temperature_millicelsius", TELEMETRY_GAUGE, 0};

struct card {
    nvml_device device;
    char id[NVML_ID_SIZE];
    bool listens;      /* for Xid events */
    int64_t xids, xid; /* seen since we listen; the last */
};

struct state {
    char library[SENSOR_ROOT_SIZE];
    struct nvml nvml;
    bool open;
    unsigned wait;      /* looks until it is tried again */
    unsigned count;     /* as the library says */
    nvml_events events; /* NULL = none */
    struct card gpus[INVENTORY_GPUS_MAX];
    size_t gpu_count;
};

/* Life ----------------------------------------------------------------------------------------- */

static void shut(struct state *state)
{
    if (!state->open)
        return;
    if (state->events != NULL && state->nvml.nvmlEventSetFree != NULL)
        state->nvml.nvmlEventSetFree(state->events);
    state->events = NULL;
    state->nvml.nvmlShutdown();
    nvml_close(&state->nvml);
    state->open = false;
    state->wait = RETRY_LOOKS;
}

static void add_gpu(struct state *state, unsigned index)
{
    const struct nvml *nvml = &state->nvml;
    struct card *gpu = &state->gpus[state->gpu_count];
    struct nvml_pci pci = {.domain = 0};
    *gpu = (struct card){0};
    if (nvml->nvmlDeviceGetHandleByIndex_v2(index, &gpu->device) != NVML_OK ||
        nvml->nvmlDeviceGetPciInfo_v3(gpu->device, &pci) != NVML_OK || !nvml_bus_id(&pci, gpu->id))
        return; /* nobody can say which one it is */
    gpu->listens =
        state->events != NULL && nvml->nvmlDeviceRegisterEvents != NULL &&
        nvml->nvmlDeviceRegisterEvents(gpu->device, NVML_EVENT_XID, state->events) == NVML_OK;
    state->gpu_count++;
}

static void open_library(struct state *state)
{
    struct nvml *nvml = &state->nvml;
    state->wait = RETRY_LOOKS;
    if (nvml_open(state->library, nvml, NULL) != ERR_OK)
        return;
    if (nvml->nvmlInit_v2() != NVML_OK) {
        nvml_close(nvml);
        return;
    }
    state->open = true;
    state->gpu_count = 0;
    if (nvml->nvmlDeviceGetCount_v2(&state->count) != NVML_OK) {
        shut(state);
        return;
    }
    if (nvml->nvmlEventSetCreate == NULL || nvml->nvmlEventSetWait_v2 == NULL ||
        nvml->nvmlEventSetCreate(&state->events) != NVML_OK)
        state->events = NULL;
    for (unsigned i = 0; i < state->count && state->gpu_count < INVENTORY_GPUS_MAX; i++)
        add_gpu(state, i);
}

static void *start(const struct sensor_config *config)
{
    struct state *state = calloc(1, sizeof(*state));
    if (state != NULL)
        memcpy(state->library, config->nvml, sizeof(state->library));
    return state;
}

static void stop(void *arg)
{
    shut(arg);
    free(arg);
}

/* Looks ---------------------------------------------------------------------------------------- */

static void take_events(struct state *state)
{
    struct nvml_event event = {.type = 0};
    for (int n = 0; state->events != NULL && n < EVENTS_MAX; n++) {
        if (state->nvml.nvmlEventSetWait_v2(state->events, &event, 0) != NVML_OK)
            return;
        for (size_t i = 0; i < state->gpu_count; i++) {
            struct card *gpu = &state->gpus[i];
            if (gpu->device != event.device || event.type != NVML_EVENT_XID ||
                event.data > INT32_MAX)
                continue;
            gpu->xids++;
            gpu->xid = (int64_t)event.data;
        }
    }
}

/* Its result; what is not known is not told. */
static int put_ecc(const struct nvml *nvml, const struct card *gpu, int type,
                   const struct telemetry_name *name, struct sensor_readings *out)
{
    unsigned long long count = 0;
    if (nvml->nvmlDeviceGetTotalEccErrors == NULL)
        return NVML_NOT_SUPPORTED;
    int result = nvml->nvmlDeviceGetTotalEccErrors(gpu->device, type, NVML_SINCE_LOADED, &count);
    if (result == NVML_OK && count <= INT64_MAX)
        sensor_put(out, name, (int64_t)count);
    return result;
}

static int put_remap(const struct nvml *nvml, const struct card *gpu, struct sensor_readings *out)
{
    unsigned fixed = 0, unfixed = 0, pending = 0, failed = 0;
    if (nvml->nvmlDeviceGetRemappedRows == NULL)
        return NVML_NOT_SUPPORTED;
    int result = nvml->nvmlDeviceGetRemappedRows(gpu->device, &fixed, &unfixed, &pending, &failed);
    if (result != NVML_OK)
        return result;
    sensor_put(out, &remapped_corrected, fixed);
    sensor_put(out, &remapped_uncorrected, unfixed);
    sensor_put(out, &remap_pending, pending != 0);
    sensor_put(out, &remap_failed, failed != 0);
    return result;
}

static void look_at(const struct nvml *nvml, const struct card *gpu, struct sensor_readings *out)
{
    unsigned celsius = 0;
    int heat = NVML_NOT_SUPPORTED;
    if (nvml->nvmlDeviceGetTemperature != NULL)
        heat = nvml->nvmlDeviceGetTemperature(gpu->device, NVML_SENSOR_GPU, &celsius);
    sensor_subject(out, TELEMETRY_GPU, gpu->id, 0);
    int ecc = put_ecc(nvml, gpu, NVML_CORRECTED, &corrected, out);
    (void)put_ecc(nvml, gpu, NVML_UNCORRECTED, &uncorrected, out);
    int remap = put_remap(nvml, gpu, out);
    if (gpu->listens)
        sensor_put(out, &xid_events, gpu->xids);
    sensor_put(out, &xid_last, gpu->xids > 0 ? gpu->xid : TELEMETRY_ABSENT);
    if (ecc == NVML_GPU_IS_LOST || remap == NVML_GPU_IS_LOST || heat == NVML_GPU_IS_LOST)
        sensor_put(out, &is_lost, 1);
    else
        sensor_put(out, &is_lost,
                   ecc == NVML_OK || remap == NVML_OK || heat == NVML_OK ? 0 : TELEMETRY_ABSENT);
    if (heat != NVML_OK)
        return;
    sensor_subject(out, TELEMETRY_TEMPERATURE, gpu->id, 0);
    sensor_put(out, &temperature, (int64_t)celsius * 1000);
}

static void look(void *arg, struct sensor_readings *out)
{
    struct state *state = arg;
    unsigned count = 0;
    if (!state->open && state->wait-- > 0)
        return;
    if (!state->open)
        open_library(state);
    if (!state->open)
        return;
    if (state->nvml.nvmlDeviceGetCount_v2(&count) != NVML_OK || count != state->count) {
        shut(state); /* the driver went, or has others now */
        return;
    }
    take_events(state);
    for (size_t i = 0; i < state->gpu_count; i++)
        look_at(&state->nvml, &state->gpus[i], out);
}

const struct sensor_kind sensor_gpu = {.name = "gpu", .start = start, .look = look, .free = stop};
