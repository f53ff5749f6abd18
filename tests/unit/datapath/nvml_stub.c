/*
 * tests/unit/datapath/nvml_stub.c - stands for libnvidia-ml.so.1: answers like the machines that
 * the environment variable STELLAR_NVML_STUB names. Built as nvml_stub.so.
 *
 *   a100     eight A100-SXM4-80GB, 12 links of 25 GB/s each
 *   a800     the same with 8 links
 *   degraded one A100 with 3 of 12 links down, then one that fell off the bus, then a PCIe card
 *   dark     an A100 with all links down
 *   sick     an A100 with errors of memory, a row to be remapped and two Xids; one that is lost
 *            when it is asked for those; one that knows none of that
 *   well     a100 of which none is idle
 *   worn     well, of which the second has errors of memory and a row to be remapped
 *   mended   the same, and the row is remapped
 *   fallen   mended, and the third is lost
 *   dead     nvmlInit fails
 *   stuck    nvmlInit does not come back for three seconds
 *   @FILE    what the first word of that file says, each time
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "datapath/sys/nvml.h"

#define EXPORT    __attribute__((visibility("default")))
#define LINKS     12
#define GPU_LOST  15
#define NO_ANSWER 999
#define TIMEOUT   10
#define LINK_MBPS 25000
#define MEMORY    85899345920ULL
#define STUCK_S   3

static const char *mode(void)
{
    static _Thread_local char word[16];
    const char *text = getenv("STELLAR_NVML_STUB");
    if (text == NULL)
        return "a100";
    if (text[0] != '@')
        return text;
    FILE *file = fopen(text + 1, "re");
    bool good = file != NULL && fscanf(file, "%15s", word) == 1;
    if (file != NULL)
        fclose(file);
    return good ? word : "a100";
}

static int is(const char *name)
{
    return strcmp(mode(), name) == 0;
}

/* Handles are numbers from 1. */
static unsigned number(nvml_device device)
{
    return (unsigned)(size_t)device;
}

/* The errors of a card that wears out are there still when it is mended. */
static int is_worn(nvml_device device)
{
    return number(device) == 2 && (is("worn") || is("mended") || is("fallen"));
}

static int is_fallen(nvml_device device)
{
    return number(device) == 3 && is("fallen");
}

#define DECLARE(name, type) EXPORT __typeof__(__typeof__(*((type)0))) name;
NVML_FUNCTIONS(DECLARE)
#undef DECLARE

int nvmlInit_v2(void)
{
    if (is("stuck"))
        sleep(STUCK_S);
    return is("dead") ? NO_ANSWER : NVML_OK;
}

int nvmlShutdown(void)
{
    return NVML_OK;
}

const char *nvmlErrorString(int result)
{
    return result == GPU_LOST ? "GPU is lost" : "Unknown Error";
}

int nvmlSystemGetDriverVersion(char *out, unsigned size)
{
    snprintf(out, size, "535.161.08");
    return NVML_OK;
}

int nvmlDeviceGetCount_v2(unsigned *out)
{
    *out = is("degraded") || is("sick") ? 3 : is("dark") ? 1 : 8;
    return NVML_OK;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, nvml_device *out)
{
    if (is("degraded") && index == 1)
        return GPU_LOST;
    *out = (nvml_device)(size_t)(index + 1);
    return NVML_OK;
}

int nvmlDeviceGetPciInfo_v3(nvml_device device, struct nvml_pci *out)
{
    memset(out, 0, sizeof(*out));
    out->bus = 0x10 * number(device) + 0xa;
    snprintf(out->bus_id, sizeof(out->bus_id), "00000000:%02X:00.0", out->bus);
    return NVML_OK;
}

int nvmlDeviceGetName(nvml_device device, char *out, unsigned size)
{
    snprintf(out, size, "%s",
             is("degraded") && number(device) == 3 ? "NVIDIA A100 80GB PCIe"
             : is("a800")                          ? "NVIDIA A800-SXM4-80GB"
                                                   : "NVIDIA A100-SXM4-80GB");
    return NVML_OK;
}

int nvmlDeviceGetSerial(nvml_device device, char *out, unsigned size)
{
    if (number(device) == 3)
        return NVML_NOT_SUPPORTED;
    snprintf(out, size, number(device) == 2 ? "N/A" : "156012300000%u", number(device));
    return NVML_OK;
}

int nvmlDeviceGetUUID(nvml_device device, char *out, unsigned size)
{
    snprintf(out, size, "GPU-0000-%u", number(device));
    return NVML_OK;
}

