/*
 * tests/fuzz/fuzz_fleet_fabric.c - a fabric profile from bytes: what the reader accepts the schema
 * accepts, what it refuses has a finding; with two ports, a policy and a placement around it, no
 * rule minds it, and plans are made twice the same and read back.
 */
#include "base/json.h"
#include "base/schema.h"
#include "fleet/compile.h"
#include "fleet/firmware.h"
#include "fleet/rules.h"
#include "tests/fuzz/fuzz.h"

static const char inventory_text[] =
    "{\"ports\":[{\"id\":\"p/0\",\"driver\":\"solar_rdma\",\"firmware\":\"2.1.8\",\"speed_bps\":"
    "100000000000,\"mtu_bytes\":1500,\"caps\":{\"dcb_ets\":true,\"tc\":true,\"dcb_maxrate\":true,"
    "\"maxrate_unit_bps\":100000000,\"flower_hw\":true,\"flower_hw_entries\":64,\"dcb_app\":true,"
    "\"dcb_pfc\":true,\"dcb_buffer\":true}},{\"id\":\"q/0\",\"rdma_software\":true,\"speed_bps\":"
    "25000000000,\"caps\":{\"tc\":true}},{\"id\":\"r/0\"}]}";
static const char placement_text[] = "{\"nodes\":[\"n1\"],\"ports\":[\"p/0\",\"q/0\",\"r/0\"]}";
static const char policy_text[] =
    "{\"qos_policy\":{\"nlp_job\":{\"priority\":3,\"bw_guarantee\":\"20%\",\"bw_limit\":\"80%\"}}}";

static json_t *parsed(const char *text)
{
    json_t *value = json_loads(text, 0, NULL);
    must(value != NULL);
    return value;
}

static struct {
    struct inventory *inventory;
    struct policy *policy;
    struct placement *placement;
} around;

/* Once, for the life of the process. */
static void make_around(void)
{
    OWN(json) json_t *inventory = parsed(inventory_text);
    OWN(json) json_t *policy = parsed(policy_text);
    OWN(json) json_t *placement = parsed(placement_text);
    must(inventory_from_json(inventory, &around.inventory, NULL, NULL) == ERR_OK);
    must(policy_from_json(policy, &around.policy, NULL, NULL) == ERR_OK);
    must(placement_from_json(placement, "a", "nlp_job", 1, &around.placement, NULL, NULL) ==
         ERR_OK);
}

static void check_plan(const struct view *view)
{
    OWN(plan) struct plan *plan = NULL;
    OWN(plan) struct plan *twice = NULL;
    OWN(plan) struct plan *again = NULL;
    OWN_FINDINGS struct finding_list findings;
    finding_list_init(&findings);
    must(compile_plan(view, view->nodes, 1, &plan, &findings, NULL) == ERR_OK);
    must(compile_plan(view, view->nodes, 1, &twice, NULL, NULL) == ERR_OK);
    OWN(json) json_t *document = plan_to_json(plan);
    must(schema_validate(schema_get("plan"), document, NULL));
    must(plan_from_json(document, &again, NULL) == ERR_OK);
    must(strcmp(plan->digest, again->digest) == 0 && strcmp(plan->digest, twice->digest) == 0);
    OWN(json) json_t *list = finding_list_to_json(&findings);
    must(list != NULL && !findings.nomem);
}

static void check_rules(const struct fabric *fabric)
{
    struct view_tenant tenant = {.name = "a", .policy = around.policy};
    struct view_node node = {.name = "n1", .inventory = around.inventory};
    const struct placement *placed[] = {around.placement};
    struct view view = {.fabric = fabric,
                        .tenants = &tenant,
                        .tenant_count = 1,
                        .nodes = &node,
                        .node_count = 1,
                        .placements = placed,
                        .placement_count = 1};
    const struct change change = {.kind = CHANGE_FABRIC};
    OWN_FINDINGS struct finding_list findings;
    finding_list_init(&findings);
    rules_check(&view, &change, &findings);
    firmware_check_node(fabric, node.name, around.inventory, &findings);
    OWN(json) json_t *list = finding_list_to_json(&findings);
    must(list != NULL && !findings.nomem);
    check_plan(&view);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    OWN(json) json_t *document = NULL;
    OWN(fabric) struct fabric *fabric = NULL;
    OWN_FINDINGS struct finding_list findings;
    struct err err = ERR_INIT;
    finding_list_init(&findings);
    if (json_parse((const char *)data, size, &document, NULL))
        return 0;
    if (around.policy == NULL)
        make_around();
    if (fabric_from_json(document, &fabric, &findings, &err)) {
        must(finding_list_has_errors(&findings) && err.text[0] != '\0');
        return 0;
    }
    must(schema_validate(schema_get("fabric"), document, NULL));
    check_rules(fabric);
    return 0;
}
