/*
 * cli/kind.c - see kind.h.
 */
#include "cli/kind.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"

#define C(title, path)                                                                             \
    {                                                                                              \
        title, path, false, false                                                                  \
    }
#define NUMBER(title, path)                                                                        \
    {                                                                                              \
        title, path, true, false                                                                   \
    }
#define STATE(title, path)                                                                         \
    {                                                                                              \
        title, path, false, true                                                                   \
    }

const struct kind kinds[] = {
    {.name = "tenants",
     .single = "tenant",
     .list = "tenants_list",
     .get = "tenant_get",
     .put = "tenant_put",
     .bare = "tenant",
     .order = 1,
     .remove = "tenant_delete",
     .key = "tenant",
     .view = {"name",
              {C("NAME", "name"), NUMBER("REV", "revision"),
               NUMBER("JOBS MAX", "tenant.quota.jobs_max"),
               C("GUARANTEE MAX", "tenant.quota.guarantee_max"),
               C("DESCRIPTION", "tenant.description")}}},
    {.name = "policies",
     .single = "policy",
     .get = "policy_get",
     .put = "policy_put",
     .order = 3,
     .remove = "policy_delete",
     .key = "tenant",
     .walk = true,
     .rows = "qos_policy",
     .view = {"job",
              {C("TENANT", "tenant"), C("JOB", "job"), NUMBER("PRIORITY", "priority"),
               NUMBER("GUARANTEE", "bw_guarantee"), NUMBER("LIMIT", "bw_limit"),
               NUMBER("DEMAND", "demand"), C("DESCRIPTION", "description")}}},
    {.name = "placements",
     .single = "placement",
     .list = "placements_list",
     .get = "placement_get",
     .put = "placement_put",
     .member = "placement",
     .order = 4,
     .remove = "placement_delete",
     .key = "job",
     .parent = "tenant",
     .walk = true,
     .view = {"job",
              {C("TENANT", "tenant"), C("JOB", "job"), NUMBER("LABEL", "label"),
               NUMBER("REV", "revision"), C("NODES", "placement.nodes"),
               C("SELECTOR", "placement.selector"), C("MATCH", "placement.match")}}},
    {.name = "nodes",
     .single = "node",
     .list = "nodes_list",
     .get = "node_get",
     .put = "node_put",
     .schema = "node",
     .order = 2,
     .remove = "node_delete",
     .key = "node",
     .view = {"name",
              {C("NAME", "name"), STATE("SYNC", "sync"), C("STALE", "stale"),
               NUMBER("APPLIED", "generation_applied"), C("LAST SEEN", "last_seen"),
               C("LABELS", "labels"), C("PROBLEM", "problem")}}},
    {.name = "revisions",
     .single = "revision",
     .list = "policy_revisions",
     .get = "policy_revision",
     .key = "number",
     .parent = "tenant",
     .list_alone = "fabric_revisions",
     .get_alone = "fabric_revision",
     .view = {"number",
              {NUMBER("NUMBER", "number"), C("CREATED", "created"), C("AUTHOR", "author"),
               C("ORIGIN", "origin"), C("MESSAGE", "message")}}},
    {.name = "fabric", .single = "fabric", .get = "fabric_get", .put = "fabric_put"},
    {.name = "plans", .single = "plan", .get = "node_plan", .key = "node"},
    {.name = "states", .single = "state", .get = "node_state", .key = "node"},
    {.name = "inventories", .single = "inventory", .get = "node_inventory", .key = "node"},
    {.name = "certificates",
     .single = "certificate",
     .list = "node_certificates",
     .parent = "node",
     .view = {"fingerprint",
              {C("FINGERPRINT", "fingerprint"), C("ORIGIN", "origin"), C("CREATED", "created"),
               C("EXPIRES", "expires")}}},
    {.name = "nics",
     .single = "nic",
     .list = "inventory_nics",
     .view = {"id",
              {C("NODE", "node"), C("ID", "id"), C("INTERFACE", "ifname"), C("PRODUCT", "product"),
               C("PSID", "psid"), C("FIRMWARE", "firmware"), NUMBER("SPEED BPS", "speed_bps"),
               C("LINK", "link"), NUMBER("NUMA", "numa_node"), C("SWITCH", "switch"),
               C("SWITCH PORT", "switch_port"), C("DRIVER", "driver")}}},
    {.name = "gpus",
     .single = "gpu",
     .list = "inventory_gpus",
     .view = {"id",
              {C("NODE", "node"), C("ID", "id"), C("MODEL", "model"),
               NUMBER("MEMORY BYTES", "memory_bytes"), NUMBER("NVLINK BPS", "nvlink_bps"),
               NUMBER("NUMA", "numa_node"), C("NEAREST NICS", "nearest_nics"),
               C("PATH", "nearest_path"), C("FIRMWARE", "firmware"), C("DRIVER", "driver")}}},
    {.name = "cpus",
     .single = "cpu",
     .list = "inventory_cpus",
     .view = {"node",
              {C("NODE", "node"), C("MODEL", "model"), C("ARCHITECTURE", "architecture"),
               NUMBER("SOCKETS", "sockets"), NUMBER("CORES", "cores"), C("IOMMU", "iommu")}}},
    {.name = "switches",
     .single = "switch",
     .list = "switches_list",
     .get = "switch_get",
     .put = "switch_put",
     .remove = "switch_delete",
     .key = "switch",
     .bare = "switch",
     .order = 1,
     .view = {"name",
              {C("NAME", "name"), NUMBER("REV", "revision"), C("VENDOR", "switch.vendor"),
               C("MODEL", "switch.model"), C("FIRMWARE", "switch.firmware"), C("PFC", "switch.pfc"),
               C("ECN", "switch.ecn"), C("DESCRIPTION", "switch.description")}}},
    {.name = "findings",
     .single = "finding",
     .list = "node_findings",
     .parent = "node",
     .list_alone = "findings_list",
     .view = {"rule",
              {STATE("SEVERITY", "severity"), C("RULE", "rule"), C("SUBJECT", "subject"),
               C("OBSERVED", "observed"), C("LIMIT", "limit"), C("MESSAGE", "message")}}},
    {.name = "users",
     .single = "user",
     .list = "users_list",
     .get = "user_get",
     .remove = "user_delete",
     .key = "user",
     .view = {"name",
              {C("NAME", "name"), C("ROLE", "role"), C("TENANT", "tenant"),
               C("DISABLED", "disabled"), C("PASSWORD OF", "password_changed"),
               C("DESCRIPTION", "description")}}},
    {.name = "rollouts",
     .single = "rollout",
     .list = "rollouts_list",
     .get = "rollout_get",
     .key = "rollout",
     .view = {"id",
              {C("ID", "id"), STATE("STATE", "state"), C("CREATED", "created"),
               C("AUTHOR", "author"), C("NODES", "nodes"), C("MESSAGE", "message"),
               C("PROBLEM", "problem")}}},
    {.name = "rollout-policy",
     .single = "rollout-policy",
     .get = "rollout_policy_get",
     .put = "rollout_policy_put"},
    {.name = "images",
     .single = "image",
     .list = "images_list",
     .get = "image_get",
     .remove = "image_delete",
     .key = "image",
     .view = {"id",
              {C("ID", "id"), C("NAME", "name"), C("COMPONENT", "component"),
               C("VERSION", "version"), C("PSIDS", "psids"), NUMBER("BYTES", "size_bytes"),
               C("SHA256", "sha256")}}},
    {.name = "campaigns",
     .single = "campaign",
     .list = "campaigns_list",
     .get = "campaign_get",
     .key = "campaign",
     .view = {"id",
              {C("ID", "id"), STATE("STATE", "state"), C("COMPONENT", "component"),
               C("VERSION", "version"), NUMBER("DEVICES", "devices_total"), C("CREATED", "created"),
               C("MESSAGE", "message"), C("PROBLEM", "problem")}}},
    {.name = "compliance",
     .single = "compliance",
     .list = "firmware_compliance",
     .view = {"component",
              {C("COMPONENT", "component"), C("PSID", "psid"), C("VERSION", "version"),
               STATE("VERDICT", "verdict"), NUMBER("PORTS", "ports"), NUMBER("STAGED", "staged"),
               C("NODES", "nodes")}}},
    {.name = "backups",
     .single = "backup",
     .list = "backups_list",
     .get = "backup_get",
     .remove = "backup_delete",
     .key = "backup",
     .view = {"id",
              {C("ID", "id"), C("CREATED", "created"), NUMBER("BYTES", "size_bytes"),
               NUMBER("GENERATION", "generation"), NUMBER("SCHEMA", "schema"),
               NUMBER("AUDIT ROWS", "audit_rows"), C("SHA256", "sha256"), C("BY", "created_by")}}},
    {.name = "compat", .single = "compat", .get = "compat_get"},
    {.name = "receipts",
     .single = "receipt",
     .list = "node_receipts",
     .parent = "node",
     .view = {"id",
              {NUMBER("ID", "id"), C("RECEIVED", "received"),
               NUMBER("GENERATION", "receipt.generation"), STATE("RESULT", "receipt.result"),
               C("ROLLOUT", "receipt.rollout"), C("DIGEST", "receipt.digest")}}},
    {.name = "generations",
     .single = "generation",
     .get = "generation_get",
     .key = "generation",
     .view = {"generation",
              {NUMBER("GENERATION", "generation"), C("APPLIED", "applied"),
               NUMBER("NODES", "nodes.total"), NUMBER("IN SYNC", "nodes.in_sync"),
               NUMBER("PENDING", "nodes.pending"), NUMBER("FAILED", "nodes.failed"),
               C("WAITING FOR", "pending")}}},
    {.name = "server", .single = "server", .get = "server_get"},
    {.name = "http-sd", .single = "http-sd", .get = "http_sd"},
    {.name = "rules",
     .single = "rule",
     .list = "rules_list",
     .view = {"id", {C("ID", "id"), C("TEXT", "text"), C("REASON", "reason")}}},
    {.name = "audit",
     .single = "audit",
     .list = "audit_list",
     .view = {"id",
              {NUMBER("ID", "id"), C("TIME", "time"), C("ACTOR", "actor"), C("ACTION", "action"),
               C("SUBJECT", "subject"), C("REASON", "reason")}}},
    {.name = "events",
     .single = "event",
     .list = "events_list",
     .view = {"id",
              {NUMBER("ID", "id"), C("TIME", "time"), C("KIND", "kind"), C("SUBJECT", "subject"),
               C("BODY", "body")}}},
    {.name = "tokens",
     .single = "token",
     .list = "tokens_list",
     .get = "token_get",
     .remove = "token_delete",
     .key = "id",
     .view = {"id",
              {C("ID", "id"), C("ROLE", "role"), C("TENANT", "tenant"), C("CREATED", "created"),
               C("EXPIRES", "expires"), C("LAST USED", "last_used"),
               C("DESCRIPTION", "description")}}},
};
const size_t kind_count = sizeof(kinds) / sizeof(kinds[0]);

const struct kind *kind_find(const char *name)
{
    for (size_t i = 0; i < kind_count; i++)
        if (strcmp(kinds[i].name, name) == 0 || strcmp(kinds[i].single, name) == 0)
            return &kinds[i];
    return NULL;
}

enum err_code kind_need(const char *name, const struct kind **out, struct err *err)
{
    const char *names[64];
    char list[ERR_TEXT_MAX / 2] = "", quoted[64];
    size_t used = 0;
    const struct kind *kind = kind_find(name);
    if (kind != NULL) {
        *out = kind;
        return ERR_OK;
    }
    for (size_t i = 0; i < kind_count && i < 64; i++) {
        names[i] = kinds[i].name;
        if (used < sizeof(list))
            used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%s", i > 0 ? ", " : "",
                                     kinds[i].name);
    }
    text_quote(name, strlen(name), quoted, sizeof(quoted));
    const char *close = text_closest(name, names, kind_count < 64 ? kind_count : 64);
    if (close != NULL)
        return err_set(err, ERR_INVALID, "there is no kind '%s'; did you mean %s?", quoted, close);
    return err_set(err, ERR_INVALID, "there is no kind '%s'; there are: %s", quoted, list);
}
