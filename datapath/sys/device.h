#pragma once
/*
 * datapath/sys/device.h - what sysfs knows of a device, in the words of schemas/inventory.json. The
 * reads run drivers and may hang: call these aside (aside.h).
 */

#include <stdbool.h>

#include <jansson.h>

#include "fleet/inventory.h"

#define DEVICE_FUNCTIONS_MAX INVENTORY_FUNCTIONS_MAX /* virtual functions that are listed */

/*
 * Of a device's folder ("/sys/class/net/X/device", "/sys/bus/pci/devices/A"): pci_id, numa_node,
 * pcie, virtual_function, physical_function, sriov, irq. What is not known is left out. NULL = no
 * memory.
 */
json_t *device_facts(const char *root, const char *device);

/* The same: product, part_number, serial of its VPD, which a NIC's firmware reads to us slowly. */
json_t *device_vpd(const char *root, const char *device);

/* Of an interface's folder ("/sys/class/net/X"): mac, link. NULL = no memory. */
json_t *netdev_facts(const char *root, const char *netdev);

/* The port's name of an interface that is the host's end of a virtual function in a NIC's switch
 * ("pf0vf3"); false = it is none. */
bool netdev_representor(const char *root, const char *netdev, char *out, size_t size);

/* {"current_gen", "max_gen", "current_width", "max_width", "aer"}, as far as known. */
json_t *device_pcie(const char *root, const char *device);
/* "15b3:101d"; false = it is no PCI device. */
#define DEVICE_PCI_ID_SIZE 16
bool device_pci_id(const char *root, const char *device, char out[DEVICE_PCI_ID_SIZE]);
/* -1 = unknown, as also what a machine with one node may say. */
int device_numa_node(const char *root, const char *device);
