/*
 * tests/fuzz/fuzz_fleet_hardware.c - {"inventory": ..., "switch": ..., "rules": ...}, each may be
 * absent: what a reader accepts its schema accepts, and rules, the product's and the given ones,
 * say the same of it each time.
 */
#include "base/json.h"
#include "base/schema.h"
#include "fleet/compat.h"
#include "fleet/firmware.h"
#include "tests/fuzz/fuzz.h"

static const char fabric_text[] =
    "{\"fabric_profile\":{\"priorities\":[{\"priority\":0,\"dscps\":[0]}],\"firmware_minimums\":["
    "{\"driver\":\"solar_rdma\",\"minimum\":\"2.1.8\"},{\"driver\":\"mlx5_core\",\"minimum\":"
    "\"22.36.1010\"}]}}";

static const struct fabric *minimums(void)
{
    static struct fabric *fabric;
    if (fabric == NULL) { /* once, for the life of the process */
        OWN(json) json_t *document = json_loads(fabric_text, 0, NULL);
        must(fabric_from_json(document, &fabric, NULL, NULL) == ERR_OK);
    }
    return fabric;
}

static const struct compat *builtin(void)
{
    static struct compat *compat;
    must(compat != NULL || compat_builtin(&compat, NULL) == ERR_OK);
    return compat;
}

struct hardware {
    const struct inventory *inventory; /* NULL = none */
    const struct switch_info *device;  /* NULL = none */
};

static json_t *judge(const struct compat *compat, const struct hardware *hardware)
{
    OWN_FINDINGS struct finding_list findings;
    finding_list_init(&findings);
    if (hardware->inventory != NULL) {
        compat_check_node(compat, "n1", hardware->inventory, &findings);
        firmware_check_node(minimums(), "n1", hardware->inventory, &findings);
    }
    if (hardware->device != NULL)
        compat_check_switch(compat, "s1", hardware->device, &findings);
    must(!findings.nomem);
    json_t *list = finding_list_to_json(&findings);
    must(list != NULL);
    return list;
}

static void check_judgement(const struct compat *compat, const struct hardware *hardware)
{
    OWN(json) json_t *once = judge(compat, hardware);
    OWN(json) json_t *twice = judge(compat, hardware);
    must(json_equal(once, twice));
}

static void check_inventory(const struct inventory *inventory, const json_t *document)
{
    must(schema_validate(schema_get("inventory"), document, NULL));
    for (size_t i = 0; i < inventory->port_count; i++)
        must(inventory_port_get(inventory, inventory->ports[i].id) == &inventory->ports[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    OWN(json) json_t *document = NULL;
    OWN(inventory) struct inventory *inventory = NULL;
    OWN(compat) struct compat *compat = NULL;
    struct switch_info device;
    struct hardware hardware = {.inventory = NULL};
    if (json_parse((const char *)data, size, &document, NULL))
        return 0;
    const json_t *report = json_object_get(document, "inventory");
    const json_t *about = json_object_get(document, "switch");
    const json_t *rules = json_object_get(document, "rules");
    if (report != NULL && inventory_from_json(report, &inventory, NULL, NULL) == ERR_OK) {
        check_inventory(inventory, report);
        hardware.inventory = inventory;
    }
    if (about != NULL && switch_from_json(about, "", "s1", &device, NULL, NULL) == ERR_OK) {
        must(schema_validate(schema_get("switch"), about, NULL));
        hardware.device = &device;
    }
    check_judgement(builtin(), &hardware);
    if (rules != NULL && compat_from_json(rules, &compat, NULL, NULL) == ERR_OK) {
        must(schema_validate(schema_get("compat-rules"), rules, NULL));
        check_judgement(compat, &hardware);
    }
    return 0;
}
