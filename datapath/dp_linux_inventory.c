/*
 * datapath/dp_linux_inventory.c - what this node is made of, in the form of schemas/inventory.json
 * without "version" and "node". A device that fails is listed with its problem.
 */
#include "datapath/linux.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include <linux/netlink.h>

#include "datapath/nl/dcb.h"
#include "datapath/nl/devlink.h"
#include "datapath/nl/ethtool.h"
#include "datapath/nl/rdma.h"
#include "datapath/sys/sys.h"
#include "datapath/verbs/devices.h"

static void set_text(json_t *object, const char *key, const char *text)
{
    if (text != NULL && text[0] != '\0')
        json_object_set_new(object, key, json_string(text));
}

static void set_known(json_t *object, const char *key, int64_t value, int64_t least)
{
    if (value >= least)
        json_object_set_new(object, key, json_integer(value));
}

static void set_bool(json_t *object, const char *key, bool value)
{
    json_object_set_new(object, key, json_boolean(value));
}

static void tell(json_t *problems, const char *subject, const char *text)
{
    json_array_append_new(problems, json_pack("{s:s,s:s}", "subject", subject, "problem", text));
}

/* Port ---------------------------------------------------------------------------------------- */

static int64_t flower_entries(const struct dp_linux *dp, const struct dp_port *port)
{
    char path[DP_SYSFS_MAX], text[16];
    /* No interface tells a flow table's capacity; the test NIC does, in debugfs. */
    if (strcmp(port->driver, "solar_rdma") != 0)
        return -1;
    snprintf(path, sizeof(path), "/sys/kernel/debug/solar_rdma/%s/tcam_entries", port->ifname);
    return sys_read(dp->root, path, text, sizeof(text), NULL) ? -1 : atoi(text);
}

static json_t *caps_json(struct dp_linux *dp, struct nlx *genl, const struct dp_port *port,
                         json_t *problems)
{
    struct dcb_state dcb = {0};
    struct ethtool_tc_offload offload = {0};
    struct err err = ERR_INIT;
    json_t *caps = json_object();
    enum err_code code = dcb_get(dp->route, port->ifname, &dcb, &err);
    if (code != ERR_OK && code != ERR_UNSUPPORTED)
        tell(problems, port->id, err.text);
    if (genl != NULL) {
        code = ethtool_tc_offload_get(genl, port->ifname, &offload, &err);
        if (code != ERR_OK && code != ERR_UNSUPPORTED)
            tell(problems, port->id, err.text);
    }
    const struct vendor *vendor = vendor_get(port->driver);
    set_bool(caps, "dcb_app", dcb.has_app && !vendor->no_app);
    set_bool(caps, "dcb_ets", dcb.has_ets);
    set_bool(caps, "dcb_pfc", dcb.has_pfc);
    set_bool(caps, "dcb_maxrate", dcb.has_maxrate);
    set_bool(caps, "dcb_buffer", dcb.has_buffer);
    set_bool(caps, "tc", true); /* every netdev has qdiscs */
    set_bool(caps, "flower_hw", offload.active);
    set_known(caps, "flower_hw_entries", flower_entries(dp, port), 0);
    set_known(caps, "maxrate_unit_bps", vendor->maxrate_unit_bps, 1);
    set_known(caps, "ets_tcs", dcb.ets_cap > 8 ? 8 : dcb.ets_cap, 1);
    return caps;
}

static json_t *versions_json(const struct devlink_versions *versions)
{
    json_t *object = json_object();
    for (size_t i = 0; i < versions->count; i++)
        json_object_set_new(object, versions->items[i].name, json_string(versions->items[i].value));
    return object;
}

