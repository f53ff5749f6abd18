#pragma once
/*
 * datapath/sys/cpu.h - processors and the IOMMU. How many sockets and cores there are is
 * topology.h's business.
 */

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

/* {"model", "vendor", "architecture", "firmware" (microcode), "iommu", "smt"}; what is unknown is
 * left out. NULL = no memory. */
json_t *cpu_facts(const char *root);

/* Pure: the value of a field of /proc/cpuinfo, its first occurrence; false = it is not there. */
bool cpu_field(const char *cpuinfo, const char *field, char *out, size_t size);
/* Pure: the kind of an IOMMU by the name of its device ("dmar0", "ivhd0", "smmu3.0x..."), in the
 * words of schemas/inventory.json; NULL = unknown. */
const char *cpu_iommu_kind(const char *name);
