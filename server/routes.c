/*
 * server/routes.c - every route of stellard, one row each. The same rows stand in
 * schemas/openapi.yaml; tests/api/test_openapi.py compares the two.
 */
#include "server/route.h"

#include "server/api.h"

#define ADMIN  ROLE_BIT(ROLE_ADMIN)
#define OPS    (ADMIN | ROLE_BIT(ROLE_OPERATOR))
#define STAFF  (OPS | ROLE_BIT(ROLE_AUDITOR)) /* read all */
#define OWNER  ROLE_BIT(ROLE_TENANT_ADMIN)
#define TENANT (OWNER | ROLE_BIT(ROLE_TENANT_USER))
#define AGENT  ROLE_BIT(ROLE_AGENT)

#define T            "/v1/tenants/{tenant}"
#define N            "/v1/nodes/{node}"
#define READ         ROUTE_TENANT
#define CHANGE       (ROUTE_JSON | ROUTE_IF_MATCH)
#define REMOVE       ROUTE_IF_MATCH
#define AGENT_REPORT (ROUTE_JSON | ROUTE_LARGE)

const struct route routes[] = {
    {"GET", "/healthz", 0, ROUTE_OPEN, api_healthz, "healthz"},
    {"GET", "/readyz", 0, ROUTE_OPEN, api_readyz, "readyz"},
    {"GET", "/metrics", 0, ROUTE_OPEN, api_metrics, "metrics"},
    {"GET", "/openapi.json", 0, ROUTE_OPEN, api_openapi, "openapi"},

    {"GET", "/v1/fabric", STAFF, 0, api_fabric_get, "fabric_get"},
    {"PUT", "/v1/fabric", OPS, CHANGE, api_fabric_put, "fabric_put"},
    {"POST", "/v1/fabric:validate", OPS, ROUTE_JSON, api_fabric_validate, "fabric_validate"},
    {"GET", "/v1/fabric/revisions", STAFF, 0, api_fabric_revisions, "fabric_revisions"},
    {"GET", "/v1/fabric/revisions/{number}", STAFF, 0, api_fabric_revision, "fabric_revision"},

    {"GET", "/v1/tenants", STAFF | TENANT, 0, api_tenants_list, "tenants_list"},
    {"GET", T, STAFF | TENANT, READ, api_tenant_get, "tenant_get"},
    {"PUT", T, OPS, CHANGE, api_tenant_put, "tenant_put"},
    {"DELETE", T, OPS, REMOVE, api_tenant_delete, "tenant_delete"},

    {"GET", T "/policy", STAFF | TENANT, READ, api_policy_get, "policy_get"},
    {"PUT", T "/policy", OPS | OWNER, READ | CHANGE, api_policy_put, "policy_put"},
    {"DELETE", T "/policy", OPS | OWNER, READ | REMOVE, api_policy_delete, "policy_delete"},
    {"POST", T "/policy:validate", OPS | OWNER, READ | ROUTE_JSON, api_policy_validate,
     "policy_validate"},
    {"GET", T "/policy/revisions", STAFF | TENANT, READ, api_policy_revisions, "policy_revisions"},
    {"GET", T "/policy/revisions/{number}", STAFF | TENANT, READ, api_policy_revision,
     "policy_revision"},

    {"GET", T "/placements", STAFF | TENANT, READ, api_placements_list, "placements_list"},
    {"GET", T "/placements/{job}", STAFF | TENANT, READ, api_placement_get, "placement_get"},
    {"PUT", T "/placements/{job}", OPS, CHANGE, api_placement_put, "placement_put"},
    {"DELETE", T "/placements/{job}", OPS, REMOVE, api_placement_delete, "placement_delete"},

    {"GET", "/v1/nodes", STAFF, 0, api_nodes_list, "nodes_list"},
    {"GET", N, STAFF, 0, api_node_get, "node_get"},
    {"PUT", N, OPS, CHANGE, api_node_put, "node_put"},
    {"DELETE", N, OPS, REMOVE, api_node_delete, "node_delete"},
    {"POST", N "/token", OPS, ROUTE_IDEMPOTENT, api_node_token, "node_token"},
    {"GET", N "/plan", STAFF, 0, api_node_plan, "node_plan"},
    {"GET", N "/state", STAFF, 0, api_node_state, "node_state"},
    {"GET", N "/inventory", STAFF, 0, api_node_inventory, "node_inventory"},
    {"GET", N "/receipts", STAFF, 0, api_node_receipts, "node_receipts"},

    {"GET", "/v1/generations/{generation}", STAFF, 0, api_generation_get, "generation_get"},
    {"GET", "/v1/rules", STAFF | TENANT, 0, api_rules_list, "rules_list"},
    {"GET", "/v1/audit", ADMIN | ROLE_BIT(ROLE_AUDITOR) | OWNER, 0, api_audit_list, "audit_list"},
    {"GET", "/v1/events", STAFF | TENANT, 0, api_events_list, "events_list"},

    {"GET", "/v1/tokens", ADMIN, 0, api_tokens_list, "tokens_list"},
    {"POST", "/v1/tokens", ADMIN, ROUTE_JSON | ROUTE_IDEMPOTENT, api_token_post, "token_post"},
    {"GET", "/v1/tokens/{id}", ADMIN, 0, api_token_get, "token_get"},
    {"DELETE", "/v1/tokens/{id}", ADMIN, 0, api_token_delete, "token_delete"},

    {"PUT", "/v1/agent/inventory", AGENT, AGENT_REPORT, api_agent_inventory, "agent_inventory"},
    {"GET", "/v1/agent/plan", AGENT, 0, api_agent_plan, "agent_plan"},
    {"POST", "/v1/agent/receipts", AGENT, AGENT_REPORT, api_agent_receipt, "agent_receipt"},
    {"PUT", "/v1/agent/state", AGENT, AGENT_REPORT, api_agent_state, "agent_state"},
};

const size_t route_count = sizeof(routes) / sizeof(routes[0]);
