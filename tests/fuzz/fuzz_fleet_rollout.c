/*
 * tests/fuzz/fuzz_fleet_rollout.c - a rollout policy and a request for a rollout from the same
 * bytes: what a reader accepts its schema accepts, the policy survives a round trip, and every node
 * of a rollout is in one wave.
 */
#include "base/json.h"
#include "base/schema.h"
#include "fleet/rollout_policy.h"
#include "tests/fuzz/fuzz.h"

#define NODES 7

static const char *const names[NODES] = {"n1", "n2", "n3", "n4", "n5", "n6", "n7"};

static void make_view(struct view_node nodes[NODES], struct label_pair labels[NODES],
                      struct view *out)
{
    for (size_t i = 0; i < NODES; i++) {
        labels[i] = (struct label_pair){"rack", {(char)('a' + i % 3), '\0'}};
        nodes[i] = (struct view_node){.name = names[i], .labels = &labels[i], .label_count = 1};
    }
    *out = (struct view){.nodes = nodes, .node_count = NODES};
}

static void check_waves(const struct rollout_settings *settings)
{
    struct view_node nodes[NODES];
    struct label_pair labels[NODES];
    struct view view;
    uint32_t waves[NODES];
    bool used[ROLLOUT_WAVES_MAX + 1] = {false};
    make_view(nodes, labels, &view);
    size_t count = rollout_assign_waves(settings, &view, names, NODES, waves);
    must(count >= 1 && count <= NODES && count <= ROLLOUT_WAVES_MAX + 1);
    for (size_t i = 0; i < NODES; i++) {
        must(waves[i] < count);
        used[waves[i]] = true;
    }
    for (size_t i = 0; i < count; i++)
        must(used[i]);
    must(rollout_settings_unavailable(settings, 0) == 0 || !settings->unavailable_is_share);
    must(!settings->unavailable_is_share || rollout_settings_unavailable(settings, NODES) <= NODES);
}

static void try_policy(const json_t *document)
{
    struct rollout_policy policy, again;
    OWN_FINDINGS struct finding_list findings;
    struct err err = ERR_INIT;
    finding_list_init(&findings);
    rollout_policy_init(&policy);
    rollout_policy_init(&again);
    if (rollout_policy_from_json(document, &policy, &findings, &err) == ERR_OK) {
        must(schema_validate(schema_get("rollout_policy"), document, NULL));
        OWN(json) json_t *written = rollout_policy_to_json(&policy);
        must(schema_validate(schema_get("rollout_policy"), written, NULL));
        must(rollout_policy_from_json(written, &again, NULL, NULL) == ERR_OK);
        OWN(json) json_t *twice = rollout_policy_to_json(&again);
        must(json_equal(written, twice));
        check_waves(&policy.settings);
    } else {
        must(finding_list_has_errors(&findings) && err.text[0] != '\0');
    }
    rollout_policy_release(&policy);
    rollout_policy_release(&again);
}

static void try_request(const json_t *document)
{
    struct rollout_settings settings;
    OWN_FINDINGS struct finding_list findings;
    struct err err = ERR_INIT;
    finding_list_init(&findings);
    rollout_settings_init(&settings);
    if (rollout_request_from_json(document, &settings, &findings, &err) == ERR_OK) {
        struct view_node nodes[NODES];
        struct label_pair labels[NODES];
        struct view view;
        must(schema_validate(schema_get("rollout"), document, NULL));
        check_waves(&settings);
        make_view(nodes, labels, &view);
        for (size_t i = 0; i < NODES; i++)
            (void)rollout_request_has(document, &nodes[i]);
    } else {
        must(finding_list_has_errors(&findings) && err.text[0] != '\0');
    }
    rollout_settings_release(&settings);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    OWN(json) json_t *document = NULL;
    if (json_parse((const char *)data, size, &document, NULL))
        return 0;
    try_policy(document);
    try_request(document);
    return 0;
}
