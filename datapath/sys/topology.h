#pragma once
/*
 * datapath/sys/topology.h - sockets, cores, NUMA nodes, and which NIC is near which GPU; the only
 * user of hwloc. It walks /sys/bus/pci: call it aside (aside.h).
 */

#include <stddef.h>

#include <jansson.h>

#include "base/err.h"

#define TOPOLOGY_NUMA_MAX    256
#define TOPOLOGY_DEVICES_MAX 128 /* of each side */
#define TOPOLOGY_PATHS_MAX   1024
#define TOPOLOGY_ADDR_SIZE   32

struct topology_request {
    /* PCI addresses ("0000:3b:00.0"); what is no PCI address has no place. */
    char nics[TOPOLOGY_DEVICES_MAX][TOPOLOGY_ADDR_SIZE];
    size_t nic_count;
    char gpus[TOPOLOGY_DEVICES_MAX][TOPOLOGY_ADDR_SIZE];
    size_t gpu_count;
};

/* hwloc takes its root and its manners from the environment: once, before there are threads. `root`
 * is "" outside tests. */
void topology_prepare(const char *root);

/*
 * {"sockets", "cores", "threads", "numa": [{"node", "cpus", "memory_bytes"}],
 *  "paths": [{"nic", "gpu", "path"}], "truncated"}. path, from near to far: "pix" one PCIe switch
 * between them, "pxb" more of them, "phb" the host bridge, "node" another host bridge of the same
 * NUMA node, "sys" another NUMA node.
 */
ERR_MUST_CHECK enum err_code topology_read(const struct topology_request *request, json_t **out,
                                           struct err *err);
