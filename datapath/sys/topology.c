/*
 * datapath/sys/topology.c - see topology.h.
 */
#include "datapath/sys/topology.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hwloc.h>

#include "base/own.h"
#include "datapath/facts.h"

#define CPUS_SIZE 128

/* A switch is two bridges deep: its upstream port and the downstream port above the device. */
#define SWITCH_DEPTH 2

static hwloc_obj_t find_device(hwloc_topology_t topology, const char *address)
{
    unsigned domain, bus, device, function;
    char end;
    if (sscanf(address, "%8x:%2x:%2x.%1x%c", &domain, &bus, &device, &function, &end) != 4)
        return NULL;
    return hwloc_get_pcidev_by_busid(topology, domain, bus, device, function);
}

static hwloc_obj_t common_of(hwloc_obj_t a, hwloc_obj_t b, int *out_above_a, int *out_above_b)
{
    *out_above_a = 0;
    for (hwloc_obj_t x = a; x != NULL; x = x->parent, ++*out_above_a) {
        *out_above_b = 0;
        for (hwloc_obj_t y = b; y != NULL; y = y->parent, ++*out_above_b)
            if (x == y)
                return x;
    }
    return NULL;
}

static bool is_one_numa_node(hwloc_topology_t topology, hwloc_obj_t a, hwloc_obj_t b)
{
    hwloc_obj_t x = hwloc_get_non_io_ancestor_obj(topology, a);
    hwloc_obj_t y = hwloc_get_non_io_ancestor_obj(topology, b);
    return x != NULL && y != NULL && hwloc_bitmap_weight(x->nodeset) == 1 &&
           hwloc_bitmap_isequal(x->nodeset, y->nodeset);
}

static const char *path_between(hwloc_topology_t topology, hwloc_obj_t nic, hwloc_obj_t gpu)
{
    int above_nic, above_gpu;
    hwloc_obj_t common = common_of(nic, gpu, &above_nic, &above_gpu);
    if (common == NULL)
        return NULL;
    if (common->type == HWLOC_OBJ_BRIDGE &&
        common->attr->bridge.upstream_type == HWLOC_OBJ_BRIDGE_PCI)
        return above_nic <= SWITCH_DEPTH && above_gpu <= SWITCH_DEPTH ? "pix" : "pxb";
    if (common->type == HWLOC_OBJ_BRIDGE)
        return "phb";
    return is_one_numa_node(topology, nic, gpu) ? "node" : "sys";
}

static void put_path(hwloc_topology_t topology, const char *nic, const char *gpu, json_t *paths)
{
    hwloc_obj_t from = find_device(topology, nic), to = find_device(topology, gpu);
    const char *path = from == NULL || to == NULL ? NULL : path_between(topology, from, to);
    if (path != NULL)
        json_array_append_new(paths,
                              json_pack("{s:s,s:s,s:s}", "nic", nic, "gpu", gpu, "path", path));
}

static json_t *numa_facts(hwloc_topology_t topology, bool *truncated)
{
    json_t *list = json_array();
    hwloc_obj_t node = NULL;
    while ((node = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, node)) != NULL) {
        char cpus[CPUS_SIZE];
        if (json_array_size(list) == TOPOLOGY_NUMA_MAX) {
            *truncated = true;
            break;
        }
        json_t *object = json_pack("{s:i}", "node", (int)node->os_index);
        int len = hwloc_bitmap_list_snprintf(cpus, sizeof(cpus), node->cpuset);
        if (len > 0 && len < (int)sizeof(cpus)) /* "0" is a list */
            json_object_set_new(object, "cpus", json_string(cpus));
        fact_int(object, "memory_bytes", (int64_t)node->attr->numanode.local_memory, 1);
        json_array_append_new(list, object);
    }
    return list;
}

static json_t *all_facts(hwloc_topology_t topology, const struct topology_request *request)
{
    bool truncated = false;
    json_t *facts = json_object(), *paths = json_array();
    fact_int(facts, "sockets", hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PACKAGE), 1);
    fact_int(facts, "cores", hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE), 1);
    fact_int(facts, "threads", hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PU), 1);
    fact_part(facts, "numa", numa_facts(topology, &truncated));
    for (size_t g = 0; g < request->gpu_count; g++)
        for (size_t n = 0; n < request->nic_count; n++) {
            if (json_array_size(paths) < TOPOLOGY_PATHS_MAX)
                put_path(topology, request->nics[n], request->gpus[g], paths);
            else
                truncated = true;
        }
    fact_part(facts, "paths", paths);
    if (truncated)
        fact_bool(facts, "truncated", true);
    return facts;
}

static enum err_code load(hwloc_topology_t topology, struct err *err)
{
    /* Bridges matter here; processors that may not be used are part of the machine. */
    if (hwloc_topology_set_io_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_ALL) < 0 ||
        hwloc_topology_set_flags(topology, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED) < 0 ||
        hwloc_topology_load(topology) < 0)
        return err_set(err, ERR_IO, "cannot read the topology of this machine");
    return ERR_OK;
}

void topology_prepare(const char *root)
{
    setenv("HWLOC_HIDE_ERRORS", "2", 0); /* it writes on stderr */
    if (root[0] != '\0')
        setenv("HWLOC_FSROOT", root, 1);
}

enum err_code topology_read(const struct topology_request *request, json_t **out, struct err *err)
{
    hwloc_topology_t topology;
    if (hwloc_topology_init(&topology) < 0)
        return err_nomem(err);
    enum err_code code = load(topology, err);
    if (code == ERR_OK) {
        *out = all_facts(topology, request);
        if (*out == NULL)
            code = err_nomem(err);
    }
    hwloc_topology_destroy(topology);
    return code;
}
