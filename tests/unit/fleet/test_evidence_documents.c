/*
 * tests/unit/fleet/test_evidence_documents.c - JSON and YAML of BMCs, UFM and Kubernetes.
 */
#include "evidence_test.h"

#include "fleet/evidence/yaml_part.h"

#define BIOS   "bmc /redfish/v1/UpdateService/FirmwareInventory/BIOS"
#define BMC    "bmc /redfish/v1/UpdateService/FirmwareInventory/BMC"
#define FOLDER "bmc /redfish/v1/UpdateService/FirmwareInventory"
#define ACTION "bmc /redfish/v1/UpdateService/SimpleUpdateActionInfo"
#define UPDATE "bmc /redfish/v1/UpdateService"
#define CX6DX  "NicConfigurationTemplate connectx6dx-config"
#define DEVICE "NicDevice co-node-25-101b-0000-04-00"
#define TABLE  "firmware-table device "

static const struct expected_file files[] = {
    {"redfish/redfish_fw_bios_dmtf.json",
     "redfish",
     {{BIOS, "Version", "P79 v1.45", 0},
      {BIOS, "LowestSupportedVersion", "P79 v1.10", 0},
      {BIOS, "version_supported", "true", 0},
      {BIOS, "Status.Health", "OK", 0}},
     {{NULL, NULL, 0}}},
    {"redfish/redfish_fw_bmc_dmtf.json",
     "redfish",
     {{BMC, "Version", "1.45.455b66-rev4", 0},
      {BMC, "LowestSupportedVersion", "1.30.367a12-rev1", 0},
      {BMC, "version_supported", "true", 0},
      {BMC, "AdditionalVersions.Bootloader", "v2022.01", 0},
      {BMC, "Updateable", "true", 0}},
     {{NULL, NULL, 0}}},
    {"redfish/redfish_fwinventory_collection_dmtf.json",
     "redfish",
     {{FOLDER, "members", "3", 0}, {FOLDER, "members_count", "2", 0}},
     {{"bmc-collection-count", FOLDER, 1}}},
    {"redfish/redfish_simpleupdate_actioninfo_dmtf.json",
     "redfish",
     {{ACTION, "Parameters.ImageURI.Required", "true", 0},
      {ACTION, "Parameters.TransferProtocol.Required", "false", 0},
      {ACTION, "Parameters.TransferProtocol.AllowableValues", "FTP,SFTP,HTTP,HTTPS,SCP,TFTP", 0},
      {ACTION, "Parameters.Password.DataType", "String", 0}},
     {{NULL, NULL, 0}}},
    {"redfish/redfish_updateservice_dmtf.json",
     "redfish",
     {{UPDATE, "Actions.#UpdateService.SimpleUpdate.target",
       "/redfish/v1/UpdateService/Actions/SimpleUpdate", 0},
      {UPDATE, "HttpPushUri", "/FWUpdate", 0},
      {UPDATE, "ServiceEnabled", "true", 0},
      {UPDATE, "Oem", NULL, 0}},
     {{NULL, NULL, 0}}},
    {"ufm/ufm_enhanced_qos_policy.conf",
     "ufm",
     {{"bandwidth My_bandwidth", "rate", "50", 0},
      {"member 0x2c90000000025 sl 5", "rate", "50", 0},
      {"member 0x2c90000000025 sl 7", "rate", "50", 0},
      {"member Port_grp1 sl 3", "rate", "50", 0},
      {"member Port_grp1 sl 9", "rate", "50", 0},
      {"member Port_grp1 sl 5", "rate", NULL, 0}},
     {{NULL, NULL, 0}}},
    {"ufm/ufm_ndt_report.json",
     "ufm",
     {{"report", "miss_wired", "2", 0},
      {"report", "missing_in_ufm", "2", 0},
      {"report", "missing_in_ndt", "6", 0}},
     {{"ufm-wiring", "link SAT111090201019/SAT111090201019 ibp213s0f0 - sat11-0101-0902-01ib0/16",
       1},
      {"ufm-wiring", "link SAT111090201019/SAT111090201019 ibp203s0f1 - SAT11-0101-0902-01IB0/15",
       1},
      {"ufm-link-missing", "report missing_in_ufm", 2},
      {"ufm-link-missing", "report missing_in_ndt", 6}}},
    {"ufm/ufm_telemetry_small.json",
     "ufm",
     {{"port 0x0c42a10300f23018/1", "timestamp", "1709652347161873", 0},
      {"port 0x0c42a10300f23018/1", "Infiniband_LinkDowned", "0", 0},
      {"port 0x248a070300679128/1", "Infiniband_LinkDowned", "1", 0},
      {"port 0x248a070300679128/1", "Infiniband_Normalized_MBOut", "0.00000153523", 0},
      {"port 0x248a070300679128/36", "Infiniband_Normalized_MBOut", "0.000000548295", 0},
      {"port 0x248a070300679128/23", "Infiniband_RcvSwRelayErrors", "18", 0}},
     {{"ufm-link-down", "port 0x248a070300679128/1", 1},
      {"ufm-link-down", "port 0x248a070300679128/23", 1}}},
    {"k8s/nic_config_template_cx6dx_curly_quotes.yaml",
     "k8s",
     {{CX6DX, "spec.template.roceOptimized.qos.trust", "dscp", 0},
      {CX6DX, "spec.template.roceOptimized.qos.pfc", "0,0,0,1,0,0,0,0", 0},
      {CX6DX, "pfc_priorities", "3", 0},
      {CX6DX, "spec.nicSelector.nicType", "101b", 0},
      {CX6DX, "spec.nicSelector.pciAddresses.0", "0000:03:00.0", 0},
      {CX6DX, "spec.nicSelector.pciAddresses.1", "“0000:04:00.0”", 0}},
     {{"manifest-value", CX6DX, 1}}},
    {"k8s/nic_device_status_cx6.yaml",
     "k8s",
     {{DEVICE, "status.firmwareVersion", "20.42.1000", 0},
      {DEVICE, "status.psid", "mt_0000000225", 0},
      {DEVICE, "status.type", "101b", 0},
      {DEVICE, "status.ports.0.rdmaInterface", "mlx5_0", 0},
      {DEVICE, "status.ports.1.rdmaInterface", "mlx5_1", 0},
      {DEVICE, "status.ports.1.pci", "0000:04:00.1", 0}},
     {{NULL, NULL, 0}}},
    {"k8s/spectrumx_template_bf3.yaml",
     "k8s",
     {{"NicConfigurationTemplate spectrum-x-configuration", "spec.nicSelector.nicType", "a2dc", 0},
      {"NicConfigurationTemplate spectrum-x-configuration",
       "spec.template.spectrumXOptimized.version", "RA2.0", 0},
      {"NicConfigurationTemplate spectrum-x-configuration",
       "spec.template.spectrumXOptimized.overlay", "none", 0}},
     {{NULL, NULL, 0}}},
    {"k8s/sriov_policy_pfnames_range.yaml",
     "k8s",
     {{"SriovNetworkNodePolicy sriov-nic-1", "spec.numVfs", "10", 0},
      {"SriovNetworkNodePolicy sriov-nic-1 netdev ens3f0", "vf_first", "5", 0},
      {"SriovNetworkNodePolicy sriov-nic-1 netdev ens3f0", "vf_last", "9", 0},
      {"SriovNetworkNodePolicy sriov-nic-1 netdev ens3f0", "vf_count", "5", 0}},
     {{NULL, NULL, 0}}},
    {"k8s/sriov_policy_unknown_key_pfname.yaml",
     "k8s",
     {{"SriovNetworkNodePolicy policy-1", "spec.resourceName", "intelnics", 0}},
     {{"manifest-unknown-key", "SriovNetworkNodePolicy policy-1", 1}}},
    {"k8s/supported_nic_firmware_table.yaml",
     "k8s",
     {{TABLE "1017 doca 25.01-0.6.0", "firmware", "16.35.4030", 0},
      {TABLE "1017 doca 25.07-0.9.7", "firmware", "16.35.4554", 0},
      {TABLE "1017 doca 25.10-1.2.2", "firmware", "16.35.8002", 0},
      {TABLE "1013 doca 25.04-0.6.1", "firmware", "14.32.1900", 0},
      {TABLE "1013 doca 25.07-0.9.7", "firmware", "14.32.1010", 0},
      {TABLE "1013 doca 25.10-1.2.2", "firmware", "14.32.1908", 0},
      {TABLE "101b doca 25.01-0.6.0", "firmware", "20.43.2026", 0}},
     {{NULL, NULL, 0}}},
};

