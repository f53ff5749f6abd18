#pragma once
/*
 * datapath/sys/nvml.h - the part of NVML's interface that we use, as NVIDIA documents it; its own
 * header is not needed to build. Private to gpu.c, and for the tests' stand-in of the library.
 */

typedef struct nvml_device *nvml_device;

enum { NVML_OK = 0, NVML_NOT_SUPPORTED = 3 };

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
    X(nvmlDeviceGetFieldValues, int (*)(nvml_device, int, struct nvml_field *))
