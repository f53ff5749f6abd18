/*
 * tests/fuzz/fuzz_fleet_lldp.c - LLDP data units: texts that can be seen, numbers in their range,
 * and a neighbour that an inventory's reader takes.
 */
#include "base/json.h"
#include "base/text.h"
#include "fleet/chain.h"
#include "fleet/lldp.h"
#include "tests/fuzz/fuzz.h"

static void check_told(const char *text)
{
    uint32_t hidden;
    size_t len = strlen(text);
    must(len < INVENTORY_TEXT_MAX);
    must(!text_find_hidden(text, len, &hidden));
}

static void check_inventory(const struct lldp_neighbour *told)
{
    json_t *neighbour = lldp_to_json(told);
    must(neighbour != NULL);
    struct chain_port port;
    chain_port_neighbour(neighbour, &port);
    must(((port.has >> CHAIN_CLASS & 1) != 0) == told->has_ets);
    must(((port.has >> CHAIN_PFC & 1) != 0) == told->has_pfc);
    json_t *document = json_pack("{s:i,s:s,s:[{s:s,s:s,s:o,s:{}}],s:[],s:[]}", "version", 1,
                                 "kernel", "6.1", "ports", "id", "0000:3b:00.0/0", "ifname", "e0",
                                 "neighbour", neighbour, "caps", "rdma_devices", "problems");
    struct inventory *inventory = NULL;
    struct err err = ERR_INIT;
    must(document != NULL);
    must(inventory_from_json(document, &inventory, NULL, &err) == ERR_OK);
    must(inventory->port_count == 1);
    must(strcmp(inventory->ports[0].switch_port, told->port) == 0);
    inventory_free(inventory);
    json_decref(document);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct lldp_neighbour told;
    if (lldp_decode(data, size, &told, NULL) != ERR_OK)
        return 0;
    must(told.chassis[0] != '\0' && told.port[0] != '\0');
    check_told(told.chassis);
    check_told(told.port);
    check_told(told.port_description);
    check_told(told.system);
    must(told.ttl_s >= 0 && told.ttl_s <= UINT16_MAX);
    must(lldp_same(&told, &told));
    check_inventory(&told);
    return 0;
}
