/*
 * fleet/evidence/manifest.c - rules over the objects of NIC and SR-IOV operators in Kubernetes.
 *
 * An API server drops or refuses unknown keys as its schema says; in a selector a dropped key means
 * that more is selected than was meant. Keys are those of sriovnetwork.openshift.io/v1 and
 * configuration.net.nvidia.com/v1alpha1.
 */
#include "fleet/evidence/manifest.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"
#include "fleet/evidence/log_subject.h"
#include "fleet/evidence/rules_logs.h"

#define KEYS_MAX   24
#define PRIORITIES 8

/* Objects whose keys are all known. */
static const struct {
    const char *kind, *path;
    const char *keys[KEYS_MAX];
} known[] = {
    {"SriovNetworkNodePolicy",
     "spec",
     {"bridge", "deviceType", "eSwitchMode", "excludeTopology", "externallyManaged", "isRdma",
      "linkType", "mtu", "needVhostNet", "nicSelector", "nodeSelector", "numVfs", "priority",
      "resourceName", "vdpaType"}},
    {"SriovNetworkNodePolicy",
     "spec.nicSelector",
     {"deviceID", "netFilter", "pfNames", "rootDevices", "vendor"}},
    {"NicConfigurationTemplate",
     "spec",
     {"nodeSelector", "nicSelector", "resetToDefault", "template"}},
    {"NicConfigurationTemplate",
     "spec.nicSelector",
     {"nicType", "partNumbers", "pciAddresses", "serialNumbers"}},
    {"NicConfigurationTemplate",
     "spec.template",
     {"numVfs", "linkType", "pciPerformanceOptimized", "roceOptimized", "gpuDirectOptimized",
      "rawNvConfig", "spectrumXOptimized", "networkBay"}},
    {"NicConfigurationTemplate", "spec.template.networkBay", {"conf"}},
    {"NicConfigurationTemplate", "spec.template.roceOptimized", {"enabled", "qos"}},
    {"NicConfigurationTemplate", "spec.template.roceOptimized.qos", {"trust", "pfc", "tos"}},
    {"NicConfigurationTemplate",
     "spec.template.pciPerformanceOptimized",
     {"enabled", "maxAccOutRead", "maxReadRequest"}},
    {"NicConfigurationTemplate", "spec.template.gpuDirectOptimized", {"enabled", "env"}},
    {"NicConfigurationTemplate",
     "spec.template.spectrumXOptimized",
     {"enabled", "version", "platformType", "overlay", "multiplaneMode", "numberOfPlanes"}},
    {"NicFirmwareTemplate", "spec", {"nodeSelector", "nicSelector", "template"}},
    {"NicFirmwareTemplate",
     "spec.nicSelector",
     {"nicType", "partNumbers", "pciAddresses", "serialNumbers"}},
    {"NicFirmwareTemplate", "spec.template", {"nicFirmwareSourceRef", "updatePolicy"}},
    {"NicFirmwareSource", "spec", {"binUrlSources", "bfbUrlSource", "docaSpcXCCUrlSource"}},
    {"NicInterfaceNameTemplate",
     "spec",
     {"nodeSelector", "pfsPerNic", "rdmaDevicePrefix", "netDevicePrefix", "railPciAddresses"}},
};

static const struct yaml_node *find_path(const struct yaml_part *part, const char *path)
{
    const struct yaml_node *node = part->root;
    struct slice rest = slice_of(path), word;
    for (bool more = true; more && node != NULL;) {
        char key[64];
        more = slice_split(rest, '.', &word, &rest);
        slice_copy(more ? word : rest, key, sizeof(key));
        node = yaml_get(part, node, key);
    }
    return node;
}

