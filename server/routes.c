/*
 * server/routes.c - every route of stellard, one row each. The same rows stand in
 * schemas/openapi.yaml; tests/api/test_openapi.py compares the two.
 */
#include "server/route.h"

#include "server/api.h"

#define ADMIN    ROLE_BIT(ROLE_ADMIN)
#define OPS      (ADMIN | ROLE_BIT(ROLE_OPERATOR))
#define STAFF    (OPS | ROLE_BIT(ROLE_AUDITOR))   /* read all */
#define READERS  (ADMIN | ROLE_BIT(ROLE_AUDITOR)) /* of the audit */
#define OWNER    ROLE_BIT(ROLE_TENANT_ADMIN)
#define TENANT   (OWNER | ROLE_BIT(ROLE_TENANT_USER))
#define AGENT    ROLE_BIT(ROLE_AGENT)
#define PEOPLE   (STAFF | TENANT)
#define MANAGERS (ADMIN | OWNER) /* of people: all, or the tenant's */

#define T            "/v1/tenants/{tenant}"
#define N            "/v1/nodes/{node}"
#define U            "/v1/users/{user}"
#define R            "/v1/rollouts/{rollout}"
#define B            "/v1/backups/{backup}"
#define C            "/v1/firmware/campaigns/{campaign}"
#define V            "/v1/verifications/{verification}"
#define READ         ROUTE_TENANT
#define CHANGE       (ROUTE_JSON | ROUTE_IF_MATCH)
#define PATCH        (ROUTE_PATCH_BODY | ROUTE_IF_MATCH)
#define REMOVE       ROUTE_IF_MATCH
#define AGENT_REPORT (ROUTE_JSON | ROUTE_LARGE)

static const char *const none[] = {NULL};
static const char *const page[] = {"fields", "page_size", "page_token", NULL};
static const char *const nodes[] = {"fields", "page_size", "page_token", "selector", "sync", NULL};
static const char *const events[] = {"after",      "fields",  "kinds", "page_size",
                                     "page_token", "subject", NULL};
static const char *const audit[] = {"action",     "actor", "fields",  "page_size", "page_token",
                                    "request_id", "since", "subject", "until",     NULL};
static const char *const anchor[] = {"anchor", NULL};
static const char *const change[] = {"dry_run", "message", "reason", NULL};
static const char *const ruled[] = {"dry_run", "message", "reason", "override", NULL};
static const char *const rollback[] = {"dry_run", "reason", "override", NULL};
static const char *const diff[] = {"from", "to", NULL};
static const char *const import[] = {"dry_run", "mode", "override", "reason", NULL};
static const char *const reboot[] = {"digest", "reason", NULL};
static const char *const reason[] = {"reason", NULL};
static const char *const join[] = {"expires", "reason", NULL};
static const char *const rollout[] = {"dry_run", "reason", NULL};
static const char *const selector[] = {"selector", NULL};
static const char *const barrier[] = {"wait", "timeout", NULL};
static const char *const items[] = {"fields", "node", "page_size", "page_token", NULL};
static const char *const reports[] = {"fields", "kind", "page_size", "page_token", NULL};
static const char *const language[] = {"lang", NULL};
static const char *const found[] = {"fields", "rule", "severity", "page_size", "page_token", NULL};
static const char *const incidents[] = {"acknowledged", "fields", "node", "page_size",
                                        "page_token",   "root",   "rule", "severity",
                                        "state",        "tenant", NULL};
static const char *const image[] = {"component", "version", "psid", "sha256",
                                    "name",      "reason",  NULL};
static const char *const matrix[] = {"component", "verdict", NULL};
static const char *const plan[] = {"known", "wait", NULL};
static const char *const series[] = {"device", "from", "job",    "kind", "metric", "node",
                                     "number", "step", "tenant", "to",   NULL};
static const char *const latest[] = {"device", "job",    "kind",   "metric",
                                     "node",   "number", "tenant", NULL};

