#pragma once
/*
 * tests/unit/fleet/fleet_test.h - a fleet from JSON texts, for the tests of rules and compiler.
 * Quotes in the texts may be written as ' to keep them readable in C.
 */

#include "../test.h"

#include <jansson.h>

#include "base/finding.h"
#include "base/json.h"
#include "fleet/compile.h"
#include "fleet/rules.h"
#include "fleet/view.h"

#define FLEET_MAX 128

struct fleet {
    struct fabric *fabric;
    struct view_tenant tenants[FLEET_MAX];
    struct policy *policies[FLEET_MAX];
    struct view_node nodes[FLEET_MAX];
    struct inventory *inventories[FLEET_MAX];
    struct label_pair labels[FLEET_MAX];
    struct placement *placements[FLEET_MAX];
    struct finding_list findings; /* of the last check or compile */
    struct view view;
};

static inline json_t *json_of(const char *text)
{
    char *copy = strdup(text);
    assert_non_null(copy);
    for (char *p = copy; *p != '\0'; p++)
        if (*p == '\'')
            *p = '"';
    struct err err = ERR_INIT;
    json_t *value = NULL;
    assert_ok(json_parse_limit(copy, strlen(copy), 16 * JSON_TEXT_MAX, true, &value, &err));
    free(copy);
    return value;
}

static inline void fleet_print(const struct finding_list *findings)
{
    for (size_t i = 0; i < findings->count; i++) {
        const struct finding *f = &findings->items[i];
        print_message("  %s %s %s: %s\n", finding_severity_name(f->severity), f->rule,
                      f->pointer == NULL ? "-" : f->pointer, f->message);
    }
}

static inline void fleet_init(struct fleet *fleet)
{
    memset(fleet, 0, sizeof(*fleet));
    finding_list_init(&fleet->findings);
    fleet->view.tenants = fleet->tenants;
    fleet->view.nodes = fleet->nodes;
    fleet->view.placements = (const struct placement *const *)fleet->placements;
}

static inline void fleet_release(struct fleet *fleet)
{
    fabric_free(fleet->fabric);
    for (size_t i = 0; i < fleet->view.tenant_count; i++)
        policy_free(fleet->policies[i]);
    for (size_t i = 0; i < fleet->view.node_count; i++)
        inventory_free(fleet->inventories[i]);
    for (size_t i = 0; i < fleet->view.placement_count; i++)
        placement_free(fleet->placements[i]);
    finding_list_release(&fleet->findings);
}

static inline void fleet_fabric(struct fleet *fleet, const char *text)
{
    struct err err = ERR_INIT;
    json_t *document = json_of(text);
    fabric_free(fleet->fabric);
    assert_ok(fabric_from_json(document, &fleet->fabric, NULL, &err));
    json_decref(document);
    fleet->view.fabric = fleet->fabric;
}

/* Tenants, nodes and placements must be added in the order of their names. */
static inline void fleet_tenant(struct fleet *fleet, const char *name, const char *policy)
{
    struct err err = ERR_INIT;
    size_t at = fleet->view.tenant_count++;
    assert_true(at < FLEET_MAX);
    json_t *document = json_of(policy);
    assert_ok(policy_from_json(document, &fleet->policies[at], NULL, &err));
    json_decref(document);
    fleet->tenants[at] = (struct view_tenant){.name = name, .policy = fleet->policies[at]};
}

static inline void fleet_node(struct fleet *fleet, const char *name, const char *inventory)
{
    struct err err = ERR_INIT;
    size_t at = fleet->view.node_count++;
    assert_true(at < FLEET_MAX);
    fleet->nodes[at] = (struct view_node){.name = name};
    if (inventory == NULL)
        return;
    json_t *document = json_of(inventory);
    assert_ok(inventory_from_json(document, &fleet->inventories[at], NULL, &err));
    json_decref(document);
    fleet->nodes[at].inventory = fleet->inventories[at];
}

static inline void fleet_label(struct fleet *fleet, size_t node, const char *key, const char *value)
{
    struct label_pair *label = &fleet->labels[node];
    snprintf(label->key, sizeof(label->key), "%s", key);
    snprintf(label->value, sizeof(label->value), "%s", value);
    fleet->nodes[node].labels = label;
    fleet->nodes[node].label_count = 1;
}

static inline void fleet_place(struct fleet *fleet, const char *tenant, const char *job,
                               const char *text)
{
    struct err err = ERR_INIT;
    size_t at = fleet->view.placement_count++;
    assert_true(at < FLEET_MAX);
    json_t *document = json_of(text);
    assert_ok(placement_from_json(document, tenant, job, (uint32_t)at + 1, &fleet->placements[at],
                                  NULL, &err));
    json_decref(document);
}

