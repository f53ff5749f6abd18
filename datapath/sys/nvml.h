#pragma once
/*
 * datapath/sys/nvml.h - the part of NVML's interface that we use, as NVIDIA documents it; its own
 * header is not needed to build. For gpu.c and sensor_gpu.c, and for the tests' stand-in of the
 * library.
 */

#include <stdbool.h>

#include "base/err.h"

typedef struct nvml_device *nvml_device;

typedef struct nvml_events *nvml_events;

enum { NVML_OK = 0, NVML_NOT_SUPPORTED = 3, NVML_GPU_IS_LOST = 15 };
enum { NVML_CORRECTED = 0, NVML_UNCORRECTED = 1 }; /* errors of memory */
enum { NVML_SINCE_LOADED = 0 };                    /* a counter: since the driver was */
enum { NVML_SENSOR_GPU = 0 };
#define NVML_EVENT_XID 0x8ull

struct nvml_pci {
    char bus_id_legacy[16];
    unsigned domain, bus, device, pci_device_id, pci_subsystem_id;
    char bus_id[32]; /* "00000000:07:00.0" */
};
struct nvml_memory {
    unsigned long long total, available, used; /* bytes */
};
struct nvml_field {
    unsigned id, scope;
    long long timestamp, latency_us;
    int value_type;
    int result;
    union {
        double real;
        unsigned number;
        unsigned long long large;
    } value;
};
struct nvml_event {
    nvml_device device;
    unsigned long long type, data; /* data of an Xid: its number */
    unsigned gpu_instance, compute_instance;
};
#define NVML_FIELD_NVLINK_SPEED 90 /* MB/s of an active link, each way */

/* name, type of the function: every one that is looked up. */
#define NVML_FUNCTIONS(X)                                                                          \
    X(nvmlInit_v2, int (*)(void))                                                                  \
    X(nvmlShutdown, int (*)(void))                                                                 \
    X(nvmlErrorString, const char *(*)(int))                                                       \
    X(nvmlSystemGetDriverVersion, int (*)(char *, unsigned))                                       \
    X(nvmlDeviceGetCount_v2, int (*)(unsigned *))                                                  \
    X(nvmlDeviceGetHandleByIndex_v2, int (*)(unsigned, nvml_device *))                             \
    X(nvmlDeviceGetPciInfo_v3, int (*)(nvml_device, struct nvml_pci *))                            \
    X(nvmlDeviceGetName, int (*)(nvml_device, char *, unsigned))                                   \
    X(nvmlDeviceGetSerial, int (*)(nvml_device, char *, unsigned))                                 \
    X(nvmlDeviceGetUUID, int (*)(nvml_device, char *, unsigned))                                   \
    X(nvmlDeviceGetVbiosVersion, int (*)(nvml_device, char *, unsigned))                           \
    X(nvmlDeviceGetMemoryInfo, int (*)(nvml_device, struct nvml_memory *))                         \
    X(nvmlDeviceGetCurrPcieLinkGeneration, int (*)(nvml_device, unsigned *))                       \
    X(nvmlDeviceGetMaxPcieLinkGeneration, int (*)(nvml_device, unsigned *))                        \
    X(nvmlDeviceGetCurrPcieLinkWidth, int (*)(nvml_device, unsigned *))                            \
    X(nvmlDeviceGetMaxPcieLinkWidth, int (*)(nvml_device, unsigned *))                             \
    X(nvmlDeviceGetNvLinkState, int (*)(nvml_device, unsigned, int *))                             \
    X(nvmlDeviceGetFieldValues, int (*)(nvml_device, int, struct nvml_field *))                    \
    X(nvmlDeviceGetTotalEccErrors, int (*)(nvml_device, int, int, unsigned long long *))           \
    X(nvmlDeviceGetRemappedRows,                                                                   \
      int (*)(nvml_device, unsigned *, unsigned *, unsigned *, unsigned *))                        \
    X(nvmlDeviceGetTemperature, int (*)(nvml_device, int, unsigned *))                             \
    X(nvmlEventSetCreate, int (*)(nvml_events *))                                                  \
    X(nvmlEventSetFree, int (*)(nvml_events))                                                      \
    X(nvmlDeviceRegisterEvents, int (*)(nvml_device, unsigned long long, nvml_events))             \
    X(nvmlEventSetWait_v2, int (*)(nvml_events, struct nvml_event *, unsigned))

#define NVML_TEXT_SIZE 128
#define NVML_ID_SIZE   32

struct nvml {
    void *library;
#define MEMBER(name, type) __typeof__(type) name;
    NVML_FUNCTIONS(MEMBER)
#undef MEMBER
};
/* A function that an old library lacks is NULL: what it tells is unknown then. ERR_UNSUPPORTED:
 * there is no such library; ERR_IO: it lacks what nobody can do without. */
ERR_MUST_CHECK enum err_code nvml_open(const char *name, struct nvml *out, struct err *err);
void nvml_close(struct nvml *nvml);
const char *nvml_reason(const struct nvml *nvml, int result, char out[NVML_TEXT_SIZE]);
/* As the kernel writes it: "0000:07:00.0"; false: it is none. */
bool nvml_bus_id(const struct nvml_pci *pci, char out[NVML_ID_SIZE]);