static void each_file_says_what_it_says(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
        check_file(&files[i]);
}

#define POLICY                                                                                     \
    "apiVersion: sriovnetwork.openshift.io/v1\nkind: SriovNetworkNodePolicy\nmetadata:\n  name: "  \
    "p\n"
#define TEMPLATE                                                                                   \
    "apiVersion: configuration.net.nvidia.com/v1alpha1\nkind: NicConfigurationTemplate\n"          \
    "metadata:\n  name: p\n"

/* Documents with one fault each. */
static const struct {
    const char *text, *rule, *subject;
} faults[] = {
    {"{\"@odata.id\": \"/x\", \"Status\": {\"State\": \"Enabled\", \"Health\": \"Warning\"}}",
     "bmc-health", "bmc /x Status"},
    {"{\"@odata.id\": \"/x\", \"Fans\": [{\"Name\": \"F1\", \"Status\": {\"Health\": "
     "\"Critical\"}}]}",
     "bmc-health", "bmc /x Fans.F1.Status"},
    {"{\"@odata.id\": \"/x\", \"TaskState\": \"Exception\"}", "bmc-task-failed", "bmc /x"},
    {"{\"@odata.id\": \"/x\", \"Version\": \"1.9.1\", \"LowestSupportedVersion\": \"1.10.0\"}",
     "bmc-version-unsupported", "bmc /x"},
    {"{\"@odata.id\": \"/x\", \"Status\": {", "document-broken", "document"},
    {"{\"@odata.id\": \"/x\", \"a\": 1, \"a\": 2}", "document-broken", "document"},
    {"{\"port_guid\": \"0x1\", \"port_num\": 1, \"Infiniband_SymbolErrors_u_Errors\": 4}",
     "ufm-link-errors", "port 0x1/1"},
    {"BW_NAMES\na = 5\nBW_RULES\n0x1 = 3:b\n", "ufm-qos-rule", "member 0x1 sl 3"},
    {"BW_NAMES\na = 5\nBW_RULES\n0x1 = 16:a\n", "ufm-qos-rule", "member 0x1"},
    {POLICY "spec:\n  numVfs: 4\n  nicSelector:\n    pfNames: [\"ens1#2-4\"]\n", "manifest-value",
     "SriovNetworkNodePolicy p"},
    {POLICY "spec:\n  numVfs: 4\n  nicSelector:\n    rootDevices: [\"03:00\"]\n  mtuu: 9000\n",
     "manifest-unknown-key", "SriovNetworkNodePolicy p"},
    {TEMPLATE "spec:\n  template:\n    roceOptimized:\n      qos:\n        pfc: \"0,0,0,2\"\n",
     "manifest-value", "NicConfigurationTemplate p"},
    {TEMPLATE "status:\n  conditions:\n  - type: Ready\n    status: \"False\"\n    reason: Late\n",
     "manifest-condition", "NicConfigurationTemplate p"},
    {TEMPLATE "spec: [\n", "document-broken", "document"},
};

