/*
 * datapath/linux_port.c - which ports this node has: netdevs over devices, keyed by bus address.
 */
#include "datapath/linux.h"

#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "datapath/sys/device.h"
#include "datapath/sys/sys.h"

static bool is_named(const struct dp_linux *dp, const char *ifname)
{
    for (char **name = dp->devices; name != NULL && *name != NULL; name++)
        if (strcmp(*name, ifname) == 0)
            return true;
    return false;
}

static int dev_port(const struct dp_linux *dp, const char *sysfs)
{
    char path[DP_SYSFS_MAX + 16], text[16];
    snprintf(path, sizeof(path), "%s/dev_port", sysfs);
    if (sys_read(dp->root, path, text, sizeof(text), NULL))
        return 0;
    int port = atoi(text);
    return port < 0 ? 0 : port;
}

static bool is_representor(const struct dp_linux *dp, const struct dp_port *port,
                           char out[DP_REPRESENTOR_NAME_MAX])
{
    return port->device[0] != '\0' &&
           netdev_representor(dp->root, port->sysfs, out, DP_REPRESENTOR_NAME_MAX);
}

/* Fills in what sysfs knows. A virtual interface that was asked for by name is known by its name:
 * it has no other identity. */
static void describe(const struct dp_linux *dp, const struct link_info *link, struct dp_port *out)
{
    char path[DP_SYSFS_MAX + 32];
    *out = (struct dp_port){.ifindex = link->ifindex, .mtu_bytes = link->mtu_bytes};
    snprintf(out->ifname, sizeof(out->ifname), "%s", link->name);
    snprintf(out->sysfs, sizeof(out->sysfs), "/sys/class/net/%s", link->name);
    snprintf(path, sizeof(path), "%s/device", out->sysfs);
    if (!sys_link_name(dp->root, path, out->device, sizeof(out->device))) {
        snprintf(out->id, sizeof(out->id), "virtual.%s/0", out->ifname);
        return;
    }
    snprintf(out->id, sizeof(out->id), "%s/%d", out->device, dev_port(dp, out->sysfs));
    snprintf(path, sizeof(path), "%s/device/subsystem", out->sysfs);
    (void)sys_link_name(dp->root, path, out->bus, sizeof(out->bus));
    snprintf(path, sizeof(path), "%s/device/driver", out->sysfs);
    (void)sys_link_name(dp->root, path, out->driver, sizeof(out->driver));
    snprintf(path, sizeof(path), "%s/device", out->sysfs);
    out->is_virtual = pci_is_virtual(dp->root, path);
}

static bool is_wanted(const struct dp_linux *dp, const struct link_info *link,
                      const struct dp_port *port)
{
    if (dp->devices != NULL)
        return is_named(dp, link->name);
    return port->device[0] != '\0' && link->kind[0] == '\0';
}

static int compare_ports(const void *a, const void *b)
{
    const struct dp_port *x = a, *y = b;
    int order = strcmp(x->id, y->id);
    return order != 0 ? order : (x->ifindex > y->ifindex) - (x->ifindex < y->ifindex);
}

static void tell(json_t *problems, const char *subject, json_t *text)
{
    if (problems != NULL)
        json_array_append_new(problems,
                              json_pack("{s:s,s:o}", "subject", subject, "problem", text));
    else
        json_decref(text);
}

/* Two netdevs of one device with one port number: the first keeps the id. */
static size_t drop_doubles(struct dp_port *ports, size_t count, json_t *problems)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (kept > 0 && strcmp(ports[kept - 1].id, ports[i].id) == 0)
            tell(problems, ports[i].id,
                 json_sprintf("%s has the same bus address and port as %s and is left out",
                              ports[i].ifname, ports[kept - 1].ifname));
        else
            ports[kept++] = ports[i];
    }
    return kept;
}

static void tell_missing(const struct dp_linux *dp, json_t *problems)
{
    for (char **name = dp->devices; name != NULL && *name != NULL; name++) {
        bool found = false;
        for (size_t i = 0; i < dp->port_count; i++)
            found |= strcmp(dp->ports[i].ifname, *name) == 0;
        if (!found)
            tell(problems, *name, json_string("the interface is not there"));
    }
}

/* Physical functions first: of too many they stay, and which virtual ones do is told by their
 * address, not by the numbers that interfaces get anew when a driver is loaded again. */
static int compare_ranks(const void *a, const void *b)
{
    const struct dp_port *x = a, *y = b;
    int order = (x->is_virtual > y->is_virtual) - (x->is_virtual < y->is_virtual);
    return order != 0 ? order : compare_ports(a, b);
}

size_t linux_choose_ports(struct dp_port *ports, size_t count, json_t *problems)
{
    qsort(ports, count, sizeof(*ports), compare_ports);
    count = drop_doubles(ports, count, problems);
    if (count <= INVENTORY_PORTS_MAX)
        return count;
    qsort(ports, count, sizeof(*ports), compare_ranks);
    tell(problems, ports[INVENTORY_PORTS_MAX].id,
         json_sprintf("a node may have %d ports, this one has %zu: %s and those behind it are left "
                      "out, virtual functions first; --devices names others",
                      INVENTORY_PORTS_MAX, count, ports[INVENTORY_PORTS_MAX].ifname));
    qsort(ports, INVENTORY_PORTS_MAX, sizeof(*ports), compare_ports);
    return INVENTORY_PORTS_MAX;
}

