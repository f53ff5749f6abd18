/*
 * datapath/linux_inventory_port.c - one network port of the inventory: what sysfs, devlink and
 * ethtool say of it. See linux_inventory.h.
 */
#include "datapath/linux_inventory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "datapath/facts.h"
#include "datapath/nl/dcb.h"
#include "datapath/nl/devlink.h"
#include "datapath/nl/ethtool.h"
#include "datapath/nl/ethtool_fec.h"
#include "datapath/nl/ethtool_module.h"
#include "datapath/sys/device.h"
#include "datapath/sys/sys.h"

/* Capabilities -------------------------------------------------------------------------------- */

static int64_t flower_entries(const struct dp_linux *dp, const struct dp_port *port)
{
    char path[DP_SYSFS_MAX], text[16];
    /* No interface tells a flow table's capacity; the test NIC does, in debugfs. */
    if (strcmp(port->driver, "solar_rdma") != 0)
        return -1;
    snprintf(path, sizeof(path), "/sys/kernel/debug/solar_rdma/%s/tcam_entries", port->ifname);
    return sys_read(dp->root, path, text, sizeof(text), NULL) ? -1 : atoi(text);
}

static json_t *caps_json(struct linux_inventory *job, const struct dp_port *port)
{
    struct dcb_state dcb = {0};
    struct ethtool_tc_offload offload = {0};
    struct err err = ERR_INIT;
    json_t *caps = json_object();
    enum err_code code = dcb_get(job->dp->route, port->ifname, &dcb, &err);
    if (code != ERR_OK && code != ERR_UNSUPPORTED)
        fact_problem(job->problems, port->id, err.text);
    if (job->genl != NULL) {
        code = ethtool_tc_offload_get(job->genl, port->ifname, &offload, &err);
        if (code != ERR_OK && code != ERR_UNSUPPORTED)
            fact_problem(job->problems, port->id, err.text);
    }
    const struct vendor *vendor = vendor_get(port->driver);
    fact_bool(caps, "dcb_app", dcb.has_app && !vendor->no_app);
    fact_bool(caps, "dcb_ets", dcb.has_ets);
    fact_bool(caps, "dcb_pfc", dcb.has_pfc);
    fact_bool(caps, "dcb_maxrate", dcb.has_maxrate);
    fact_bool(caps, "dcb_buffer", dcb.has_buffer);
    fact_bool(caps, "tc", true); /* every netdev has qdiscs */
    fact_bool(caps, "flower_hw", offload.active);
    fact_int(caps, "flower_hw_entries", flower_entries(job->dp, port), 0);
    fact_int(caps, "maxrate_unit_bps", vendor->maxrate_unit_bps, 1);
    fact_int(caps, "ets_tcs", dcb.ets_cap > 8 ? 8 : dcb.ets_cap, 1);
    return caps;
}

/* What may hang ------------------------------------------------------------------------------- */

struct look {
    char root[SYS_PATH_MAX];
    char ifname[IFNAME_SIZE];
    char sysfs[DP_SYSFS_MAX];
    json_t *vpd;                        /* owned; NULL: to be read, out */
    json_t *facts;                      /* owned, out */
    struct ethtool_drvinfo_text driver; /* out; empty = unknown */
    int64_t speed_bps;                  /* out; -1 = unknown */
};

/* By sysfs, for drivers that ethtool netlink does not ask. */
static int64_t speed_of(const char *root, const char *sysfs)
{
    char path[DP_SYSFS_MAX + 16], text[24];
    snprintf(path, sizeof(path), "%s/speed", sysfs);
    if (sys_read(root, path, text, sizeof(text), NULL) != ERR_OK)
        return -1;
    long mbps = strtol(text, NULL, 10);
    return mbps > 0 && mbps < INT32_MAX ? mbps * INT64_C(1000000) : -1;
}

/* The old ioctl and the speed take the same lock as every change of a link (net/core/net-sysfs.c:
 * speed_show() begins anew until it has it). */
static void look_run(void *arg)
{
    struct look *look = arg;
    char device[DP_SYSFS_MAX + 16];
    snprintf(device, sizeof(device), "%s/device", look->sysfs);
    look->facts = device_facts(look->root, device);
    if (look->vpd == NULL)
        look->vpd = device_vpd(look->root, device);
    json_t *netdev = netdev_facts(look->root, look->sysfs);
    if (look->facts != NULL)
        json_object_update(look->facts, netdev);
    json_decref(netdev);
    if (ethtool_driver(look->ifname, &look->driver, NULL) != ERR_OK)
        look->driver = (struct ethtool_drvinfo_text){.driver = ""};
    look->speed_bps = speed_of(look->root, look->sysfs);
}

