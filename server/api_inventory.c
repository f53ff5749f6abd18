/*
 * server/api_inventory.c - lists of NICs, GPUs and CPUs over all nodes. What a node did not report
 * is absent, never 0. Of one node (?node=) the answer says whether it has reported anything at all:
 * no GPU is not the same as not known.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/api.h"
#include "server/page.h"
#include "server/scan.h"

/* A page's key is "NODE ITEM": names of nodes hold no blank. */
struct list {
    struct page *page;
    char node[NAME_SIZE]; /* of the key */
    char item[PORT_ID_SIZE];
    const char *only; /* ?node=; NULL = all */
    bool found;       /* `only` has reported */
    /* Adds the node's items whose id is behind `after`; false = the page is full. */
    bool (*add)(struct list *list, const char *node, const struct inventory *inventory,
                const char *after);
};

static void set_int(json_t *object, const char *key, int64_t value)
{
    if (value >= 0)
        json_object_set_new(object, key, json_integer(value));
}

static void set_pcie(json_t *object, const struct pcie_link *link)
{
    json_t *pcie = json_object();
    set_int(pcie, "current_gen", link->current_gen);
    set_int(pcie, "max_gen", link->max_gen);
    set_int(pcie, "current_width", link->current_width);
    set_int(pcie, "max_width", link->max_width);
    if (link->aer)
        json_object_set_new(pcie, "aer", json_true());
    if (json_object_size(pcie) > 0)
        json_object_set(object, "pcie", pcie);
    json_decref(pcie);
}

/* What the card is. */
static void set_identity(json_t *item, const struct port *port)
{
    api_set_text(item, "part_number", port->part_number);
    api_set_text(item, "serial", port->serial);
    api_set_text(item, "pci_id", port->pci_id);
    api_set_text(item, "mac", port->mac);
    set_int(item, "sriov_total", port->sriov_total);
    set_int(item, "sriov_enabled", port->sriov_enabled);
    set_int(item, "ptp_index", port->ptp_index);
}

/* How it is connected. */
static void set_surroundings(json_t *item, const struct port *port)
{
    api_set_text(item, "link", port->link_state);
    api_set_text(item, "fec", port->fec);
    api_set_text(item, "switch", port->switch_name);
    api_set_text(item, "switch_port", port->switch_port);
    set_int(item, "numa_node", port->numa_node);
    set_int(item, "irq_vectors", port->irq_vectors);
}

static json_t *nic_to_json(const char *node, const struct port *port)
{
    json_t *item = json_pack("{ss, ss}", "node", node, "id", port->id);
    if (item == NULL)
        return NULL;
    api_set_text(item, "ifname", port->ifname);
    api_set_text(item, "driver", port->driver);
    api_set_text(item, "product", port->product);
    api_set_text(item, "psid", port->psid);
    api_set_text(item, "firmware", port->firmware);
    api_set_text(item, "firmware_stored", port->firmware_stored);
    api_set_text(item, "rdma_device", port->rdma_device);
    set_int(item, "speed_bps", port->speed_bps);
    set_int(item, "mtu_bytes", port->mtu_bytes);
    json_object_set_new(item, "virtual_function", json_boolean(port->virtual_function));
    api_set_text(item, "physical_function", port->physical_function);
    set_pcie(item, &port->pcie);
    set_identity(item, port);
    set_surroundings(item, port);
    return item;
}

/* The NICs that are as near as any: where its traffic should leave the host. */
static void set_nearest(json_t *item, const struct inventory *inventory, const struct gpu *gpu)
{
    int best = PATH_SYS + 1;
    json_t *nics = json_array();
    for (size_t i = 0; i < inventory->path_count; i++) {
        const struct device_path *path = &inventory->paths[i];
        if (strcmp(path->gpu, gpu->id) != 0 || path->kind > best)
            continue;
        if (path->kind < best)
            json_array_clear(nics);
        best = path->kind;
        json_array_append_new(nics, json_string(path->nic));
    }
    if (json_array_size(nics) > 0) {
        json_object_set(item, "nearest_nics", nics);
        api_set_text(item, "nearest_path", path_kind_name((enum path_kind)best));
    }
    json_decref(nics);
}

