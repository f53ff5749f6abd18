#pragma once
/*
 * server/api.h - the handlers, one file a resource. Called by the http layer on its threads; none
 * of them blocks: current things come from server/publish and server/status, history from the
 * store's readers, writes go through server/pipeline.
 */

#include "server/app.h"
#include "server/http.h"

/* api_system.c */
void api_healthz(struct request *request);
void api_readyz(struct request *request);
void api_openapi(struct request *request);
void api_rules_list(struct request *request);
/* api_server.c */
void api_server_get(struct request *request);
void api_http_sd(struct request *request);
/* metrics.c */
void api_metrics(struct request *request);
/* api_fabric.c */
void api_fabric_get(struct request *request);
void api_fabric_put(struct request *request);
void api_fabric_patch(struct request *request);
void api_fabric_rollback(struct request *request);
void api_fabric_validate(struct request *request);
/* api_revisions.c */
void api_fabric_revisions(struct request *request);
void api_fabric_revision(struct request *request);
void api_policy_revisions(struct request *request);
void api_policy_revision(struct request *request);
/* api_diff.c */
void api_fabric_diff(struct request *request);
void api_policy_diff(struct request *request);
/* api_tenants.c */
void api_tenants_list(struct request *request);
void api_tenant_get(struct request *request);
void api_tenant_put(struct request *request);
void api_tenant_patch(struct request *request);
void api_tenant_delete(struct request *request);
/* api_policy.c */
void api_policy_get(struct request *request);
void api_policy_put(struct request *request);
void api_policy_patch(struct request *request);
void api_policy_rollback(struct request *request);
void api_policy_delete(struct request *request);
void api_policy_validate(struct request *request);
/* api_placements.c */
void api_placements_list(struct request *request);
void api_placement_get(struct request *request);
void api_placement_put(struct request *request);
void api_placement_patch(struct request *request);
void api_placement_delete(struct request *request);
/* api_nodes.c */
void api_nodes_list(struct request *request);
void api_node_get(struct request *request);
void api_node_put(struct request *request);
void api_node_patch(struct request *request);
void api_node_delete(struct request *request);
void api_node_plan(struct request *request);
/* api_reports.c */
void api_node_state(struct request *request);
void api_node_inventory(struct request *request);
void api_node_receipts(struct request *request);
/* api_inventory.c */
void api_inventory_nics(struct request *request);
void api_inventory_gpus(struct request *request);
void api_inventory_cpus(struct request *request);
/* api_findings.c */
void api_compat_get(struct request *request);
void api_health_inspect(struct request *request);
/* api_health.c */
void api_health_get(struct request *request);
void api_node_health(struct request *request);
/* api_incidents.c */
void api_incidents_list(struct request *request);
void api_incident_get(struct request *request);
void api_incident_acknowledge(struct request *request);
/* api_exclusions.c */
void api_exclusions_list(struct request *request);
void api_exclusion_post(struct request *request);
void api_exclusion_delete(struct request *request);
void api_node_findings(struct request *request);
void api_node_release(struct request *request);
void api_node_reboot(struct request *request);
void api_findings_list(struct request *request);
/* api_health_reports.c */
void api_health_reports_list(struct request *request);
void api_health_report_get(struct request *request);
void api_tenant_report(struct request *request);
void api_health_report_post(struct request *request);
/* api_runbooks.c */
void api_runbooks_list(struct request *request);
void api_runbook_run(struct request *request);
/* api_firmware.c */
void api_image_post(struct request *request);
void api_images_list(struct request *request);
void api_image_get(struct request *request);
void api_image_content(struct request *request);
void api_image_delete(struct request *request);
/* api_campaigns.c */
void api_campaigns_list(struct request *request);
void api_campaign_post(struct request *request);
void api_campaign_get(struct request *request);
void api_campaign_devices(struct request *request);
void api_campaign_start(struct request *request);
void api_campaign_pause(struct request *request);
void api_campaign_resume(struct request *request);
void api_campaign_cancel(struct request *request);
/* api_verifications.c */
void api_verifications_list(struct request *request);
void api_verification_post(struct request *request);
void api_verification_get(struct request *request);
void api_verification_cancel(struct request *request);
/* api_verify.c */
void api_verify_task(struct request *request);
void api_verify_report(struct request *request);
/* api_flash.c */
void api_flash_task(struct request *request);
void api_flash_report(struct request *request);
/* api_telemetry.c */
void api_telemetry_post(struct request *request);
void api_telemetry_get(struct request *request);
void api_telemetry_latest(struct request *request);
/* api_compliance.c */
void api_firmware_compliance(struct request *request);
/* api_switches.c */
void api_switches_list(struct request *request);
void api_switches_import(struct request *request);
void api_switch_get(struct request *request);
void api_switch_put(struct request *request);
void api_switch_delete(struct request *request);
/* api_session.c */
void api_session_post(struct request *request);
void api_session_get(struct request *request);
void api_session_delete(struct request *request);
/* api_users.c */
void api_users_list(struct request *request);
void api_user_post(struct request *request);
void api_user_get(struct request *request);
void api_user_patch(struct request *request);
void api_user_delete(struct request *request);
void api_user_sessions_delete(struct request *request);
/* api_password.c */
void api_user_password(struct request *request);
/* api_tokens.c */
void api_node_token(struct request *request);
void api_tokens_list(struct request *request);
void api_token_get(struct request *request);
void api_token_post(struct request *request);
void api_token_delete(struct request *request);
/* api_certificates.c */
void api_ca_get(struct request *request);
void api_node_certificates(struct request *request);
void api_node_certificates_delete(struct request *request);
/* api_enrol.c */
void api_node_join_token(struct request *request);
void api_agent_enrol(struct request *request);
void api_agent_renew(struct request *request);
/* api_agent.c */
void api_agent_inventory(struct request *request);
void api_agent_plan(struct request *request);
void api_agent_receipt(struct request *request);
void api_agent_state(struct request *request);
/* api_solar_keys.c */
void api_agent_solar_keys(struct request *request);
void api_agent_chains(struct request *request);
void api_node_chains(struct request *request);
/* api_job_chains.c */
void api_job_chains(struct request *request);
/* api_rollout_policy.c */
void api_rollout_policy_get(struct request *request);
void api_rollout_policy_put(struct request *request);
/* api_rollouts.c */
void api_rollouts_list(struct request *request);
void api_rollout_post(struct request *request);
void api_rollout_get(struct request *request);
void api_rollout_nodes(struct request *request);
void api_rollout_pause(struct request *request);
void api_rollout_resume(struct request *request);
void api_rollout_confirm(struct request *request);
void api_rollout_rollback(struct request *request);
/* barrier.c */
void api_generation_get(struct request *request);
/* api_audit.c */
void api_audit_list(struct request *request);
void api_audit_verify(struct request *request);
void api_audit_receipts(struct request *request);
/* api_events.c */
void api_events_list(struct request *request);
/* api_operations.c */
void api_operations_list(struct request *request);
void api_operation_get(struct request *request);
void api_operation_cancel(struct request *request);
/* api_export.c */
void api_export(struct request *request);
/* api_import.c */
void api_import(struct request *request);
/* api_backups.c */
void api_backups_list(struct request *request);
void api_backup_post(struct request *request);
void api_backup_get(struct request *request);
void api_backup_content(struct request *request);
void api_backup_delete(struct request *request);