static void each_fault_is_its_finding(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
        OWN(evidence) struct evidence *e = evidence_of_text(faults[i].text);
        if (evidence_finding(e, faults[i].rule, faults[i].subject) == NULL)
            fail_msg("%zu: '%s' is %s and gives %s on '%s', wanted %s on '%s'", i, faults[i].text,
                     e->kind, e->findings.count > 0 ? e->findings.items[0].rule : "nothing",
                     e->findings.count > 0 ? e->findings.items[0].subject : "", faults[i].rule,
                     faults[i].subject);
        assert_int_equal(e->findings.count, 1);
    }
}

static void a_case_of_letters_is_no_other_cable(void **unused)
{
    (void)unused;
    OWN(evidence)
    struct evidence *e = evidence_of_text(
        "{\"miss_wired\": [{\"expected\": \"A1 - sw1/3\", \"actual\": \"a1 - SW1/3\"}]}");
    assert_string_equal(e->kind, "ufm");
    assert_int_equal(e->findings.count, 0);
}

static void lists_in_json_and_several_documents_are_objects(void **unused)
{
    (void)unused;
    OWN(evidence)
    struct evidence *json = evidence_of_text(
        "{\n  \"apiVersion\": \"v1\",\n  \"items\": [\n    {\n      \"apiVersion\": "
        "\"sriovnetwork.openshift.io/v1\",\n      \"kind\": \"SriovNetworkNodePolicy\",\n      "
        "\"metadata\": {\"name\": \"a\"},\n      \"spec\": {\"numVfs\": 4}\n    }\n  ],\n  "
        "\"kind\": \"List\"\n}\n");
    check_fact("list", json,
               &(struct expected_fact){"SriovNetworkNodePolicy a", "spec.numVfs", "4", 0});
    assert_string_equal(json->kind, "k8s");
    OWN(evidence)
    struct evidence *two = evidence_of_text(POLICY "spec:\n  numVfs: 4\n---\n" TEMPLATE
                                                   "spec:\n  resetToDefault: true\n");
    assert_string_equal(two->kind, "k8s");
    check_fact("two", two,
               &(struct expected_fact){"SriovNetworkNodePolicy p", "spec.numVfs", "4", 0});
    check_fact(
        "two", two,
        &(struct expected_fact){"NicConfigurationTemplate p", "spec.resetToDefault", "true", 0});
    assert_int_equal(two->facts[two->fact_count - 1].line, 13);
}