const struct route routes[] = {
    {"GET", "/healthz", 0, ROUTE_OPEN, api_healthz, "healthz", none},
    {"GET", "/readyz", 0, ROUTE_OPEN, api_readyz, "readyz", none},
    {"GET", "/metrics", 0, ROUTE_OPEN, api_metrics, "metrics", none},
    {"GET", "/openapi.json", 0, ROUTE_OPEN, api_openapi, "openapi", none},

    {"GET", "/v1/fabric", STAFF, 0, api_fabric_get, "fabric_get", none},
    {"PUT", "/v1/fabric", OPS, CHANGE, api_fabric_put, "fabric_put", change},
    {"PATCH", "/v1/fabric", OPS, PATCH, api_fabric_patch, "fabric_patch", change},
    {"POST", "/v1/fabric:rollback", OPS, CHANGE, api_fabric_rollback, "fabric_rollback", rollback},
    {"GET", "/v1/fabric/diff", STAFF, 0, api_fabric_diff, "fabric_diff", diff},
    {"POST", "/v1/fabric:validate", OPS, ROUTE_JSON | ROUTE_SAFE, api_fabric_validate,
     "fabric_validate", none},
    {"GET", "/v1/fabric/revisions", STAFF, 0, api_fabric_revisions, "fabric_revisions", page},
    {"GET", "/v1/fabric/revisions/{number}", STAFF, 0, api_fabric_revision, "fabric_revision",
     none},

    {"GET", "/v1/tenants", STAFF | TENANT, 0, api_tenants_list, "tenants_list", page},
    {"GET", T, STAFF | TENANT, READ, api_tenant_get, "tenant_get", none},
    {"PUT", T, OPS, CHANGE, api_tenant_put, "tenant_put", change},
    {"PATCH", T, OPS, PATCH, api_tenant_patch, "tenant_patch", change},
    {"DELETE", T, OPS, REMOVE, api_tenant_delete, "tenant_delete", change},

    {"GET", T "/policy", STAFF | TENANT, READ, api_policy_get, "policy_get", none},
    {"PUT", T "/policy", OPS | OWNER, READ | CHANGE, api_policy_put, "policy_put", ruled},
    {"PATCH", T "/policy", OPS | OWNER, READ | PATCH, api_policy_patch, "policy_patch", ruled},
    {"POST", T "/policy:rollback", OPS | OWNER, READ | CHANGE, api_policy_rollback,
     "policy_rollback", rollback},
    {"GET", T "/policy/diff", STAFF | TENANT, READ, api_policy_diff, "policy_diff", diff},
    {"DELETE", T "/policy", OPS | OWNER, READ | REMOVE, api_policy_delete, "policy_delete", change},
    {"POST", T "/policy:validate", OPS | OWNER, READ | ROUTE_JSON | ROUTE_SAFE, api_policy_validate,
     "policy_validate", none},
    {"GET", T "/policy/revisions", STAFF | TENANT, READ, api_policy_revisions, "policy_revisions",
     page},
    {"GET", T "/policy/revisions/{number}", STAFF | TENANT, READ, api_policy_revision,
     "policy_revision", none},

    {"GET", T "/report", STAFF | TENANT, READ, api_tenant_report, "tenant_report", language},

    {"GET", T "/placements", STAFF | TENANT, READ, api_placements_list, "placements_list", page},
    {"GET", T "/placements/{job}", STAFF | TENANT, READ, api_placement_get, "placement_get", none},
    {"GET", T "/placements/{job}/chains", STAFF | TENANT, READ, api_job_chains, "job_chains", page},
    {"PUT", T "/placements/{job}", OPS, CHANGE, api_placement_put, "placement_put", ruled},
    {"PATCH", T "/placements/{job}", OPS, PATCH, api_placement_patch, "placement_patch", ruled},
    {"DELETE", T "/placements/{job}", OPS, REMOVE, api_placement_delete, "placement_delete",
     change},

    {"GET", "/v1/nodes", STAFF, 0, api_nodes_list, "nodes_list", nodes},
    {"GET", N, STAFF, 0, api_node_get, "node_get", none},
    {"PUT", N, OPS, CHANGE, api_node_put, "node_put", change},
    {"PATCH", N, OPS, PATCH, api_node_patch, "node_patch", change},
    {"DELETE", N, OPS, REMOVE, api_node_delete, "node_delete", change},
    {"POST", N "/token", OPS, ROUTE_IDEMPOTENT, api_node_token, "node_token", reason},
    {"POST", N "/join-token", OPS, ROUTE_IDEMPOTENT, api_node_join_token, "node_join_token", join},
    {"POST", N ":reboot", OPS, ROUTE_IDEMPOTENT, api_node_reboot, "node_reboot", reboot},
    {"POST", N ":release", OPS, ROUTE_IDEMPOTENT, api_node_release, "node_release", reason},
    {"GET", N "/certificates", STAFF, 0, api_node_certificates, "node_certificates", none},
    {"DELETE", N "/certificates", OPS, 0, api_node_certificates_delete, "node_certificates_delete",
     reason},
    {"GET", N "/plan", STAFF, 0, api_node_plan, "node_plan", none},
    {"POST", N "/telemetry", AGENT, ROUTE_BINARY, api_telemetry_post, "telemetry_post", none},
    {"GET", "/v1/telemetry", PEOPLE, 0, api_telemetry_get, "telemetry_get", series},
    {"GET", "/v1/telemetry/latest", PEOPLE, 0, api_telemetry_latest, "telemetry_latest", latest},
    {"GET", N "/state", STAFF, 0, api_node_state, "node_state", none},
    {"GET", N "/inventory", STAFF, 0, api_node_inventory, "node_inventory", none},
    {"GET", N "/health", STAFF, 0, api_node_health, "node_health", none},
    {"GET", N "/findings", STAFF, 0, api_node_findings, "node_findings", none},
    {"GET", N "/chains", STAFF, 0, api_node_chains, "node_chains", none},
    {"GET", N "/receipts", STAFF, 0, api_node_receipts, "node_receipts", page},

    {"GET", "/v1/rollout-policy", STAFF, 0, api_rollout_policy_get, "rollout_policy_get", none},
    {"PUT", "/v1/rollout-policy", OPS, CHANGE, api_rollout_policy_put, "rollout_policy_put",
     change},
    {"GET", "/v1/rollouts", STAFF, 0, api_rollouts_list, "rollouts_list", page},
    {"POST", "/v1/rollouts", OPS, ROUTE_JSON | ROUTE_IDEMPOTENT, api_rollout_post, "rollout_post",
     rollout},
    {"GET", R, STAFF, 0, api_rollout_get, "rollout_get", none},
    {"GET", R "/nodes", STAFF, 0, api_rollout_nodes, "rollout_nodes", page},
    {"POST", R ":pause", OPS, 0, api_rollout_pause, "rollout_pause", reason},
    {"POST", R ":resume", OPS, 0, api_rollout_resume, "rollout_resume", reason},
    {"POST", R ":confirm", OPS, 0, api_rollout_confirm, "rollout_confirm", reason},
    {"POST", R ":rollback", OPS, 0, api_rollout_rollback, "rollout_rollback", reason},

    {"GET", "/v1/generations/{generation}", STAFF, 0, api_generation_get, "generation_get",
     barrier},
    {"GET", "/v1/inventory/nics", STAFF, 0, api_inventory_nics, "inventory_nics", items},
    {"GET", "/v1/inventory/gpus", STAFF, 0, api_inventory_gpus, "inventory_gpus", items},
    {"GET", "/v1/inventory/cpus", STAFF, 0, api_inventory_cpus, "inventory_cpus", items},
    {"GET", "/v1/switches", STAFF, 0, api_switches_list, "switches_list", page},
    {"POST", "/v1/switches:import", OPS, ROUTE_JSON | ROUTE_LARGE | ROUTE_IDEMPOTENT,
     api_switches_import, "switches_import", reason},
    {"GET", "/v1/switches/{switch}", STAFF, 0, api_switch_get, "switch_get", none},
    {"PUT", "/v1/switches/{switch}", OPS, CHANGE, api_switch_put, "switch_put", reason},
    {"DELETE", "/v1/switches/{switch}", OPS, REMOVE, api_switch_delete, "switch_delete", reason},
    {"GET", "/v1/firmware/images", STAFF, 0, api_images_list, "images_list", page},
    {"POST", "/v1/firmware/images", OPS, ROUTE_STREAM, api_image_post, "image_post", image},
    {"GET", "/v1/firmware/images/{image}", STAFF, 0, api_image_get, "image_get", none},
    {"DELETE", "/v1/firmware/images/{image}", OPS, REMOVE, api_image_delete, "image_delete",
     reason},
    {"GET", "/v1/firmware/images/{image}/content", OPS | AGENT, 0, api_image_content,
     "image_content", none},
    {"GET", "/v1/firmware/compliance", STAFF, 0, api_firmware_compliance, "firmware_compliance",
     matrix},
    {"GET", "/v1/firmware/campaigns", STAFF, 0, api_campaigns_list, "campaigns_list", page},
    {"POST", "/v1/firmware/campaigns", OPS, ROUTE_JSON | ROUTE_IDEMPOTENT, api_campaign_post,
     "campaign_post", rollout},
    {"GET", C, STAFF, 0, api_campaign_get, "campaign_get", none},
    {"GET", C "/devices", STAFF, 0, api_campaign_devices, "campaign_devices", page},
    {"POST", C ":start", OPS, 0, api_campaign_start, "campaign_start", reason},
    {"POST", C ":pause", OPS, 0, api_campaign_pause, "campaign_pause", reason},
    {"POST", C ":resume", OPS, 0, api_campaign_resume, "campaign_resume", reason},
    {"POST", C ":cancel", OPS, 0, api_campaign_cancel, "campaign_cancel", reason},
    {"GET", "/v1/compat", STAFF, 0, api_compat_get, "compat_get", none},
    {"POST", "/v1/health:inspect", STAFF, ROUTE_LARGE | ROUTE_SAFE, api_health_inspect,
     "health_inspect", none},
    {"GET", "/v1/health/reports", STAFF, 0, api_health_reports_list, "health_reports_list",
     reports},
    {"POST", "/v1/health/reports", OPS | AGENT, ROUTE_JSON | ROUTE_IDEMPOTENT,
     api_health_report_post, "health_report_post", none},
    {"GET", "/v1/health/reports/{report}", STAFF, 0, api_health_report_get, "health_report_get",
     language},
    {"GET", "/v1/runbooks", STAFF, 0, api_runbooks_list, "runbooks_list", none},
    {"POST", "/v1/runbooks/{runbook}:run", STAFF, ROUTE_JSON | ROUTE_LARGE | ROUTE_SAFE,
     api_runbook_run, "runbook_run", none},
    {"GET", "/v1/health", STAFF, 0, api_health_get, "health_get", none},
    {"GET", "/v1/incidents", STAFF | TENANT, 0, api_incidents_list, "incidents_list", incidents},
    {"GET", "/v1/incidents/{incident}", STAFF | TENANT, 0, api_incident_get, "incident_get", none},
    {"POST", "/v1/incidents/{incident}:acknowledge", OPS, 0, api_incident_acknowledge,
     "incident_acknowledge", reason},
    {"GET", "/v1/exclusions", STAFF, 0, api_exclusions_list, "exclusions_list", page},
    {"POST", "/v1/exclusions", OPS, ROUTE_JSON | ROUTE_IDEMPOTENT, api_exclusion_post,
     "exclusion_post", none},
    {"DELETE", "/v1/exclusions/{exclusion}", OPS, 0, api_exclusion_delete, "exclusion_delete",
     none},
    {"GET", "/v1/findings", STAFF, 0, api_findings_list, "findings_list", found},

    {"GET", "/v1/operations", STAFF, 0, api_operations_list, "operations_list", page},
    {"GET", "/v1/operations/{operation}", STAFF, 0, api_operation_get, "operation_get", none},
    {"POST", "/v1/operations/{operation}:cancel", ADMIN, 0, api_operation_cancel,
     "operation_cancel", none},
    {"GET", "/v1/export", ADMIN, 0, api_export, "export", none},
    {"POST", "/v1/import", ADMIN, ROUTE_JSON | ROUTE_LARGE | ROUTE_IDEMPOTENT, api_import, "import",
     import},
    {"GET", "/v1/server", STAFF, 0, api_server_get, "server_get", none},
    {"GET", "/v1/http-sd", STAFF, 0, api_http_sd, "http_sd", selector},
    {"GET", "/v1/backups", STAFF, 0, api_backups_list, "backups_list", page},
    {"POST", "/v1/backups", ADMIN, ROUTE_IDEMPOTENT, api_backup_post, "backup_post", reason},
    {"GET", B, STAFF, 0, api_backup_get, "backup_get", none},
    {"GET", B "/content", ADMIN, 0, api_backup_content, "backup_content", none},
    {"DELETE", B, ADMIN, 0, api_backup_delete, "backup_delete", reason},
    {"GET", "/v1/rules", STAFF | TENANT, 0, api_rules_list, "rules_list", none},
    {"GET", "/v1/audit", READERS | OWNER, 0, api_audit_list, "audit_list", audit},
    {"GET", "/v1/audit:verify", READERS, 0, api_audit_verify, "audit_verify", anchor},
    {"GET", "/v1/audit/{id}/receipts", READERS, 0, api_audit_receipts, "audit_receipts", page},
    {"GET", "/v1/events", STAFF | TENANT, 0, api_events_list, "events_list", events},

    {"POST", "/v1/session", 0, ROUTE_OPEN | ROUTE_JSON, api_session_post, "session_post", none},
    {"GET", "/v1/session", PEOPLE, 0, api_session_get, "session_get", none},
    {"DELETE", "/v1/session", PEOPLE, 0, api_session_delete, "session_delete", none},
    {"GET", "/v1/users", MANAGERS, 0, api_users_list, "users_list", page},
    {"POST", "/v1/users", MANAGERS, ROUTE_JSON | ROUTE_IDEMPOTENT, api_user_post, "user_post",
     reason},
    {"GET", U, MANAGERS, 0, api_user_get, "user_get", none},
    {"PATCH", U, MANAGERS, CHANGE, api_user_patch, "user_patch", reason},
    {"DELETE", U, MANAGERS, REMOVE, api_user_delete, "user_delete", reason},
    {"POST", U "/password", PEOPLE, ROUTE_JSON, api_user_password, "user_password", reason},
    {"DELETE", U "/sessions", PEOPLE, 0, api_user_sessions_delete, "user_sessions_delete", reason},

    {"GET", "/v1/tokens", PEOPLE, 0, api_tokens_list, "tokens_list", page},
    {"POST", "/v1/tokens", PEOPLE, ROUTE_JSON | ROUTE_IDEMPOTENT, api_token_post, "token_post",
     reason},
    {"GET", "/v1/tokens/{id}", PEOPLE, 0, api_token_get, "token_get", none},
    {"DELETE", "/v1/tokens/{id}", PEOPLE, 0, api_token_delete, "token_delete", reason},

    {"GET", "/v1/ca", 0, ROUTE_OPEN, api_ca_get, "ca_get", none},
    {"POST", "/v1/agent/enrol", 0, ROUTE_OPEN | ROUTE_JSON, api_agent_enrol, "agent_enrol", none},
    {"POST", "/v1/agent/renew", AGENT, ROUTE_JSON, api_agent_renew, "agent_renew", none},
    {"PUT", "/v1/agent/inventory", AGENT, AGENT_REPORT, api_agent_inventory, "agent_inventory",
     none},
    {"GET", "/v1/agent/plan", AGENT, 0, api_agent_plan, "agent_plan", plan},
    {"POST", "/v1/agent/receipts", AGENT, AGENT_REPORT, api_agent_receipt, "agent_receipt", none},
    {"PUT", "/v1/agent/chains", AGENT, AGENT_REPORT, api_agent_chains, "agent_chains", none},
    {"PUT", "/v1/agent/state", AGENT, AGENT_REPORT, api_agent_state, "agent_state", none},
    {"GET", "/v1/agent/solar-keys", AGENT, 0, api_agent_solar_keys, "agent_solar_keys", none},
    {"GET", "/v1/verifications", STAFF, 0, api_verifications_list, "verifications_list", page},
    {"POST", "/v1/verifications", OPS, ROUTE_JSON | ROUTE_IDEMPOTENT, api_verification_post,
     "verification_post", rollout},
    {"GET", V, STAFF, 0, api_verification_get, "verification_get", none},
    {"POST", V ":cancel", OPS, 0, api_verification_cancel, "verification_cancel", reason},

    {"GET", N "/verify", AGENT, 0, api_verify_task, "verify_task", plan},
    {"POST", N "/verify/{task}:report", AGENT, ROUTE_JSON, api_verify_report, "verify_report",
     none},
    {"GET", N "/flash", AGENT, 0, api_flash_task, "flash_task", plan},
    {"POST", N "/flash/{task}:report", AGENT, ROUTE_JSON, api_flash_report, "flash_report", none},
};

const size_t route_count = sizeof(routes) / sizeof(routes[0]);
