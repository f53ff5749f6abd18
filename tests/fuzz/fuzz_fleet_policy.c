/*
 * tests/fuzz/fuzz_fleet_policy.c - a policy from bytes: what the reader accepts the schema accepts,
 * it survives a round trip, and no rule minds it, with a profile, a node and placements around it.
 */
#include <stdint.h>
#include <stdlib.h>

#include "base/json.h"
#include "base/schema.h"
#include "fleet/compile.h"
#include "fleet/rules.h"

static const char fabric_text[] =
    "{\"fabric_profile\":{\"priorities\":[{\"priority\":0,\"dscps\":[0]},{\"priority\":2,"
    "\"dscps\":[18]},{\"priority\":3,\"dscps\":[26],\"lossless\":true},{\"priority\":6,\"strict\":"
    "true,\"limit\":\"10%\",\"dscps\":[48]}],\"limit_action\":\"police\"}}";
static const char inventory_text[] =
    "{\"ports\":[{\"id\":\"p/0\",\"speed_bps\":100000000000,\"caps\":{\"dcb_ets\":true,\"tc\":true,"
    "\"dcb_maxrate\":true,\"maxrate_unit_bps\":100000000,\"flower_hw\":true,"
    "\"flower_hw_entries\":2,\"dcb_app\":true,\"dcb_pfc\":true}},{\"id\":\"q/0\"}]}";
static const char placement_text[] = "{\"nodes\":[\"n1\"],\"ports\":[\"p/0\",\"q/0\"]}";

#define PLACED_MAX 8

static json_t *parsed(const char *text)
{
    json_t *value = json_loads(text, 0, NULL);
    if (value == NULL)
        abort();
    return value;
}

static void run_rules(const struct policy *policy)
{
    static struct fabric *fabric;
    static struct inventory *inventory;
    static json_t *placement;
    if (fabric == NULL) { /* once, for the life of the process */
        placement = parsed(placement_text);
        OWN(json) json_t *profile = parsed(fabric_text);
        OWN(json) json_t *report = parsed(inventory_text);
        if (fabric_from_json(profile, &fabric, NULL, NULL) ||
            inventory_from_json(report, &inventory, NULL, NULL))
            abort();
    }
    struct placement *placed[PLACED_MAX];
    size_t count = policy->job_count < PLACED_MAX ? policy->job_count : PLACED_MAX;
    for (size_t i = 0; i < count; i++)
        if (placement_from_json(placement, "a", policy->jobs[i].name, (uint32_t)i + 1, &placed[i],
                                NULL, NULL))
            abort();
    struct view_tenant tenant = {.name = "a", .policy = policy};
    struct view_node node = {.name = "n1", .inventory = inventory};
    struct view view = {.fabric = fabric,
                        .tenants = &tenant,
                        .tenant_count = 1,
                        .nodes = &node,
                        .node_count = 1,
                        .placements = (const struct placement *const *)placed,
                        .placement_count = count};
    struct change change = {.kind = CHANGE_POLICY, .tenant = "a"};
    OWN_FINDINGS struct finding_list findings;
    finding_list_init(&findings);
    rules_check(&view, &change, &findings);
    OWN(json) json_t *enforcement = enforcement_of_policy(&view, "a");
    if (json_object_size(enforcement) != policy->job_count)
        abort();
    OWN(plan) struct plan *plan = NULL;
    OWN(plan) struct plan *again = NULL;
    if (compile_plan(&view, &node, 1, &plan, &findings, NULL))
        abort();
    OWN(json) json_t *document = plan_to_json(plan);
    if (plan_from_json(document, &again, NULL))
        abort();
    for (size_t i = 0; i < count; i++)
        placement_free(placed[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    OWN(json) json_t *document = NULL;
    OWN(policy) struct policy *policy = NULL;
    OWN(policy) struct policy *again = NULL;
    if (json_parse((const char *)data, size, &document, NULL))
        return 0;
    if (policy_from_json(document, &policy, NULL, NULL))
        return 0;
    if (!schema_validate(schema_get("policy"), document, NULL))
        abort();
    OWN(json) json_t *written = policy_to_json(policy);
    if (policy_from_json(written, &again, NULL, NULL))
        abort();
    OWN(json) json_t *twice = policy_to_json(again);
    if (!json_equal(written, twice))
        abort();
    run_rules(policy);
    return 0;
}