static void a_device_plugin_has_resources_and_no_kind(void **unused)
{
    (void)unused;
    OWN(evidence)
    struct evidence *e = evidence_of_text(
        "{\n  \"resourceList\": [{\n    \"resourceName\": \"hca\",\n    \"selectors\": "
        "{\"vendors\": [\"15b3\"], \"isRdma\": true}\n  }]\n}\n");
    assert_string_equal(e->kind, "k8s");
    check_fact("plugin", e,
               &(struct expected_fact){"device-plugin", "resourceList.0.resourceName", "hca", 0});
    check_fact(
        "plugin", e,
        &(struct expected_fact){"device-plugin", "resourceList.0.selectors.vendors.0", "15b3", 0});
}

/* libyaml puts the value of a key that has none behind the last line. */
static void what_stands_behind_the_end_has_the_last_line(void **unused)
{
    (void)unused;
    OWN(evidence)
    struct evidence *e = evidence_of_text(TEMPLATE "spec:\n  numVfs: 10\n  ? a\n");
    assert_string_equal(e->kind, "k8s");
    for (size_t i = 0; i < e->fact_count; i++)
        assert_true(e->facts[i].line <= e->line_count);
    OWN(evidence) struct evidence *broken = evidence_of_text(TEMPLATE "spec: [\n");
    assert_true(broken->proofs[0].first_line <= broken->line_count);
}

/* An alias of an alias of ... is one node: a document does not grow by being read. */
static void aliases_do_not_multiply(void **unused)
{
    (void)unused;
    char text[4096] = TEMPLATE "a0: &a0 [x, x, x, x, x, x, x, x, x]\n";
    for (int i = 1; i < 12; i++) {
        size_t len = strlen(text);
        snprintf(text + len, sizeof(text) - len, "a%d: &a%d [*a%d, *a%d, *a%d, *a%d, *a%d]\n", i, i,
                 i - 1, i - 1, i - 1, i - 1, i - 1);
    }
    OWN(evidence) struct evidence *e = evidence_of_text(text);
    assert_string_equal(e->kind, "k8s");
    assert_true(e->fact_count < 200);
    assert_false(e->truncated);
}

static void expect_anchors(int count, bool is_broken)
{
    char text[8192] = TEMPLATE "a:\n";
    for (int i = 0; i < count; i++) {
        size_t len = strlen(text);
        snprintf(text + len, sizeof(text) - len, "- &a%d x\n", i);
    }
    OWN(evidence) struct evidence *e = evidence_of_text(text);
    assert_int_equal(evidence_finding(e, "document-broken", NULL) != NULL, is_broken);
}

/* `depth` collections in all: the document's own is one. */
static void expect_depth(int depth, bool is_broken)
{
    char text[4096] = TEMPLATE "a: ";
    for (int i = 1; i < depth; i++)
        strcat(text, "[");
    for (int i = 1; i < depth; i++)
        strcat(text, "]");
    strcat(text, "\n");
    OWN(evidence) struct evidence *e = evidence_of_text(text);
    assert_int_equal(evidence_finding(e, "document-broken", NULL) != NULL, is_broken);
}

/* The parser's work grows with their square. */
static void anchors_and_depth_have_a_limit(void **unused)
{
    (void)unused;
    expect_anchors(YAML_ANCHORS_MAX, false);
    expect_anchors(YAML_ANCHORS_MAX + 1, true);
    expect_depth(YAML_DEPTH_MAX + 1, false);
    expect_depth(YAML_DEPTH_MAX + 2, true);
}

/* The columns of a table have a limit, which a line without a mark met one later. */
static void lines_of_any_number_of_words_are_read(void **unused)
{
    (void)unused;
    char text[256] = "ROCE_A";
    while (strlen(text) < sizeof(text) - 3) {
        strcat(text, " 1");
        evidence_free(evidence_of_text(text));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_file_says_what_it_says),
        cmocka_unit_test(each_fault_is_its_finding),
        cmocka_unit_test(a_case_of_letters_is_no_other_cable),
        cmocka_unit_test(lists_in_json_and_several_documents_are_objects),
        cmocka_unit_test(a_device_plugin_has_resources_and_no_kind),
        cmocka_unit_test(what_stands_behind_the_end_has_the_last_line),
        cmocka_unit_test(aliases_do_not_multiply),
        cmocka_unit_test(anchors_and_depth_have_a_limit),
        cmocka_unit_test(lines_of_any_number_of_words_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