static void judge_keys(struct evidence_job *job, const struct yaml_part *part, size_t row)
{
    const struct yaml_node *map = find_path(part, known[row].path);
    size_t count = 0;
    while (count < KEYS_MAX && known[row].keys[count] != NULL)
        count++;
    if (map == NULL || map->kind != YAML_MAP)
        return;
    for (const struct yaml_node *n = yaml_child(part, map); n != NULL; n = yaml_next(part, n)) {
        bool found = false;
        for (size_t i = 0; i < count; i++)
            found = found || strcmp(n->key, known[row].keys[i]) == 0;
        if (found)
            continue;
        const char *close = text_closest(n->key, known[row].keys, count);
        put_finding(job, n->line, RULE_K8S_KEY, "%s has no key '%.60s'%s%s%s", known[row].path,
                    n->key, close != NULL ? ", '" : "", close != NULL ? close : "",
                    close != NULL ? "' was meant" : "");
    }
}

static void judge_address_list(struct evidence_job *job, const struct yaml_part *part,
                               const char *path, const struct yaml_node *list)
{
    char address[PCI_TEXT_MAX];
    for (const struct yaml_node *n = yaml_child(part, list); n != NULL; n = yaml_next(part, n)) {
        if (n->kind == YAML_SCALAR && !pci_text(slice_of(n->text), address))
            put_finding(job, n->line, RULE_K8S_VALUE,
                        "%s: '%.60s' at line %zu, column %zu is no PCI address", path, n->text,
                        n->line + 1, n->column);
    }
}

/* Lists of PCI addresses, and lists of them ("railPciAddresses": a list for each rail). */
static void judge_addresses(struct evidence_job *job, const struct yaml_part *part,
                            const char *path)
{
    const struct yaml_node *list = find_path(part, path);
    if (list == NULL || list->kind != YAML_LIST)
        return;
    judge_address_list(job, part, path, list);
    for (const struct yaml_node *n = yaml_child(part, list); n != NULL; n = yaml_next(part, n)) {
        if (n->kind == YAML_LIST)
            judge_address_list(job, part, path, n);
    }
}

/* Members that take some words only. */
static const struct {
    const char *kind, *path;
    const char *words[8];
} enums[] = {
    {"NicConfigurationTemplate", "spec.template.linkType", {"Ethernet", "Infiniband"}},
    {"NicConfigurationTemplate",
     "spec.template.pciPerformanceOptimized.maxReadRequest",
     {"128", "256", "512", "1024", "2048", "4096"}},
    {"NicFirmwareTemplate", "spec.template.updatePolicy", {"Validate", "Update"}},
    {"SriovNetworkNodePolicy", "spec.deviceType", {"netdevice", "vfio-pci"}},
    {"SriovNetworkNodePolicy", "spec.eSwitchMode", {"legacy", "switchdev"}},
    {"SriovNetworkNodePolicy", "spec.linkType", {"eth", "ETH", "ib", "IB"}},
    {"SriovNetworkPoolConfig", "spec.rdmaMode", {"shared", "exclusive"}},
};

static void judge_enum(struct evidence_job *job, const struct yaml_part *part, size_t row)
{
    const struct yaml_node *node = find_path(part, enums[row].path);
    if (node == NULL || node->kind != YAML_SCALAR || node->text[0] == '\0')
        return;
    for (size_t k = 0; k < 8 && enums[row].words[k] != NULL; k++) {
        if (strcmp(node->text, enums[row].words[k]) == 0)
            return;
    }
    put_finding(job, node->line, RULE_K8S_VALUE,
                "%s is '%.40s', not %s, %s or another that it takes", enums[row].path, node->text,
                enums[row].words[0], enums[row].words[1]);
}

