/*
 * tests/fuzz/fuzz_fleet_plan.c - plan, state, receipt, inventory, fabric profile and placement from
 * the same bytes: none crashes, and what is accepted survives a round trip.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "fleet/fabric.h"
#include "fleet/inventory.h"
#include "fleet/placement.h"
#include "fleet/receipt.h"

static void try_plan(const json_t *document)
{
    OWN(plan) struct plan *plan = NULL;
    OWN(plan) struct plan *again = NULL;
    if (plan_from_json(document, &plan, NULL))
        return;
    OWN(json) json_t *written = plan_to_json(plan);
    if (plan_from_json(written, &again, NULL) || strcmp(plan->digest, again->digest) != 0)
        abort();
}

static void try_state(const json_t *document)
{
    OWN_STATE struct state state, again;
    state_init(&state);
    state_init(&again);
    if (state_from_json(document, &state, NULL))
        return;
    OWN(json) json_t *written = state_to_json(&state);
    if (state_from_json(written, &again, NULL) || again.knob_count != state.knob_count)
        abort();
}

static void try_receipt(const json_t *document)
{
    OWN(receipt) struct receipt *receipt = NULL;
    OWN(receipt) struct receipt *again = NULL;
    if (receipt_from_json(document, &receipt, NULL))
        return;
    OWN(json) json_t *written = receipt_to_json(receipt);
    if (receipt_from_json(written, &again, NULL))
        abort();
}

static void try_placement(const json_t *document)
{
    OWN(placement) struct placement *placement = NULL;
    OWN(placement) struct placement *again = NULL;
    if (placement_from_json(document, "t", "j", 1, &placement, NULL, NULL))
        return;
    OWN(json) json_t *written = placement_to_json(placement);
    if (placement_from_json(written, "t", "j", 1, &again, NULL, NULL))
        abort();
    if (!flow_match_overlaps(&placement->match, &again->match))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    OWN(json) json_t *document = NULL;
    OWN(inventory) struct inventory *inventory = NULL;
    OWN(fabric) struct fabric *fabric = NULL;
    if (json_parse((const char *)data, size, &document, NULL))
        return 0;
    try_plan(document);
    try_state(document);
    try_receipt(document);
    try_placement(document);
    if (inventory_from_json(document, &inventory, NULL, NULL) == ERR_OK &&
        inventory->port_count > 0 &&
        inventory_port_get(inventory, inventory->ports[0].id) != &inventory->ports[0])
        abort();
    enum err_code code = fabric_from_json(document, &fabric, NULL, NULL);
    (void)code;
    return 0;
}
