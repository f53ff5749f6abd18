#pragma once
/*
 * datapath/sys/gpu.h - GPUs in the words of schemas/inventory.json: by the PCI bus, and as NVIDIA's
 * management library (NVML) knows them, which is loaded when it is there.
 *
 * Both may hang with a wedged GPU: call them aside (aside.h).
 */

#include <jansson.h>

#include "base/err.h"

#define GPU_NVML      "libnvidia-ml.so.1"
#define GPU_ID_SIZE   32 /* as NVML_ID_SIZE */
#define GPU_LINKS_MAX 32 /* NVLinks of a GPU that are asked for */

/* Accelerators by PCI class: [{"id", "vendor", "pci_id", "numa_node", "pcie"}], sorted by id.
 * A display adapter is none. NULL = no memory. */
json_t *gpu_pci_list(const char *root);

/*
 * As NVML has them: [{"id", "model", "vendor", "serial", "uuid", "firmware", "driver",
 * "memory_bytes", "nvlink_bps", "nvlinks", "nvlinks_active", "pcie"}]. nvlink_bps is the sum over
 * the active links, both directions, as "600 GB/s" is meant. A GPU that fails is in `problems` as
 * "gpu/INDEX" and hides no other. ERR_UNSUPPORTED: there is no such library; ERR_UNAVAILABLE: it
 * does not start; ERR_IO: it cannot say how many GPUs there are, or is not the library that it
 * says.
 */
ERR_MUST_CHECK enum err_code gpu_nvml_list(const char *library, json_t **out, json_t *problems,
                                           struct err *err);

/* What NVML knows put over what the bus says, by id; GPUs that only one knows stay. Takes both
 * over, either may be NULL; sorted by id; at most INVENTORY_GPUS_MAX. */
json_t *gpu_merge(json_t *pci, json_t *nvml);