int nvmlDeviceGetVbiosVersion(nvml_device device, char *out, unsigned size)
{
    (void)device;
    snprintf(out, size, "92.00.45.00.05");
    return NVML_OK;
}

int nvmlDeviceGetMemoryInfo(nvml_device device, struct nvml_memory *out)
{
    (void)device;
    *out = (struct nvml_memory){.total = MEMORY};
    return NVML_OK;
}

int nvmlDeviceGetCurrPcieLinkGeneration(nvml_device device, unsigned *out)
{
    *out = number(device) == 2 && !is("well") && !is_worn(device) ? 1 : 4; /* one is idle */
    return NVML_OK;
}

int nvmlDeviceGetMaxPcieLinkGeneration(nvml_device device, unsigned *out)
{
    (void)device;
    *out = 4;
    return NVML_OK;
}

int nvmlDeviceGetCurrPcieLinkWidth(nvml_device device, unsigned *out)
{
    (void)device;
    *out = 16;
    return NVML_OK;
}

int nvmlDeviceGetMaxPcieLinkWidth(nvml_device device, unsigned *out)
{
    (void)device;
    *out = 16;
    return NVML_OK;
}

int nvmlDeviceGetNvLinkState(nvml_device device, unsigned link, int *out)
{
    unsigned links = is("a800") ? 8 : LINKS;
    if (link >= links || (is("degraded") && number(device) == 3))
        return NVML_NOT_SUPPORTED;
    *out = is("dark") || (is("degraded") && link < 3) ? 0 : 1;
    return NVML_OK;
}

int nvmlDeviceGetFieldValues(nvml_device device, int count, struct nvml_field *values)
{
    (void)device;
    for (int i = 0; i < count; i++) {
        values[i].result = values[i].id == NVML_FIELD_NVLINK_SPEED ? NVML_OK : NVML_NOT_SUPPORTED;
        values[i].value.number = LINK_MBPS;
    }
    return NVML_OK;
}

int nvmlDeviceGetTotalEccErrors(nvml_device device, int type, int since, unsigned long long *out)
{
    if (since != NVML_SINCE_LOADED || (is("sick") && number(device) == 3))
        return NVML_NOT_SUPPORTED;
    if ((is("sick") && number(device) == 2) || is_fallen(device))
        return GPU_LOST;
    *out = is("sick") || is_worn(device) ? (type == NVML_CORRECTED ? 12 : 2) : 0;
    return NVML_OK;
}

int nvmlDeviceGetRemappedRows(nvml_device device, unsigned *fixed, unsigned *unfixed,
                              unsigned *pending, unsigned *failed)
{
    if (is("sick") && number(device) == 3)
        return NVML_NOT_SUPPORTED;
    if ((is("sick") && number(device) == 2) || is_fallen(device))
        return GPU_LOST;
    *fixed = is("sick") ? 4 : 0;
    *unfixed = is("sick") ? 1 : 0;
    *pending = is("sick") || (is("worn") && number(device) == 2) ? 1 : 0;
    *failed = 0;
    return NVML_OK;
}

int nvmlDeviceGetTemperature(nvml_device device, int sensor, unsigned *out)
{
    if (sensor != NVML_SENSOR_GPU || (is("sick") && number(device) == 3))
        return NVML_NOT_SUPPORTED;
    if ((is("sick") && number(device) == 2) || is_fallen(device))
        return GPU_LOST;
    *out = 41;
    return NVML_OK;
}

/* Xids wait for who asks. */
static int events_left;

int nvmlEventSetCreate(nvml_events *out)
{
    events_left = is("sick") ? 2 : 0;
    *out = (nvml_events)&events_left;
    return NVML_OK;
}

int nvmlEventSetFree(nvml_events events)
{
    return events == (nvml_events)&events_left ? NVML_OK : NO_ANSWER;
}

int nvmlDeviceRegisterEvents(nvml_device device, unsigned long long types, nvml_events events)
{
    if (events != (nvml_events)&events_left || types != NVML_EVENT_XID)
        return NO_ANSWER;
    return is("sick") && number(device) == 3 ? NVML_NOT_SUPPORTED : NVML_OK;
}

int nvmlEventSetWait_v2(nvml_events events, struct nvml_event *out, unsigned wait_ms)
{
    if (events != (nvml_events)&events_left || wait_ms != 0 || events_left == 0)
        return TIMEOUT;
    *out = (struct nvml_event){.device = (nvml_device)(size_t)1,
                               .type = NVML_EVENT_XID,
                               .data = events_left == 2 ? 63 : 79};
    events_left--;
    return NVML_OK;
}