/* "0,0,0,1,0,0,0,0": one flag for each priority. */
static void judge_pfc(struct evidence_job *job, const struct yaml_part *part)
{
    const struct yaml_node *qos = find_path(part, "spec.template.roceOptimized.qos");
    const struct yaml_node *pfc = yaml_get(part, qos, "pfc");
    const char *trust = yaml_text(part, qos, "trust");
    if (trust != NULL && strcmp(trust, "dscp") != 0 && strcmp(trust, "pcp") != 0)
        put_finding(job, yaml_get(part, qos, "trust")->line, RULE_K8S_VALUE,
                    "trust is '%.40s', not dscp or pcp", trust);
    if (pfc == NULL)
        return;
    char list[64] = "";
    size_t len = 0, priority = 0;
    bool right = true, more = true;
    struct slice rest = slice_of(pfc->text), word;
    while (more) {
        more = slice_split(rest, ',', &word, &rest);
        struct slice flag = slice_trim(more ? word : rest);
        right = right && (slice_is(flag, "0") || slice_is(flag, "1"));
        if (slice_is(flag, "1") && len < sizeof(list) - 8)
            len += (size_t)snprintf(list + len, sizeof(list) - len, "%s%zu", len > 0 ? "," : "",
                                    priority);
        priority++;
    }
    if (right && priority == PRIORITIES)
        put_text(job, pfc->line, "pfc_priorities", slice_of(list));
    else
        put_finding(job, pfc->line, RULE_K8S_VALUE,
                    "pfc is '%.60s', not eight times 0 or 1 with commas between", pfc->text);
}

/* "ens3f0#5-9": the VFs 5 to 9 of that port. */
static void judge_range(struct evidence_job *job, const struct yaml_node *name, uint64_t vfs)
{
    struct slice port, range, low, high;
    uint64_t first, last;
    char subject[EVIDENCE_SUBJECT_MAX];
    if (!slice_split(slice_of(name->text), '#', &port, &range))
        return;
    if (!slice_split(range, '-', &low, &high) || !slice_uint(low, &first) ||
        !slice_uint(high, &last) || first > last || (vfs > 0 && last >= vfs)) {
        put_finding(job, name->line, RULE_K8S_VALUE,
                    "'%.60s' is no range of the %llu virtual functions", name->text,
                    (unsigned long long)vfs);
        return;
    }
    memcpy(subject, job->subject, sizeof(subject));
    job_subject(job, "%.120s netdev %.*s", subject, (int)(port.len < 60 ? port.len : 60), port.at);
    put_uint(job, name->line, "vf_first", first, "");
    put_uint(job, name->line, "vf_last", last, "");
    put_uint(job, name->line, "vf_count", last - first + 1, "");
    memcpy(job->subject, subject, sizeof(subject));
}

static void judge_policy(struct evidence_job *job, const struct yaml_part *part)
{
    const struct yaml_node *spec = find_path(part, "spec");
    const struct yaml_node *names = find_path(part, "spec.nicSelector.pfNames");
    const char *text = yaml_text(part, spec, "numVfs");
    uint64_t vfs = 0;
    if (text != NULL && !slice_uint(slice_of(text), &vfs))
        put_finding(job, spec->line, RULE_K8S_VALUE, "numVfs is '%.40s', no number", text);
    if (names == NULL || names->kind != YAML_LIST)
        return;
    for (const struct yaml_node *n = yaml_child(part, names); n != NULL; n = yaml_next(part, n))
        judge_range(job, n, vfs);
}

/* Reasons that operators give; most have one of these words. */
static bool is_bad(const char *reason)
{
    static const char *const words[] = {"Fail",     "Error",        "Incorrect",
                                        "Mismatch", "NotSupported", "Unsupported"};
    for (size_t i = 0; reason != NULL && i < sizeof(words) / sizeof(words[0]); i++) {
        if (strstr(reason, words[i]) != NULL)
            return true;
    }
    return false;
}