static void add_representor(struct dp_linux *dp, const struct dp_port *port, const char *name)
{
    if (dp->representor_count == DP_REPRESENTORS_MAX)
        return; /* counted as enabled functions all the same */
    struct dp_representor *out = &dp->representors[dp->representor_count++];
    memcpy(out->device, port->device, sizeof(out->device));
    memcpy(out->ifname, port->ifname, sizeof(out->ifname));
    snprintf(out->port_name, sizeof(out->port_name), "%s", name);
}

/* Sorts the interfaces into ports, of which there is room for as many as links, and representors.
 */
static size_t sort_out(struct dp_linux *dp, const struct link_list *links, struct dp_port *ports)
{
    size_t count = 0;
    char name[DP_REPRESENTOR_NAME_MAX];
    for (size_t i = 0; i < links->count; i++) {
        struct dp_port port;
        describe(dp, &links->items[i], &port);
        if (!is_named(dp, port.ifname) && is_representor(dp, &port, name)) {
            add_representor(dp, &port, name);
            continue;
        }
        if (is_wanted(dp, &links->items[i], &port))
            ports[count++] = port;
    }
    return count;
}

enum err_code linux_scan(struct dp_linux *dp, json_t *problems, struct err *err)
{
    OWN_LINKS struct link_list links = {0};
    enum err_code code = link_list(dp->route, &links, err);
    if (code != ERR_OK)
        return code;
    struct dp_port *ports = calloc(links.count + 1, sizeof(*ports));
    if (dp->representors == NULL)
        dp->representors = calloc(DP_REPRESENTORS_MAX, sizeof(*dp->representors));
    if (ports == NULL || dp->representors == NULL) {
        free(ports);
        return err_nomem(err);
    }
    dp->representor_count = 0;
    size_t count = sort_out(dp, &links, ports);
    free(dp->ports);
    dp->ports = ports;
    dp->port_count = linux_choose_ports(ports, count, problems);
    tell_missing(dp, problems);
    for (size_t i = 0; dp->lldp != NULL && i < dp->port_count; i++)
        lldp_listen_join(dp->lldp, dp->ports[i].ifindex);
    return ERR_OK;
}

const struct dp_port *linux_port_listed(const struct dp_linux *dp, const char *id)
{
    for (size_t i = 0; i < dp->port_count; i++)
        if (strcmp(dp->ports[i].id, id) == 0)
            return &dp->ports[i];
    return NULL;
}

/* The interface still has its name and stands on the same device. */
static bool is_current(const struct dp_linux *dp, const struct dp_port *port)
{
    char name[IF_NAMESIZE], path[DP_SYSFS_MAX + 16], device[64] = "";
    if (if_indextoname((unsigned)port->ifindex, name) == NULL || strcmp(name, port->ifname) != 0)
        return false;
    snprintf(path, sizeof(path), "%s/device", port->sysfs);
    (void)sys_link_name(dp->root, path, device, sizeof(device));
    return strcmp(device, port->device) == 0;
}

enum err_code linux_port(struct dp_linux *dp, const char *id, const struct dp_port **out,
                         struct err *err)
{
    const struct dp_port *port = linux_port_listed(dp, id);
    if (port == NULL || !is_current(dp, port)) {
        enum err_code code = linux_scan(dp, NULL, err);
        if (code != ERR_OK)
            return code;
        port = linux_port_listed(dp, id);
    }
    if (port == NULL)
        return err_set(err, ERR_NOT_FOUND, "port %s is not there", id);
    *out = port;
    return ERR_OK;
}

/* sysfs: carrier of an interface that is set down reads as EINVAL (net/core/net-sysfs.c). */
enum err_code linux_link(struct dp *base, const char *subject, bool *out_up, struct err *err)
{
    struct dp_linux *dp = (struct dp_linux *)base;
    const struct dp_port *port;
    char path[DP_SYSFS_MAX + 16], text[16] = "";
    enum err_code code = linux_port(dp, subject, &port, err);
    if (code != ERR_OK)
        return code;
    snprintf(path, sizeof(path), "%s/carrier", port->sysfs);
    *out_up =
        sys_read(dp->root, path, text, sizeof(text), NULL) == ERR_OK && strcmp(text, "1") == 0;
    return ERR_OK;
}

const struct vendor *vendor_get(const char *driver)
{
    /* mlx5: en_dcbnl.c; units of 100 Mb/s up to 25.5 Gb/s, 1 Gb/s above. mlx4: en_dcb_nl.c has no
     * ieee_setapp. solar_rdma: the lab's test NIC. */
    static const struct vendor vendors[] = {
        {.driver = "mlx5_core", .maxrate_unit_bps = INT64_C(100000000)},
        {.driver = "mlx4_en", .maxrate_unit_bps = INT64_C(100000000), .no_app = true},
        {.driver = "mlx4_core", .maxrate_unit_bps = INT64_C(100000000), .no_app = true},
        {.driver = "solar_rdma", .maxrate_unit_bps = INT64_C(100000000)},
    };
    static const struct vendor unknown = {.driver = ""};
    for (size_t i = 0; i < sizeof(vendors) / sizeof(vendors[0]); i++)
        if (strcmp(vendors[i].driver, driver) == 0)
            return &vendors[i];
    return &unknown;
}