/* api_assets.c: the pages of the web UI, for http_config.fallback */
extern const struct route api_assets_route;
bool api_assets_owns(struct request *request);

/* Shared by the handlers (api.c) --------------------------------------------------------------- */

/* Zeroed memory of a handler's own, to be freed; NULL when it has replied (no memory). */
void *api_alloc(struct request *request, size_t size);
/* Replies with the blob under `key`, or 404 with the text. */
void api_reply_published(struct request *request, const char *key, const char *what);
/* A name from the path that becomes a new thing's name: false when it is no name (422 replied). */
bool api_check_name(struct request *request, const char *name, const char *what);
/* False when there is no such node (404 replied). */
bool api_check_node(struct request *request, const char *node);
void api_set_time(json_t *object, const char *key, int64_t wall_us);  /* 0 is left out */
void api_set_text(json_t *object, const char *key, const char *text); /* "" and NULL are left out */
/* 429 too-many-attempts; what was wrong: "passwords". From the handler itself. */
void api_reply_later(struct request *request, int64_t wait_s, const char *what);
/* The caller's tenant when it is a tenant's role, else NULL. */
const char *api_own_tenant(const struct request *request);
/* Rows older than *out_us are not for the caller: they tell of another tenant that had its name
 * before. 0 when it is no tenant's role. */
ERR_MUST_CHECK enum err_code api_own_since(struct db_ro *ro, const struct request *request,
                                           int64_t *out_us, struct err *err);
