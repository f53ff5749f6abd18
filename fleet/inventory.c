/*
 * fleet/inventory.c - see inventory.h: the ports, and the whole. What neither rules nor the
 * compiler look at is left to the schema and stays in the report as the store has it.
 */
#include "fleet/inventory.h"

#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "fleet/inventory_device.h"
#include "fleet/inventory_hardware.h"
#include "fleet/inventory_rdma.h"
#include "fleet/inventory_port.h"
#include "fleet/read.h"

#define INVENTORY_VERSION 1
#define MTU_BYTES_MIN     68 /* RFC 791 */
#define MTU_BYTES_MAX     65535
#define FLOW_ENTRIES_MAX  (1 << 24)
#define PSID_CHARS        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-"

static void caps_from_json(struct json_reader *r, struct port *port)
{
    struct port_caps *caps = &port->caps;
    struct {
        const char *key;
        bool *out;
    } flags[] = {
        {"dcb_app", &caps->dcb_app},       {"dcb_ets", &caps->dcb_ets},
        {"dcb_pfc", &caps->dcb_pfc},       {"dcb_maxrate", &caps->dcb_maxrate},
        {"dcb_buffer", &caps->dcb_buffer}, {"tc", &caps->tc},
        {"flower_hw", &caps->flower_hw},
    };
    for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
        json_reader_bool(r, flags[i].key, false, flags[i].out);
    int64_t entries = -1, tcs = 0;
    json_reader_int(r, "flower_hw_entries", false, -1, FLOW_ENTRIES_MAX, &entries);
    json_reader_int(r, "maxrate_unit_bps", false, 0, RATE_BPS_MAX, &caps->maxrate_unit_bps);
    json_reader_int(r, "ets_tcs", false, 0, 8, &tcs);
    caps->flower_hw_entries = (int32_t)entries;
    caps->ets_tcs = (int)tcs;
    device_caps_from_json(r, port);
    json_reader_end(r);
}

/* Members that only people and other parts read; their shape is the schema's business. */
static void ignore(struct json_reader *r, const char *const *keys)
{
    const json_t *value;
    for (; *keys != NULL; keys++)
        json_reader_any(r, *keys, false, &value);
}

