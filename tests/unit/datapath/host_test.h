#pragma once
/*
 * tests/unit/datapath/host_test.h - made-up hosts as trees of files: two sockets with a NUMA node
 * each; under every PCIe switch one NIC and one GPU. Values are those of lspci, ethtool and
 * devlink outputs seen in public.
 */

#include "tests/unit/datapath/root_test.h"

static inline void host_attr(const char *root, const char *folder, const char *name,
                             const char *text)
{
    char path[640];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    root_file(root, path, text, 0444);
}

/* One function at `folder` (below /sys/devices), and its entry on the bus. */
static inline void host_function(const char *root, const char *folder, const char *address,
                                 const char *class, const char *vendor, const char *device,
                                 int numa)
{
    char path[512], number[16];
    snprintf(path, sizeof(path), "%s/%s", folder, address);
    host_attr(root, path, "class", class);
    host_attr(root, path, "vendor", vendor);
    host_attr(root, path, "device", device);
    host_attr(root, path, "revision", "0x00\n");
    host_attr(root, path, "subsystem_vendor", vendor);
    host_attr(root, path, "subsystem_device", "0x0001\n");
    snprintf(number, sizeof(number), "%d\n", numa);
    host_attr(root, path, "numa_node", number);
    host_attr(root, path, "local_cpus", numa == 0 ? "3\n" : "c\n");
    host_attr(root, path, "local_cpulist", numa == 0 ? "0-1\n" : "2-3\n");
    root_folder(root, "/sys/bus/pci/devices");
    char link[512], target[640];
    snprintf(link, sizeof(link), "/sys/bus/pci/devices/%s", address);
    snprintf(target, sizeof(target), "../../..%s", path + strlen("/sys"));
    root_link(root, link, target);
}

/* A type 1 header: what hwloc reads of a bridge is its buses. */
static inline void host_bridge(const char *root, const char *folder, const char *address, int numa,
                               unsigned primary, unsigned secondary, unsigned last)
{
    char path[512], full[2 * TEST_PATH_MAX];
    unsigned char config[256] = {0x86, 0x80, 0x00, 0x10};
    host_function(root, folder, address, "0x060400\n", "0x8086\n", "0x1000\n", numa);
    config[0x0b] = 0x06;
    config[0x0a] = 0x04;
    config[0x0e] = 1;
    config[0x18] = (unsigned char)primary;
    config[0x19] = (unsigned char)secondary;
    config[0x1a] = (unsigned char)last;
    snprintf(path, sizeof(path), "%s/%s/config", folder, address);
    root_file(root, path, "", 0444);
    snprintf(full, sizeof(full), "%s%s", root, path);
    assert_int_equal(chmod(full, 0644), 0);
    FILE *file = fopen(full, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(config, 1, sizeof(config), file), sizeof(config));
    assert_int_equal(fclose(file), 0);
}

static inline void host_pcie(const char *root, const char *device, const char *current,
                             const char *most, const char *width)
{
    host_attr(root, device, "current_link_speed", current);
    host_attr(root, device, "max_link_speed", most);
    host_attr(root, device, "current_link_width", width);
    host_attr(root, device, "max_link_width", "16\n");
    host_attr(root, device, "aer_dev_correctable", "RxErr 0\nTOTAL_ERR_COR 0\n");
}