/* Driver and firmware: devlink knows best, the old ioctl knows of every driver. */
static void put_firmware(struct nlx *genl, const struct dp_port *port, json_t *object)
{
    struct ethtool_drvinfo_text driver = {0};
    struct devlink_info info = {0};
    const char *firmware = NULL, *name = port->driver;
    char psid[DEVLINK_PSID_SIZE];
    if (genl != NULL && port->bus[0] != '\0' &&
        devlink_info_get(genl, port->bus, port->device, &info, NULL) == ERR_OK) {
        firmware = devlink_firmware(&info.running);
        set_text(object, "serial", info.serial);
        set_text(object, "firmware_stored", devlink_firmware(&info.stored));
        json_object_set_new(object, "devlink",
                            json_pack("{s:o,s:o,s:o}", "fixed", versions_json(&info.fixed),
                                      "running", versions_json(&info.running), "stored",
                                      versions_json(&info.stored)));
    }
    if (ethtool_driver(port->ifname, &driver, NULL) == ERR_OK) {
        if (name[0] == '\0')
            name = driver.driver;
        if (devlink_psid(&info.fixed, driver.firmware, psid))
            set_text(object, "psid", psid);
        /* mlx5 writes "22.36.1010 (MT_0000000359)": the version is the first word. */
        driver.firmware[strcspn(driver.firmware, " ")] = '\0';
        if (firmware == NULL && strcmp(driver.firmware, "N/A") != 0)
            firmware = driver.firmware;
    }
    set_text(object, "driver", name);
    set_text(object, "firmware", firmware);
}

static int64_t speed_of(const struct dp_linux *dp, struct nlx *genl, const struct dp_port *port)
{
    char path[DP_SYSFS_MAX + 16], text[24];
    int64_t bps = -1;
    if (genl != NULL && ethtool_speed(genl, port->ifname, &bps, NULL) == ERR_OK && bps > 0)
        return bps;
    snprintf(path, sizeof(path), "%s/speed", port->sysfs);
    if (sys_read(dp->root, path, text, sizeof(text), NULL))
        return -1;
    long mbps = strtol(text, NULL, 10);
    return mbps > 0 && mbps < INT32_MAX ? mbps * INT64_C(1000000) : -1;
}

static void put_pcie(const struct dp_linux *dp, const struct dp_port *port, json_t *object)
{
    char path[DP_SYSFS_MAX + 16];
    struct pci_link link;
    snprintf(path, sizeof(path), "%s/device", port->sysfs);
    if (pci_is_virtual(dp->root, path))
        set_bool(object, "virtual_function", true);
    pci_link_get(dp->root, path, &link);
    json_t *pcie = json_object();
    set_known(pcie, "current_gen", link.current_gen, 1);
    set_known(pcie, "max_gen", link.max_gen, 1);
    set_known(pcie, "current_width", link.current_width, 1);
    set_known(pcie, "max_width", link.max_width, 1);
    if (json_object_size(pcie) > 0)
        json_object_set(object, "pcie", pcie);
    json_decref(pcie);
}

/* rxe and siw are drivers without hardware: rxe names its netdev in "parent", hardware has
 * "device". */
static bool is_software(const struct dp_linux *dp, const char *rdma)
{
    char path[DP_SYSFS_MAX];
    snprintf(path, sizeof(path), "/sys/class/infiniband/%s/parent", rdma);
    if (sys_exists(dp->root, path))
        return true;
    snprintf(path, sizeof(path), "/sys/class/infiniband/%s/device", rdma);
    return !sys_exists(dp->root, path);
}

static const struct rdma_device *rdma_of(const struct rdma_list *rdma, int ifindex)
{
    for (size_t i = 0; i < rdma->port_count; i++) {
        if (rdma->ports[i].ifindex != (uint32_t)ifindex)
            continue;
        for (size_t d = 0; d < rdma->device_count; d++)
            if (rdma->devices[d].index == rdma->ports[i].device)
                return &rdma->devices[d];
    }
    return NULL;
}

static json_t *port_json(struct dp_linux *dp, struct nlx *genl, const struct dp_port *port,
                         const struct rdma_list *rdma, json_t *problems)
{
    json_t *object = json_pack("{s:s,s:s}", "id", port->id, "ifname", port->ifname);
    put_firmware(genl, port, object);
    const struct rdma_device *device = rdma_of(rdma, port->ifindex);
    if (device != NULL) {
        set_text(object, "rdma_device", device->name);
        set_bool(object, "rdma_software", is_software(dp, device->name));
    }
    set_known(object, "speed_bps", speed_of(dp, genl, port), 1);
    /* More than 65535 (the loopback's 65536) is no MTU of a NIC. */
    if (port->mtu_bytes <= UINT16_MAX)
        set_known(object, "mtu_bytes", port->mtu_bytes, 68);
    json_t *caps = caps_json(dp, genl, port, problems);
    linux_device_caps(dp, port, rdma, caps);
    json_object_set_new(object, "caps", caps);
    put_pcie(dp, port, object);
    return object;
}

/* RDMA devices -------------------------------------------------------------------------------- */