static json_t *gpu_to_json(const char *node, const struct inventory *inventory,
                           const struct gpu *gpu)
{
    json_t *item = json_pack("{ss, ss}", "node", node, "id", gpu->id);
    if (item == NULL)
        return NULL;
    api_set_text(item, "model", gpu->model);
    api_set_text(item, "vendor", gpu->vendor);
    api_set_text(item, "firmware", gpu->firmware);
    api_set_text(item, "driver", gpu->driver);
    set_int(item, "memory_bytes", gpu->memory_bytes);
    set_int(item, "nvlink_bps", gpu->nvlink_bps);
    set_int(item, "nvlinks", gpu->nvlinks);
    set_int(item, "nvlinks_active", gpu->nvlinks_active);
    api_set_text(item, "serial", gpu->serial);
    set_int(item, "numa_node", gpu->numa_node);
    set_pcie(item, &gpu->pcie);
    set_nearest(item, inventory, gpu);
    return item;
}

static json_t *cpu_to_json(const char *node, const struct inventory *inventory)
{
    const struct cpu *cpu = &inventory->cpu;
    json_t *item = json_pack("{ss}", "node", node);
    if (item == NULL)
        return NULL;
    api_set_text(item, "kernel", inventory->kernel);
    api_set_text(item, "model", cpu->model);
    api_set_text(item, "vendor", cpu->vendor);
    api_set_text(item, "architecture", cpu->architecture);
    api_set_text(item, "firmware", cpu->firmware);
    api_set_text(item, "iommu", cpu->iommu);
    set_int(item, "sockets", cpu->sockets);
    set_int(item, "cores", cpu->cores);
    set_int(item, "threads", cpu->threads);
    return item;
}

static bool add_nics(struct list *list, const char *node, const struct inventory *inventory,
                     const char *after)
{
    for (size_t i = 0; i < inventory->port_count; i++) {
        const struct port *port = &inventory->ports[i];
        if (strcmp(port->id, after) > 0 &&
            !page_add(list->page, nic_to_json(node, port), "%s %s", node, port->id))
            return false;
    }
    return true;
}

static bool add_gpus(struct list *list, const char *node, const struct inventory *inventory,
                     const char *after)
{
    for (size_t i = 0; i < inventory->gpu_count; i++) {
        const struct gpu *gpu = &inventory->gpus[i];
        if (strcmp(gpu->id, after) > 0 &&
            !page_add(list->page, gpu_to_json(node, inventory, gpu), "%s %s", node, gpu->id))
            return false;
    }
    return true;
}

static bool add_cpu(struct list *list, const char *node, const struct inventory *inventory,
                    const char *after)
{
    if (!inventory->cpu.present || after[0] != '\0')
        return true;
    return page_add(list->page, cpu_to_json(node, inventory), "%s cpu", node);
}

static bool on_node(void *arg, const char *node, const struct inventory *inventory)
{
    struct list *list = arg;
    if (list->only != NULL && strcmp(list->only, node) != 0)
        return false; /* the scan began at it */
    list->found = true;
    return list->add(list, node, inventory, strcmp(node, list->node) == 0 ? list->item : "");
}

static enum err_code read_list(struct db_ro *ro, struct page *page, struct list *list,
                               struct err *err)
{
    char item[PORT_ID_SIZE] = "";
    list->page = page;
    list->only = request_query(page->request, "node");
    if (sscanf(page->after, "%63s %95s", list->node, item) < 1)
        list->node[0] = '\0';
    snprintf(list->item, sizeof(list->item), "%s", item);
    const char *from = list->node[0] == '\0' && list->only != NULL ? list->only : list->node;
    enum err_code code = scan_inventories(ro, from, on_node, list, err);
    if (code != ERR_OK || list->only == NULL)
        return code;
    page->extra = json_pack("{sb}", "reported", list->found);
    return page->extra != NULL ? ERR_OK : err_nomem(err);
}

static enum err_code read_nics(struct db_ro *ro, struct page *page, struct err *err)
{
    return read_list(ro, page, &(struct list){.add = add_nics}, err);
}

static enum err_code read_gpus(struct db_ro *ro, struct page *page, struct err *err)
{
    return read_list(ro, page, &(struct list){.add = add_gpus}, err);
}

static enum err_code read_cpus(struct db_ro *ro, struct page *page, struct err *err)
{
    return read_list(ro, page, &(struct list){.add = add_cpu}, err);
}

static void start(struct request *request,
                  enum err_code (*read)(struct db_ro *, struct page *, struct err *))
{
    const char *node = request_query(request, "node");
    if (node != NULL && (!api_check_name(request, node, "node") || !api_check_node(request, node)))
        return;
    struct page *page = page_new(request, read);
    if (page != NULL)
        page_submit(page);
}

void api_inventory_nics(struct request *request)
{
    start(request, read_nics);
}

void api_inventory_gpus(struct request *request)
{
    start(request, read_gpus);
}

void api_inventory_cpus(struct request *request)
{
    start(request, read_cpus);
}
