/*
 * datapath/sys/nvml.c - see nvml.h.
 */
#include "datapath/sys/nvml.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* POSIX lets a function's address pass through a void pointer; C has no words for it. */
static void find(void *library, const char *name, void *out)
{
    void *address = dlsym(library, name);
    memcpy(out, &address, sizeof(address));
}

enum err_code nvml_open(const char *name, struct nvml *out, struct err *err)
{
    *out = (struct nvml){.library = dlopen(name, RTLD_NOW | RTLD_LOCAL)};
    if (out->library == NULL)
        return err_set(err, ERR_UNSUPPORTED, "there is no %s", name);
#define FIND(function, type) find(out->library, #function, &out->function);
    NVML_FUNCTIONS(FIND)
#undef FIND
    if (out->nvmlInit_v2 == NULL || out->nvmlShutdown == NULL ||
        out->nvmlDeviceGetCount_v2 == NULL || out->nvmlDeviceGetHandleByIndex_v2 == NULL ||
        out->nvmlDeviceGetPciInfo_v3 == NULL) {
        dlclose(out->library);
        return err_set(err, ERR_IO, "%s lacks functions of NVML", name);
    }
    return ERR_OK;
}

void nvml_close(struct nvml *nvml)
{
    dlclose(nvml->library);
}

const char *nvml_reason(const struct nvml *nvml, int result, char out[NVML_TEXT_SIZE])
{
    const char *text = nvml->nvmlErrorString == NULL ? NULL : nvml->nvmlErrorString(result);
    snprintf(out, NVML_TEXT_SIZE, "%.96s (%d)", text == NULL ? "NVML error" : text, result);
    return out;
}

/* NVML writes "00000000:07:00.0" and capital letters where the kernel writes "0000:07:00.0". */
bool nvml_bus_id(const struct nvml_pci *pci, char out[NVML_ID_SIZE])
{
    const char *end = memchr(pci->bus_id, '\0', sizeof(pci->bus_id));
    const char *dot = end == NULL ? NULL : strchr(pci->bus_id, '.');
    unsigned function = dot == NULL ? 0 : (unsigned)strtoul(dot + 1, NULL, 16);
    if (pci->bus > 0xff || pci->device > 0x1f || function > 7)
        return false;
    snprintf(out, NVML_ID_SIZE, "%04x:%02x:%02x.%x", pci->domain, pci->bus, pci->device, function);
    return true;
}