static void look_release(void *arg)
{
    struct look *look = arg;
    json_decref(look->facts);
    json_decref(look->vpd);
    free(look);
}

/* Puts the facts into the port; what goes on from here is unknown when the device hangs. */
static void put_facts(struct linux_inventory *job, const struct dp_port *port, json_t *object,
                      struct ethtool_drvinfo_text *out_driver, int64_t *out_speed_bps)
{
    struct look *look = calloc(1, sizeof(*look));
    if (look == NULL)
        return;
    snprintf(look->root, sizeof(look->root), "%s", job->dp->root);
    memcpy(look->ifname, port->ifname, sizeof(look->ifname));
    memcpy(look->sysfs, port->sysfs, sizeof(look->sysfs));
    look->vpd = json_deep_copy(linux_kept_get(job->dp, port, "vpd")); /* NULL of NULL */
    const struct aside_job work = {.run = look_run, .release = look_release, .arg = look};
    if (!linux_aside(job, port->id, &work))
        return;
    json_object_update(object, look->facts);
    json_object_update(object, look->vpd);
    linux_kept_put(job->dp, port, "vpd", json_incref(look->vpd));
    *out_driver = look->driver;
    *out_speed_bps = look->speed_bps;
    look_release(look);
}

/* Firmware ------------------------------------------------------------------------------------ */

static json_t *versions_json(const struct devlink_versions *versions)
{
    json_t *object = json_object();
    for (size_t i = 0; i < versions->count; i++)
        fact_text(object, versions->items[i].name, versions->items[i].value);
    return object;
}

static const char *version_named(const struct devlink_versions *versions, const char *name)
{
    for (size_t i = 0; i < versions->count; i++)
        if (strcmp(versions->items[i].name, name) == 0)
            return versions->items[i].value;
    return NULL;
}

static void put_devlink(const struct devlink_info *info, json_t *object)
{
    json_t *devlink = json_object();
    fact_text(object, "serial", info->serial); /* over the card's own, unless a placeholder */
    fact_text(object, "firmware", devlink_firmware(&info->running));
    fact_text(object, "firmware_stored", devlink_firmware(&info->stored));
    if (json_object_get(object, "part_number") == NULL)
        fact_text(object, "part_number", version_named(&info->fixed, "board.id"));
    fact_part(devlink, "fixed", versions_json(&info->fixed));
    fact_part(devlink, "running", versions_json(&info->running));
    fact_part(devlink, "stored", versions_json(&info->stored));
    fact_part(object, "devlink", devlink);
}

/* Driver and firmware: devlink knows best, the old ioctl knows of every driver. */
static void put_firmware(struct linux_inventory *job, const struct dp_port *port,
                         struct ethtool_drvinfo_text *driver, json_t *object)
{
    struct devlink_info info = {0};
    char psid[DEVLINK_PSID_SIZE];
    if (job->genl != NULL && port->bus[0] != '\0' &&
        devlink_info_get(job->genl, port->bus, port->device, &info, NULL) == ERR_OK)
        put_devlink(&info, object);
    if (devlink_psid(&info.fixed, driver->firmware, psid))
        fact_text(object, "psid", psid);
    /* mlx5 writes "22.36.1010 (MT_0000000359)": the version is the first word. */
    driver->firmware[strcspn(driver->firmware, " ")] = '\0';
    if (json_object_get(object, "firmware") == NULL)
        fact_text(object, "firmware", driver->firmware);
    fact_text(object, "driver", port->driver[0] != '\0' ? port->driver : driver->driver);
}

/* Link ---------------------------------------------------------------------------------------- */

static void put_link(struct linux_inventory *job, const struct dp_port *port, int64_t speed_bps,
                     json_t *object)
{
    struct ethtool_link link = {.speed_bps = -1, .autoneg = -1, .lanes = -1};
    json_t *part = json_object_get(object, "link");
    if (job->genl == NULL || ethtool_link(job->genl, port->ifname, &link, NULL) != ERR_OK)
        link = (struct ethtool_link){.speed_bps = -1, .autoneg = -1, .lanes = -1};
    if (part != NULL && link.autoneg >= 0)
        fact_bool(part, "autoneg", link.autoneg == 1);
    if (part != NULL)
        fact_int(part, "lanes", link.lanes, 1);
    fact_int(object, "speed_bps", link.speed_bps > 0 ? link.speed_bps : speed_bps, 1);
    /* More than 65535 (the loopback's 65536) is no MTU of a NIC. */
    if (port->mtu_bytes <= UINT16_MAX)
        fact_int(object, "mtu_bytes", port->mtu_bytes, 68);
}