static const struct rdma_port *port_of(const struct rdma_list *rdma, uint32_t device)
{
    for (size_t i = 0; i < rdma->port_count; i++)
        if (rdma->ports[i].device == device && rdma->ports[i].ifindex != 0)
            return &rdma->ports[i];
    return NULL;
}

static const char *ifname_of(const struct dp_linux *dp, uint32_t ifindex)
{
    for (size_t i = 0; i < dp->port_count; i++)
        if ((uint32_t)dp->ports[i].ifindex == ifindex)
            return dp->ports[i].ifname;
    return NULL;
}

static json_t *verbs_of(json_t *verbs, const char *name)
{
    size_t i;
    json_t *device;
    json_array_foreach(verbs, i,
                       device) if (strcmp(json_string_value(json_object_get(device, "name")),
                                          name) == 0) return json_incref(device);
    return json_pack("{s:s}", "name", name);
}

/* Devices of this node's ports; one without a netdev of ours belongs to somebody else's part. */
static json_t *rdma_json(const struct dp_linux *dp, const struct rdma_list *rdma, json_t *verbs,
                         json_t *problems)
{
    json_t *devices = json_array();
    for (size_t i = 0; i < rdma->device_count; i++) {
        const struct rdma_port *port = port_of(rdma, rdma->devices[i].index);
        const char *ifname = port == NULL ? NULL : ifname_of(dp, port->ifindex);
        if (dp->devices != NULL && ifname == NULL)
            continue;
        json_t *device = verbs_of(verbs, rdma->devices[i].name);
        set_text(device, "netdev", ifname);
        if (json_object_get(device, "fw_version") == NULL)
            set_text(device, "fw_version", rdma->devices[i].firmware);
        const char *problem = json_string_value(json_object_get(device, "problem"));
        if (problem != NULL)
            tell(problems, rdma->devices[i].name, problem);
        json_array_append_new(devices, device);
    }
    if (rdma->truncated)
        tell(problems, "rdma", "there are more RDMA devices than are listed");
    return devices;
}

static void list_rdma(struct rdma_list *out, json_t *problems)
{
    OWN(nlx) struct nlx *nlx = NULL;
    struct err err = ERR_INIT;
    enum err_code code = nlx_open(NETLINK_RDMA, &nlx, &err);
    if (code == ERR_OK)
        code = rdma_list(nlx, out, &err);
    if (code != ERR_OK && code != ERR_UNSUPPORTED)
        tell(problems, "rdma", err.text);
}

static json_t *list_verbs(const struct rdma_list *rdma, json_t *problems)
{
    json_t *verbs = NULL;
    struct err err = ERR_INIT;
    if (rdma->device_count == 0)
        return NULL;
    if (verbs_devices(&verbs, &err))
        tell(problems, "verbs", err.text);
    return verbs;
}

enum err_code linux_inventory(struct dp *base, json_t **out, struct err *err)
{
    struct dp_linux *dp = (struct dp_linux *)base;
    OWN(json) json_t *problems = json_array();
    OWN(json) json_t *ports = json_array();
    OWN(mem) void *memory = calloc(1, sizeof(struct rdma_list));
    struct rdma_list *rdma = memory;
    if (rdma == NULL || ports == NULL || problems == NULL)
        return err_nomem(err);
    nlx_set_budget(dp->route, 0); /* each request has its deadline; there are many devices */
    enum err_code code = linux_scan(dp, problems, err);
    if (code != ERR_OK)
        return code;
    struct nlx *genl = NULL;
    struct err problem = ERR_INIT;
    if (linux_genl(dp, &genl, &problem))
        tell(problems, "netlink", problem.text);
    else
        nlx_set_budget(genl, 0);
    list_rdma(rdma, problems);
    OWN(json) json_t *verbs = list_verbs(rdma, problems);
    for (size_t i = 0; i < dp->port_count; i++)
        json_array_append_new(ports, port_json(dp, genl, &dp->ports[i], rdma, problems));
    struct utsname kernel;
    OWN(json)
    json_t *inventory = json_pack("{s:O,s:o,s:O}", "ports", ports, "rdma_devices",
                                  rdma_json(dp, rdma, verbs, problems), "problems", problems);
    if (inventory == NULL || json_array_size(ports) != dp->port_count)
        return err_nomem(err);
    if (uname(&kernel) == 0)
        set_text(inventory, "kernel", kernel.release);
    *out = GIVE(inventory);
    return ERR_OK;
}
