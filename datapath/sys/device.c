/*
 * datapath/sys/device.c - see device.h.
 */
#include "datapath/sys/device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "datapath/facts.h"
#include "datapath/sys/irq.h"
#include "datapath/sys/sys.h"
#include "datapath/sys/vpd.h"

static bool read_attr(const char *root, const char *folder, const char *name, char *out,
                      size_t size)
{
    char path[SYS_PATH_MAX];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    return sys_read(root, path, out, size, NULL) == ERR_OK;
}

/* A number that is all the attribute holds; -1 = it is not there or none. */
static int64_t read_number(const char *root, const char *folder, const char *name)
{
    char text[24], *end;
    if (!read_attr(root, folder, name, text, sizeof(text)) || text[0] < '0' || text[0] > '9')
        return -1;
    long long value = strtoll(text, &end, 10);
    return *end == '\0' && value <= INT32_MAX ? value : -1;
}

bool device_pci_id(const char *root, const char *device, char out[DEVICE_PCI_ID_SIZE])
{
    char vendor[8], id[8];
    if (!read_attr(root, device, "vendor", vendor, sizeof(vendor)) ||
        !read_attr(root, device, "device", id, sizeof(id)) || strncmp(vendor, "0x", 2) != 0 ||
        strncmp(id, "0x", 2) != 0)
        return false;
    snprintf(out, DEVICE_PCI_ID_SIZE, "%s:%s", vendor + 2, id + 2);
    return true;
}

int device_numa_node(const char *root, const char *device)
{
    return (int)read_number(root, device, "numa_node");
}

json_t *device_pcie(const char *root, const char *device)
{
    struct pci_link link;
    char path[SYS_PATH_MAX];
    json_t *pcie = json_object();
    pci_link_get(root, device, &link);
    fact_int(pcie, "current_gen", link.current_gen, 1);
    fact_int(pcie, "max_gen", link.max_gen, 1);
    fact_int(pcie, "current_width", link.current_width, 1);
    fact_int(pcie, "max_width", link.max_width, 1);
    snprintf(path, sizeof(path), "%s/aer_dev_correctable", device);
    if (json_object_size(pcie) > 0)
        fact_bool(pcie, "aer", sys_exists(root, path));
    return pcie;
}

static void put_function(const char *root, const char *device, int number, json_t *list)
{
    char path[SYS_PATH_MAX], name[SYS_NAME_MAX];
    snprintf(path, sizeof(path), "%s/virtfn%d", device, number);
    if (!sys_link_name(root, path, name, sizeof(name)))
        return;
    json_t *function = json_pack("{s:i,s:s}", "index", number, "address", name);
    snprintf(path, sizeof(path), "%s/virtfn%d/driver", device, number);
    if (sys_link_name(root, path, name, sizeof(name)))
        fact_text(function, "driver", name);
    json_array_append_new(list, function);
}

/* The functions that are there, whoever drives them: one that a guest has is no port of ours. */
static json_t *sriov_facts(const char *root, const char *device)
{
    int64_t total = read_number(root, device, "sriov_totalvfs");
    json_t *sriov = json_object(), *list = json_array();
    if (total > 0) {
        int64_t enabled = read_number(root, device, "sriov_numvfs");
        fact_int(sriov, "total", total, 1);
        fact_int(sriov, "enabled", enabled, 0);
        for (int i = 0; i < enabled && i < DEVICE_FUNCTIONS_MAX; i++)
            put_function(root, device, i, list);
        if (enabled > DEVICE_FUNCTIONS_MAX)
            fact_bool(sriov, "truncated", true);
    }
    fact_part(sriov, "functions", list);
    return sriov;
}

json_t *device_facts(const char *root, const char *device)
{
    char path[SYS_PATH_MAX], text[SYS_NAME_MAX];
    json_t *facts = json_object();
    if (facts == NULL)
        return NULL;
    if (device_pci_id(root, device, text))
        fact_text(facts, "pci_id", text);
    fact_int(facts, "numa_node", device_numa_node(root, device), 0);
    fact_part(facts, "irq", irq_facts(root, device));
    if (pci_is_virtual(root, device)) {
        /* What it says of its own link is nothing: 0 lanes, "Unknown". */
        fact_bool(facts, "virtual_function", true);
        snprintf(path, sizeof(path), "%s/physfn", device);
        if (sys_link_name(root, path, text, sizeof(text)))
            fact_text(facts, "physical_function", text);
        return facts;
    }
    fact_part(facts, "pcie", device_pcie(root, device));
    fact_part(facts, "sriov", sriov_facts(root, device));
    return facts;
}

json_t *device_vpd(const char *root, const char *device)
{
    char path[SYS_PATH_MAX], data[VPD_BYTES_MAX + 1];
    size_t len;
    struct vpd vpd;
    json_t *facts = json_object();
    snprintf(path, sizeof(path), "%s/vpd", device);
    if (facts == NULL || pci_is_virtual(root, device) ||
        sys_read_head(root, path, data, sizeof(data), &len, NULL))
        return facts;
    vpd_decode(data, len, &vpd);
    fact_text(facts, "product", vpd.product);
    fact_text(facts, "part_number", vpd.part);
    fact_text(facts, "serial", vpd.serial);
    return facts;
}

json_t *netdev_facts(const char *root, const char *netdev)
{
    static const char *const states[] = {"up",      "down",      "dormant", "lowerlayerdown",
                                         "testing", "notpresent"};
    char text[SYS_NAME_MAX];
    json_t *facts = json_object(), *link = json_object();
    if (read_attr(root, netdev, "address", text, sizeof(text)))
        fact_text(facts, "mac", text);
    if (read_attr(root, netdev, "operstate", text, sizeof(text)))
        for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++)
            if (strcmp(text, states[i]) == 0)
                fact_text(link, "state", text);
    if (read_attr(root, netdev, "duplex", text, sizeof(text)) &&
        (strcmp(text, "full") == 0 || strcmp(text, "half") == 0))
        fact_text(link, "duplex", text);
    fact_part(facts, "link", link);
    return facts;
}

/* "pf0vf3", "c1pf0vf3", "pf0sf88": the other ports of the switch inside a NIC. The uplink ("p0")
 * is a port. */
static bool is_representor_name(const char *name)
{
    const char *pf = strstr(name, "pf");
    size_t digits = pf == NULL ? 0 : strspn(pf + 2, "0123456789");
    const char *rest = digits == 0 ? "" : pf + 2 + digits;
    return (strncmp(rest, "vf", 2) == 0 || strncmp(rest, "sf", 2) == 0) && rest[2] >= '0' &&
           rest[2] <= '9';
}

bool netdev_representor(const char *root, const char *netdev, char *out, size_t size)
{
    return read_attr(root, netdev, "phys_port_name", out, size) && is_representor_name(out);
}