static void put_fec(struct linux_inventory *job, const struct dp_port *port, json_t *object)
{
    struct ethtool_fec fec;
    if (job->genl == NULL || ethtool_fec_get(job->genl, port->ifname, &fec, NULL) != ERR_OK)
        return;
    json_t *part = json_object(), *modes = json_array();
    fact_text(part, "active", ethtool_fec_name(fec.active));
    if (fec.automatic)
        json_array_append_new(modes, json_string("auto"));
    for (int i = 0; i < ETHTOOL_FEC_MODES; i++)
        if (fec.configured[i])
            json_array_append_new(modes, json_string(ethtool_fec_name(i)));
    fact_part(part, "configured", modes);
    fact_part(object, "fec", part);
}

static void put_clock(struct linux_inventory *job, const struct dp_port *port, json_t *object)
{
    char path[DP_SYSFS_MAX], text[64];
    int index = -1;
    if (job->genl == NULL || ethtool_clock_get(job->genl, port->ifname, &index, NULL) != ERR_OK ||
        index < 0)
        return;
    json_t *ptp = json_pack("{s:i}", "index", index);
    snprintf(path, sizeof(path), "/sys/class/ptp/ptp%d/clock_name", index);
    if (sys_read(job->dp->root, path, text, sizeof(text), NULL) == ERR_OK)
        fact_text(ptp, "name", text);
    fact_part(object, "ptp", ptp);
}

static json_t *module_json(struct linux_inventory *job, const struct dp_port *port)
{
    struct ethtool_module module;
    json_t *part = json_object();
    if (ethtool_module_get(job->genl, port->ifname, &module, NULL) != ERR_OK)
        return part;
    fact_text(part, "kind", module.kind);
    fact_text(part, "vendor", module.vendor);
    fact_text(part, "part_number", module.part);
    fact_text(part, "serial", module.serial);
    return part;
}

/* Its memory is read over a slow bus. While the link is up nobody can exchange it unannounced. */
static void put_module(struct linux_inventory *job, const struct dp_port *port, json_t *object)
{
    const json_t *link = json_object_get(object, "link");
    const char *state = json_string_value(json_object_get(link, "state"));
    if (job->genl == NULL || json_object_get(object, "virtual_function") != NULL)
        return;
    json_t *module = json_incref(linux_kept_get(job->dp, port, "module"));
    if (module == NULL)
        module = module_json(job, port);
    if (state != NULL && strcmp(state, "up") == 0)
        linux_kept_put(job->dp, port, "module", json_incref(module));
    fact_part(object, "module", json_deep_copy(module));
    json_decref(module);
}

static void put_neighbour(const struct dp_linux *dp, const struct dp_port *port, json_t *object)
{
    const struct lldp_neighbour *neighbour =
        dp->lldp == NULL ? NULL : lldp_listen_get(dp->lldp, port->ifindex);
    if (neighbour != NULL)
        fact_part(object, "neighbour", lldp_to_json(neighbour));
}

static json_t *representors_json(const struct dp_linux *dp, const struct dp_port *port)
{
    json_t *list = json_array();
    for (size_t i = 0; i < dp->representor_count; i++) {
        const struct dp_representor *representor = &dp->representors[i];
        if (strcmp(representor->device, port->device) == 0 &&
            json_array_size(list) < INVENTORY_FUNCTIONS_MAX)
            json_array_append_new(list, json_pack("{s:s,s:s}", "ifname", representor->ifname,
                                                  "port_name", representor->port_name));
    }
    return list;
}

json_t *linux_inventory_port(struct linux_inventory *job, const struct dp_port *port)
{
    struct ethtool_drvinfo_text driver = {.driver = ""};
    int64_t speed_bps = -1;
    json_t *object = json_pack("{s:s,s:s}", "id", port->id, "ifname", port->ifname);
    if (object == NULL)
        return NULL;
    put_facts(job, port, object, &driver, &speed_bps);
    put_firmware(job, port, &driver, object);
    const struct rdma_device *device = linux_inventory_rdma_of(job, port);
    if (device != NULL) {
        fact_text(object, "rdma_device", device->name);
        fact_bool(object, "rdma_software", linux_rdma_is_software(job->dp, device->name));
    }
    put_link(job, port, speed_bps, object);
    put_fec(job, port, object);
    put_clock(job, port, object);
    put_module(job, port, object);
    put_neighbour(job->dp, port, object);
    fact_part(object, "representors", representors_json(job->dp, port));
    json_t *caps = caps_json(job, port);
    linux_device_caps(job->dp, job->genl, port, job->rdma, caps);
    json_object_set_new(object, "caps", caps);
    return object;
}