static inline void fleet_check(struct fleet *fleet, enum change_kind kind, const char *tenant,
                               const char *job)
{
    struct change change = {.kind = kind, .tenant = tenant, .job = job};
    finding_list_release(&fleet->findings);
    rules_check(&fleet->view, &change, &fleet->findings);
    assert_false(fleet->findings.nomem);
}

/* As an upload of the tenant's policy. */
static inline void fleet_check_policy(struct fleet *fleet, const char *tenant)
{
    fleet_check(fleet, CHANGE_POLICY, tenant, NULL);
}

static inline size_t fleet_count(const struct fleet *fleet, const char *rule,
                                 enum finding_severity severity)
{
    size_t count = 0;
    for (size_t i = 0; i < fleet->findings.count; i++)
        count += strcmp(fleet->findings.items[i].rule, rule) == 0 &&
                 fleet->findings.items[i].severity == severity;
    return count;
}

static inline const struct finding *fleet_finding(const struct fleet *fleet, const char *rule)
{
    for (size_t i = 0; i < fleet->findings.count; i++)
        if (strcmp(fleet->findings.items[i].rule, rule) == 0)
            return &fleet->findings.items[i];
    fleet_print(&fleet->findings);
    fail_msg("no finding of rule %s", rule);
    return NULL;
}

static inline void assert_refused_by(const struct fleet *fleet, const char *rule)
{
    if (fleet_count(fleet, rule, FINDING_ERROR) == 0) {
        fleet_print(&fleet->findings);
        fail_msg("no error of rule %s", rule);
    }
}

static inline void assert_silent(const struct fleet *fleet, const char *rule)
{
    for (size_t i = 0; i < fleet->findings.count; i++)
        if (strcmp(fleet->findings.items[i].rule, rule) == 0) {
            fleet_print(&fleet->findings);
            fail_msg("a finding of rule %s", rule);
        }
}

/* No finding says `word`: a tenant's name or job that the caller must not see. */
static inline void assert_never_says(const struct fleet *fleet, const char *word)
{
    json_t *json = finding_list_to_json(&fleet->findings);
    char *text = json_dumps(json, 0);
    if (strstr(text, word) != NULL)
        fail_msg("'%s' is in %s", word, text);
    free(text);
    json_decref(json);
}

#define TEST_FABRIC                                                                                \
    "{'fabric_profile':{'priorities':["                                                            \
    "{'priority':0,'dscps':[0],'ets_weight':10},"                                                  \
    "{'priority':2,'dscps':[18],'ets_weight':30},"                                                 \
    "{'priority':3,'dscps':[26],'lossless':true,'ets_weight':60},"                                 \
    "{'priority':6,'dscps':[48],'strict':true,'limit':'10%'}]}}"

/* A port as the lab has it: 100 Gbit/s, RDMA in software. */
#define TEST_PORT(id)                                                                              \
    "{'id':'" id "','ifname':'sol','driver':'solar_rdma','rdma_device':'rxe0',"                    \
    "'rdma_software':true,'speed_bps':100000000000,'mtu_bytes':1500,'caps':{'dcb_app':true,"       \
    "'dcb_ets':true,'dcb_pfc':true,'dcb_maxrate':true,'dcb_buffer':true,'tc':true,"                \
    "'flower_hw':true,'flower_hw_entries':64,'maxrate_unit_bps':100000000,'ets_tcs':8}}"
#define TEST_NODE "{'version':1,'ports':[" TEST_PORT("solar_rdma.0/0") "]}"
/* The same with hardware RDMA: the kernel sees none of its traffic. */
#define TEST_HARDWARE_NODE                                                                         \
    "{'version':1,'ports':[{'id':'0000:3b:00.0/0','driver':'mlx5_core','rdma_device':'mlx5_0',"    \
    "'speed_bps':100000000000,'caps':{'dcb_app':true,'dcb_ets':true,'dcb_pfc':true,"               \
    "'dcb_maxrate':true,'dcb_buffer':true,'tc':true,'flower_hw':true,'flower_hw_entries':2,"       \
    "'maxrate_unit_bps':100000000,'ets_tcs':8}}]}"
#define TEST_SEED                                                                                  \
    "{'qos_policy':{'nlp_job':{'priority':3,'bw_guarantee':'40%'},"                                \
    "'cv_job':{'priority':2,'bw_limit':'60%'}}}"
