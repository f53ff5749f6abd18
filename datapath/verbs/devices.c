/*
 * datapath/verbs/devices.c - see devices.h.
 */
#include "datapath/verbs/devices.h"

#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <infiniband/verbs.h>

#include "base/own.h"
#include "datapath/facts.h"
#include "datapath/verbs/steering.h"

static const char *state_name(enum ibv_port_state state)
{
    static const char *const names[] = {NULL, "down", "init", "armed", "active", "active-defer"};
    return (size_t)state < sizeof(names) / sizeof(names[0]) ? names[state] : NULL;
}

static const char *link_layer_name(uint8_t layer)
{
    return layer == IBV_LINK_LAYER_ETHERNET     ? "ethernet"
           : layer == IBV_LINK_LAYER_INFINIBAND ? "infiniband"
                                                : NULL;
}

static int mtu_bytes(enum ibv_mtu mtu)
{
    return mtu >= IBV_MTU_256 && mtu <= IBV_MTU_4096 ? 128 << mtu : 0;
}

static const char *gid_type_name(uint32_t type)
{
    static const char *const names[] = {"ib", "rocev1", "rocev2"};
    return type < sizeof(names) / sizeof(names[0]) ? names[type] : NULL;
}

static void put_gid(json_t *ports, const struct ibv_gid_entry *entry)
{
    json_t *port = NULL, *each;
    size_t i;
    json_array_foreach(ports, i, each) if (json_integer_value(json_object_get(each, "port")) ==
                                           (json_int_t)entry->port_num) port = each;
    char gid[INET6_ADDRSTRLEN], ifname[IF_NAMESIZE];
    if (port == NULL || inet_ntop(AF_INET6, entry->gid.raw, gid, sizeof(gid)) == NULL)
        return;
    json_t *object = json_pack("{s:i,s:s}", "index", (int)entry->gid_index, "gid", gid);
    fact_text(object, "type", gid_type_name(entry->gid_type));
    if (entry->ndev_ifindex != 0 && if_indextoname(entry->ndev_ifindex, ifname) != NULL)
        fact_text(object, "netdev", ifname);
    json_array_append_new(json_object_get(port, "gids"), object);
}

static void put_gids(struct ibv_context *context, json_t *device, json_t *ports)
{
    OWN(mem) void *memory = calloc(VERBS_GIDS_MAX, sizeof(struct ibv_gid_entry));
    struct ibv_gid_entry *entries = memory;
    ssize_t count =
        entries == NULL ? -ENOMEM : ibv_query_gid_table(context, entries, VERBS_GIDS_MAX, 0);
    if (count < 0) {
        /* EINVAL: the table holds more than fit. */
        json_object_set_new(device, "problem",
                            json_sprintf("GID table: %s", strerror((int)-count)));
        return;
    }
    for (ssize_t i = 0; i < count && i < VERBS_GIDS_MAX; i++)
        put_gid(ports, &entries[i]);
}

/* What software devices say (rxe, siw). */
#define NO_VENDOR 0xffffff

static json_t *port_json(struct ibv_context *context, uint8_t number)
{
    struct ibv_port_attr attr;
    memset(&attr, 0, sizeof(attr));
    json_t *port = json_pack("{s:i,s:[]}", "port", (int)number, "gids");
    int error = ibv_query_port(context, number, &attr);
    if (error != 0) {
        json_object_set_new(port, "problem", json_string(strerror(error)));
        return port;
    }
    fact_text(port, "state", state_name(attr.state));
    fact_text(port, "link_layer", link_layer_name(attr.link_layer));
    fact_int(port, "active_mtu", mtu_bytes(attr.active_mtu), 1);
    fact_int(port, "max_mtu", mtu_bytes(attr.max_mtu), 1);
    return port;
}

void verbs_guid_format(const void *guid, char out[VERBS_GUID_SIZE])
{
    const uint8_t *b = guid;
    snprintf(out, VERBS_GUID_SIZE, "%02x%02x:%02x%02x:%02x%02x:%02x%02x", b[0], b[1], b[2], b[3],
             b[4], b[5], b[6], b[7]);
}

static void put_guid(json_t *device, const char *key, uint64_t guid)
{
    char text[VERBS_GUID_SIZE];
    verbs_guid_format(&guid, text);
    fact_text(device, key, text);
}

static void put_hex(json_t *device, const char *key, uint32_t number)
{
    char text[16];
    snprintf(text, sizeof(text), "0x%04x", number);
    json_object_set_new(device, key, json_string(text)); /* 0 is a revision */
}

static void put_device(struct ibv_context *context, json_t *device)
{
    struct ibv_device_attr attr;
    memset(&attr, 0, sizeof(attr));
    int error = ibv_query_device(context, &attr);
    if (error != 0) {
        json_object_set_new(device, "problem", json_string(strerror(error)));
        return;
    }
    attr.fw_ver[sizeof(attr.fw_ver) - 1] = '\0';
    fact_text(device, "fw_version", attr.fw_ver);
    put_guid(device, "node_guid", attr.node_guid);
    put_guid(device, "sys_image_guid", attr.sys_image_guid);
    if (attr.vendor_id != 0 && attr.vendor_id != NO_VENDOR) {
        put_hex(device, "vendor_id", attr.vendor_id);
        put_hex(device, "part_id", attr.vendor_part_id);
        put_hex(device, "hw_version", attr.hw_ver);
    }
    fact_int(device, "max_sge", attr.max_sge, 1);
    fact_int(device, "max_qp", attr.max_qp, 1);
    int steering = verbs_flow_steering(context, attr.fw_ver);
    if (steering >= 0)
        json_object_set_new(device, "flow_steering", json_boolean(steering));
    json_t *ports = json_array();
    for (uint8_t i = 1; i <= attr.phys_port_cnt && i <= VERBS_PORTS_MAX; i++)
        json_array_append_new(ports, port_json(context, i));
    put_gids(context, device, ports);
    json_object_set_new(device, "ports", ports);
}

static enum err_code ask(struct ibv_device *device, const char *name, json_t **out, struct err *err)
{
    errno = 0;
    struct ibv_context *context = ibv_open_device(device);
    if (context == NULL)
        return err_set_errno(err, ERR_IO, errno, "%s cannot be opened", name);
    *out = json_object();
    put_device(context, *out);
    ibv_close_device(context);
    return ERR_OK;
}

enum err_code verbs_device(const char *name, json_t **out, struct err *err)
{
    int count = 0;
    errno = 0;
    struct ibv_device **list = ibv_get_device_list(&count);
    if (list == NULL) {
        int error = errno;
        return err_set_errno(err, error == ENOSYS || error == ENOENT ? ERR_UNSUPPORTED : ERR_IO,
                             error, "cannot list the verbs devices");
    }
    enum err_code code = ERR_NOT_FOUND;
    for (int i = 0; i < count && code == ERR_NOT_FOUND; i++)
        if (strcmp(ibv_get_device_name(list[i]), name) == 0)
            code = ask(list[i], name, out, err);
    ibv_free_device_list(list);
    return code == ERR_NOT_FOUND ? err_set(err, code, "%s is no verbs device", name) : code;
}