static bool port_id_is_valid(const char *id)
{
    size_t bus = strspn(id, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.:-");
    size_t number = bus > 0 && id[bus] == '/' ? strspn(id + bus + 1, "0123456789") : 0;
    return number > 0 && id[bus + 1 + number] == '\0' && strspn(id, "_.:-") == 0;
}

static void port_from_json(struct json_reader *r, struct port *port)
{
    static const char *const others[] = {"problem", "vendor",   "devlink", "rdma", "sysctl",
                                         "params",  "counters", "extra",   NULL};
    *port = (struct port){.speed_bps = -1, .mtu_bytes = -1, .rdma_port = -1, .gid_index = -1};
    port->caps.flower_hw_entries = -1;
    if (read_text(r, "id", true, 1, port->id, sizeof(port->id)) && !port_id_is_valid(port->id))
        read_problem(r, "id", "a port's id is its bus address, '/' and its number");
    read_text(r, "ifname", false, 0, port->ifname, sizeof(port->ifname));
    read_text(r, "driver", false, 0, port->driver, sizeof(port->driver));
    read_text(r, "firmware", false, 0, port->firmware, sizeof(port->firmware));
    read_text(r, "firmware_stored", false, 0, port->firmware_stored, sizeof(port->firmware_stored));
    read_text(r, "product", false, 0, port->product, sizeof(port->product));
    if (read_text(r, "psid", false, 0, port->psid, sizeof(port->psid)) &&
        strspn(port->psid, PSID_CHARS) != strlen(port->psid))
        read_problem(r, "psid", "a PSID has letters, digits, '_', '.' and '-'");
    json_reader_bool(r, "virtual_function", false, &port->virtual_function);
    pcie_from_json(r, &port->pcie);
    read_text(r, "rdma_device", false, 0, port->rdma_device, sizeof(port->rdma_device));
    json_reader_bool(r, "rdma_software", false, &port->rdma_software);
    int64_t mtu = -1, speed = -1;
    if (json_reader_int(r, "speed_bps", false, -1, RATE_BPS_MAX, &speed) && speed == 0)
        read_problem(r, "speed_bps", "0 is no speed; leave the member out when it is unknown");
    if (json_reader_int(r, "mtu_bytes", false, -1, MTU_BYTES_MAX, &mtu) && mtu >= 0 &&
        mtu < MTU_BYTES_MIN)
        read_problem(r, "mtu_bytes", "below %d is no MTU; leave the member out when it is unknown",
                     MTU_BYTES_MIN);
    port->speed_bps = speed;
    port->mtu_bytes = (int)mtu;
    struct json_reader caps;
    if (json_reader_object(r, "caps", false, &caps))
        caps_from_json(&caps, port);
    port_details_from_json(r, port);
    ignore(r, others);
    json_reader_end(r);
}

static int compare_ports(const void *a, const void *b)
{
    const struct port *x = a, *y = b;
    return strcmp(x->id, y->id);
}

static void ports_from_json(struct json_reader *r, const json_t *ports, struct inventory *inventory)
{
    for (size_t i = 0; i < inventory->port_count; i++) {
        struct json_reader element;
        json_reader_element(r, "ports", i, json_array_get(ports, i), &element);
        port_from_json(&element, &inventory->ports[i]);
    }
    if (inventory->port_count > 1)
        qsort(inventory->ports, inventory->port_count, sizeof(*inventory->ports), compare_ports);
    for (size_t i = 1; i < inventory->port_count; i++)
        if (compare_ports(&inventory->ports[i - 1], &inventory->ports[i]) == 0)
            read_problem(r, "ports", "two ports have the id '%s'", inventory->ports[i].id);
}

json_t *inventory_reboot_to_json(const struct inventory_reboot *reboot)
{
    OWN(json) json_t *object = json_object();
    if (object == NULL || !write_text(object, "digest", reboot->digest) ||
        !write_member(object, "count", json_integer(reboot->count)) ||
        !write_text(object, "first", reboot->first) || !write_text(object, "why", reboot->why) ||
        !write_member(object, "approved", json_boolean(reboot->approved)) ||
        (reboot->begun && !write_member(object, "begun", json_true())))
        return NULL;
    return GIVE(object);
}

static void reboot_from_json(struct json_reader *r, struct inventory_reboot *out)
{
    struct json_reader sub;
    int64_t count = 0;
    if (!json_reader_object(r, "reboot", false, &sub))
        return;
    if (read_text(&sub, "digest", true, 1, out->digest, sizeof(out->digest)) &&
        !digest_is_valid(out->digest))
        read_problem(&sub, "digest", "is no digest; \"sha256:\" and 64 hex digits");
    json_reader_int(&sub, "count", true, 1, INT32_MAX, &count);
    read_text(&sub, "first", true, 1, out->first, sizeof(out->first));
    read_text(&sub, "why", false, 1, out->why, sizeof(out->why));
    json_reader_bool(&sub, "approved", true, &out->approved);
    json_reader_bool(&sub, "begun", false, &out->begun);
    json_reader_end(&sub);
    out->count = (int)count;
}

static void head_from_json(struct json_reader *r, struct inventory *inventory)
{
    static const char *const others[] = {
        "hostname", "rdma_devices", "machine_id", "os",    "memory",   "modules",
        "sysctl",   "thp",          "agent",      "pcie",  "switches", "host",
        "problems", "firmware",     "time_us",    "extra", NULL};
    int64_t version;
    char node[NAME_SIZE];
    json_reader_int(r, "version", false, INVENTORY_VERSION, INVENTORY_VERSION, &version);
    read_name(r, "node", false, node);
    reboot_from_json(r, &inventory->reboot);
    ignore(r, others);
}

enum err_code inventory_from_json(const json_t *document, struct inventory **out,
                                  struct finding_list *findings, struct err *err)
{
    OWN(inventory) struct inventory *inventory = calloc(1, sizeof(*inventory));
    OWN_FINDINGS struct finding_list own;
    finding_list_init(&own);
    if (inventory == NULL)
        return err_nomem(err);
    struct json_reader r;
    const json_t *ports = NULL;
    json_reader_init(&r, document, "", &own);
    head_from_json(&r, inventory);
    json_reader_array(&r, "ports", true, INVENTORY_PORTS_MAX, &ports);
    enum err_code hardware = hardware_from_json(&r, inventory, err);
    if (hardware != ERR_OK)
        return hardware;
    json_reader_end(&r);
    size_t count = ports == NULL ? 0 : json_array_size(ports);
    if (count > 0 && (inventory->ports = calloc(count, sizeof(*inventory->ports))) == NULL)
        return err_nomem(err);
    inventory->port_count = count;
    ports_from_json(&r, ports, inventory);
    rdma_ports_from_json(json_object_get(document, "rdma_devices"), inventory);
    enum err_code code = read_result(&own, err);
    if (findings != NULL)
        finding_list_append(findings, &own);
    if (code == ERR_OK)
        *out = GIVE(inventory);
    return code;
}

void inventory_free(struct inventory *inventory)
{
    if (inventory == NULL)
        return;
    for (size_t i = 0; inventory->ports != NULL && i < inventory->port_count; i++)
        free(inventory->ports[i].params);
    free(inventory->ports);
    free(inventory->gpus);
    free(inventory->paths);
    free(inventory);
}

const struct port *inventory_port_get(const struct inventory *inventory, const char *id)
{
    size_t low = 0, high = inventory->port_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(inventory->ports[middle].id, id);
        if (order == 0)
            return &inventory->ports[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}