/* Processors 0-1 in socket and node 0, 2-3 in socket and node 1. */
static inline void host_processors(const char *root)
{
    root_file(root, "/sys/devices/system/cpu/online", "0-3\n", 0444);
    root_file(root, "/sys/devices/system/cpu/possible", "0-3\n", 0444);
    root_file(root, "/sys/devices/system/cpu/present", "0-3\n", 0444);
    root_file(root, "/sys/devices/system/node/online", "0-1\n", 0444);
    root_file(root, "/sys/devices/system/node/possible", "0-1\n", 0444);
    for (int i = 0; i < 4; i++) {
        char folder[128], text[64];
        snprintf(folder, sizeof(folder), "/sys/devices/system/cpu/cpu%d/topology", i);
        snprintf(text, sizeof(text), "%d\n", i / 2);
        host_attr(root, folder, "physical_package_id", text);
        snprintf(text, sizeof(text), "%d\n", i % 2);
        host_attr(root, folder, "core_id", text);
        snprintf(text, sizeof(text), "%x\n", 1 << i);
        host_attr(root, folder, "thread_siblings", text);
        host_attr(root, folder, "core_cpus", text);
        host_attr(root, folder, "core_siblings", i < 2 ? "3\n" : "c\n");
        host_attr(root, folder, "package_cpus", i < 2 ? "3\n" : "c\n");
    }
    for (int i = 0; i < 2; i++) {
        char folder[128], text[128];
        snprintf(folder, sizeof(folder), "/sys/devices/system/node/node%d", i);
        host_attr(root, folder, "cpumap", i == 0 ? "3\n" : "c\n");
        host_attr(root, folder, "cpulist", i == 0 ? "0-1\n" : "2-3\n");
        snprintf(text, sizeof(text), "Node %d MemTotal:       1048576 kB\n", i);
        host_attr(root, folder, "meminfo", text);
        host_attr(root, folder, "distance", i == 0 ? "10 21\n" : "21 10\n");
    }
    root_file(root, "/proc/meminfo",
              "MemTotal:        2097152 kB\nHugePages_Total:       0\n"
              "Hugepagesize:       2048 kB\n",
              0444);
}

#define HOST_NICS 8

/* "0000:1b:00.0" of NIC i, "0000:1a:00.0" of GPU i; i below 8. */
static inline void host_nic_address(int i, char out[32])
{
    snprintf(out, 32, "0000:%x%x:00.0", i + 1, 0xb);
}
static inline void host_gpu_address(int i, char out[32])
{
    snprintf(out, 32, "0000:%x%x:00.0", i + 1, 0xa);
}

/* Eight switches, four in each socket; each under a root port of its own host bridge. */
static inline void host_build(const char *root, const char *nic_vendor, const char *nic_device)
{
    host_processors(root);
    for (int i = 0; i < HOST_NICS; i++) {
        char top[64], folder[256], bridge[32], nic[32], gpu[32], device[320];
        unsigned base = (unsigned)(i + 1) * 0x10;
        int numa = i / 4;
        snprintf(top, sizeof(top), "/sys/devices/pci0000:%02x", base);
        snprintf(bridge, sizeof(bridge), "0000:%02x:01.0", base);
        host_bridge(root, top, bridge, numa, base, base + 1, base + 0xf);
        snprintf(folder, sizeof(folder), "%s/%s", top, bridge);
        snprintf(bridge, sizeof(bridge), "0000:%02x:00.0", base + 1);
        host_bridge(root, folder, bridge, numa, base + 1, base + 2, base + 0xf);
        snprintf(folder + strlen(folder), sizeof(folder) - strlen(folder), "/%s", bridge);
        host_nic_address(i, nic);
        host_gpu_address(i, gpu);
        for (int side = 0; side < 2; side++) {
            char below[288];
            snprintf(bridge, sizeof(bridge), "0000:%02x:%02x.0", base + 2, (unsigned)side);
            host_bridge(root, folder, bridge, numa, base + 2, base + 0xa + (unsigned)side,
                        base + 0xa + (unsigned)side);
            snprintf(below, sizeof(below), "%s/%s", folder, bridge);
            if (side == 0)
                host_function(root, below, gpu, "0x030200\n", "0x10de\n", "0x20b2\n", numa);
            else
                host_function(root, below, nic, "0x020000\n", nic_vendor, nic_device, numa);
            snprintf(device, sizeof(device), "%s/%s", below, side == 0 ? gpu : nic);
            host_pcie(root, device, "16.0 GT/s PCIe\n", "16.0 GT/s PCIe\n", "16\n");
        }
    }
}