/* Conditions that say by their type what is bad: "Ready" false, "...Failed" true. */
static void judge_conditions(struct evidence_job *job, const struct yaml_part *part)
{
    const struct yaml_node *list = find_path(part, "status.conditions");
    if (list == NULL || list->kind != YAML_LIST)
        return;
    for (const struct yaml_node *n = yaml_child(part, list); n != NULL; n = yaml_next(part, n)) {
        const char *type = yaml_text(part, n, "type"), *status = yaml_text(part, n, "status");
        const char *reason = yaml_text(part, n, "reason");
        if (type == NULL || status == NULL)
            continue;
        bool not_ready = (strcmp(type, "Ready") == 0 || strcmp(type, "Available") == 0) &&
                         strcmp(status, "False") == 0;
        bool failed = (strstr(type, "Fail") != NULL || strcmp(type, "Degraded") == 0) &&
                      strcmp(status, "True") == 0;
        if (not_ready || failed || is_bad(reason))
            put_finding(job, n->line, RULE_K8S_CONDITION, "%.60s is %.20s: %.60s", type, status,
                        reason != NULL ? reason : "no reason given");
    }
}

/* "state: notReady" of NicClusterPolicy, "syncStatus: Failed" of SriovNetworkNodeState. */
static void judge_states(struct evidence_job *job, const struct yaml_part *part)
{
    static const char *const paths[] = {"status.state", "status.syncStatus",
                                        "status.lastSyncError"};
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        const struct yaml_node *node = find_path(part, paths[i]);
        if (node == NULL || node->kind != YAML_SCALAR || node->text[0] == '\0')
            continue;
        bool error = strcmp(paths[i], "status.lastSyncError") == 0;
        if (error || is_bad(node->text) || strcmp(node->text, "notReady") == 0 ||
            strcmp(node->text, "error") == 0)
            put_finding(job, node->line, RULE_K8S_CONDITION, "%s is %.100s", paths[i], node->text);
    }
}

/* What is wanted of an interface and what it has, by its PCI address. */
static void judge_wanted(struct evidence_job *job, const struct yaml_part *part)
{
    static const char *const keys[] = {"numVfs", "mtu", "linkType", "eSwitchMode"};
    const struct yaml_node *spec = find_path(part, "spec.interfaces");
    const struct yaml_node *status = find_path(part, "status.interfaces");
    if (spec == NULL || status == NULL || spec->kind != YAML_LIST || status->kind != YAML_LIST)
        return;
    for (const struct yaml_node *n = yaml_child(part, spec); n != NULL; n = yaml_next(part, n)) {
        const char *address = yaml_text(part, n, "pciAddress");
        const struct yaml_node *has = yaml_child(part, status);
        while (has != NULL && address != NULL &&
               (yaml_text(part, has, "pciAddress") == NULL ||
                strcmp(yaml_text(part, has, "pciAddress"), address) != 0))
            has = yaml_next(part, has);
        for (size_t k = 0; has != NULL && address != NULL && k < 4; k++) {
            const char *wants = yaml_text(part, n, keys[k]), *got = yaml_text(part, has, keys[k]);
            if (wants != NULL && got != NULL && strcasecmp(wants, got) != 0)
                put_finding(job, yaml_get(part, has, keys[k])->line, RULE_K8S_CONDITION,
                            "%s of %.20s is %.20s, wanted is %.20s", keys[k], address, got, wants);
        }
    }
}

void manifest_judge(struct evidence_job *job, const struct yaml_part *part, const char *kind)
{
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (strcmp(kind, known[i].kind) == 0)
            judge_keys(job, part, i);
    }
    judge_addresses(job, part, "spec.nicSelector.pciAddresses");
    judge_addresses(job, part, "spec.nicSelector.rootDevices");
    judge_addresses(job, part, "spec.railPciAddresses");
    for (size_t i = 0; i < sizeof(enums) / sizeof(enums[0]); i++) {
        if (strcmp(kind, enums[i].kind) == 0)
            judge_enum(job, part, i);
    }
    judge_pfc(job, part);
    if (strcmp(kind, "SriovNetworkNodePolicy") == 0)
        judge_policy(job, part);
    judge_conditions(job, part);
    judge_wanted(job, part);
    judge_states(job, part);
}
