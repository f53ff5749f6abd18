/*
 * fleet/inventory_rdma.c - see inventory_rdma.h.
 */
#include "fleet/inventory_rdma.h"

#include <arpa/inet.h>
#include <string.h>

#define RDMA_PORT_MAX 255
#define GID_INDEX_MAX 255

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text == NULL ? "" : text;
}

static int number_of(const json_t *object, const char *key, int min, int max)
{
    const json_t *member = json_object_get(object, key);
    json_int_t n = json_integer_value(member);
    return json_is_integer(member) && n >= min && n <= max ? (int)n : -1;
}

/* How good an address is: mapped IPv4 first, then routable IPv6. */
static int rank_of(const char *gid)
{
    if (strncmp(gid, "::ffff:", 7) == 0 || strncmp(gid, "0000:0000:0000:0000:0000:ffff:", 30) == 0)
        return 2;
    return strncmp(gid, "fe80:", 5) == 0 ? 0 : 1;
}

/* The best RoCE v2 GID of that interface; NULL = unknown. */
static const json_t *best_gid(const json_t *gids, const char *ifname)
{
    const json_t *found = NULL;
    int best = -1, best_rank = -1;
    for (size_t i = 0; i < json_array_size(gids); i++) {
        const json_t *gid = json_array_get(gids, i);
        const char *netdev = text_of(gid, "netdev");
        int index = number_of(gid, "index", 0, GID_INDEX_MAX), rank = rank_of(text_of(gid, "gid"));
        if (index < 0 || strcmp(text_of(gid, "type"), "rocev2") != 0 ||
            (netdev[0] != '\0' && ifname[0] != '\0' && strcmp(netdev, ifname) != 0))
            continue;
        if (rank > best_rank || (rank == best_rank && index < best)) {
            best = index;
            best_rank = rank;
            found = gid;
        }
    }
    return found;
}

/* A mapped IPv4 address as that; nothing of one that holds on its own link only. */
static void take_address(const char *gid, char out[INVENTORY_ADDRESS_MAX])
{
    struct in6_addr address;
    out[0] = '\0';
    if (inet_pton(AF_INET6, gid, &address) != 1 || IN6_IS_ADDR_LINKLOCAL(&address) ||
        IN6_IS_ADDR_UNSPECIFIED(&address))
        return;
    if (IN6_IS_ADDR_V4MAPPED(&address))
        inet_ntop(AF_INET, &address.s6_addr[12], out, INVENTORY_ADDRESS_MAX);
    else
        inet_ntop(AF_INET6, &address, out, INVENTORY_ADDRESS_MAX);
}

/* The device's port that stands on the interface: the only one, or one with a GID of it. */
static const json_t *rdma_port_of(const json_t *ports, const char *ifname)
{
    for (size_t i = 0; i < json_array_size(ports); i++) {
        const json_t *port = json_array_get(ports, i), *gids = json_object_get(port, "gids");
        for (size_t g = 0; g < json_array_size(gids); g++)
            if (ifname[0] != '\0' &&
                strcmp(text_of(json_array_get(gids, g), "netdev"), ifname) == 0)
                return port;
    }
    return json_array_size(ports) == 1 ? json_array_get(ports, 0) : NULL;
}

static void take_device(const json_t *device, struct inventory *inventory)
{
    const char *name = text_of(device, "name");
    for (size_t i = 0; i < inventory->port_count && name[0] != '\0'; i++) {
        struct port *port = &inventory->ports[i];
        if (strcmp(port->rdma_device, name) != 0)
            continue;
        const json_t *is = rdma_port_of(json_object_get(device, "ports"), port->ifname);
        port->rdma_port = number_of(is, "port", 1, RDMA_PORT_MAX);
        const json_t *gid = best_gid(json_object_get(is, "gids"), port->ifname);
        port->gid_index = number_of(gid, "index", 0, GID_INDEX_MAX);
        take_address(text_of(gid, "gid"), port->roce_address);
    }
}

void rdma_ports_from_json(const json_t *devices, struct inventory *inventory)
{
    size_t count = json_array_size(devices);
    for (size_t i = 0; i < count && i < INVENTORY_RDMA_MAX; i++)
        take_device(json_array_get(devices, i), inventory);
}
