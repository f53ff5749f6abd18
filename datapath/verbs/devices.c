/*
 * datapath/verbs/devices.c - see devices.h.
 */
#include "datapath/verbs/devices.h"

#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <string.h>

#include <infiniband/verbs.h>

#include "base/own.h"
#include "base/text.h"

static json_t *text_json(const char *text, size_t max)
{
    char copy[128];
    size_t len = strnlen(text, max < sizeof(copy) ? max : sizeof(copy) - 1);
    memcpy(copy, text, len);
    copy[len] = '\0';
    text_clean(copy, "");
    return json_string(copy);
}

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

static void set_text(json_t *object, const char *key, const char *text)
{
    if (text != NULL)
        json_object_set_new(object, key, json_string(text));
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
    set_text(object, "type", gid_type_name(entry->gid_type));
    if (entry->ndev_ifindex != 0 && if_indextoname(entry->ndev_ifindex, ifname) != NULL)
        set_text(object, "netdev", ifname);
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
    set_text(port, "state", state_name(attr.state));
    set_text(port, "link_layer", link_layer_name(attr.link_layer));
    if (mtu_bytes(attr.active_mtu) > 0)
        json_object_set_new(port, "active_mtu", json_integer(mtu_bytes(attr.active_mtu)));
    return port;
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
    if (attr.fw_ver[0] != '\0')
        json_object_set_new(device, "fw_version", text_json(attr.fw_ver, sizeof(attr.fw_ver)));
    json_object_set_new(device, "max_sge", json_integer(attr.max_sge));
    json_object_set_new(device, "max_qp", json_integer(attr.max_qp));
    json_t *ports = json_array();
    for (uint8_t i = 1; i <= attr.phys_port_cnt && i <= VERBS_PORTS_MAX; i++)
        json_array_append_new(ports, port_json(context, i));
    put_gids(context, device, ports);
    json_object_set_new(device, "ports", ports);
}

static json_t *device_json(struct ibv_device *device)
{
    json_t *object = json_object();
    const char *name = ibv_get_device_name(device);
    json_object_set_new(object, "name", text_json(name == NULL ? "" : name, 64));
    errno = 0;
    struct ibv_context *context = ibv_open_device(device);
    if (context == NULL) {
        json_object_set_new(object, "problem",
                            json_sprintf("cannot be opened: %s", strerror(errno)));
        return object;
    }
    put_device(context, object);
    ibv_close_device(context);
    return object;
}

enum err_code verbs_devices(json_t **out, struct err *err)
{
    int count = 0;
    errno = 0;
    struct ibv_device **list = ibv_get_device_list(&count);
    if (list == NULL) {
        int error = errno;
        return err_set_errno(err, error == ENOSYS || error == ENOENT ? ERR_UNSUPPORTED : ERR_IO,
                             error, "cannot list the verbs devices");
    }
    OWN(json) json_t *array = json_array();
    for (int i = 0; i < count && i < VERBS_DEVICES_MAX && array != NULL; i++)
        json_array_append_new(array, device_json(list[i]));
    ibv_free_device_list(list);
    if (array == NULL)
        return err_nomem(err);
    *out = GIVE(array);
    return ERR_OK;
}
