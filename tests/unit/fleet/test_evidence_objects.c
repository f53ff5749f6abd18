/*
 * tests/unit/fleet/test_evidence_objects.c - objects of operators in Kubernetes and resources of
 * BMCs whose state tells of trouble.
 */
#include "evidence_test.h"

#define NIC   "apiVersion: configuration.net.nvidia.com/v1alpha1\nkind: "
#define SRIOV "apiVersion: sriovnetwork.openshift.io/v1\nkind: "

static const struct expected_file texts[] = {
    {
        NIC "NicConfigurationTemplate\n"
            "metadata: {name: bay}\n"
            "spec:\n"
            "  nicSelector:\n"
            "    nicType: \"1025\"\n"
            "    partNumbers: [\"MCX713106AEHEA_QP1\"]\n"
            "  template:\n"
            "    numVfs: 0\n"
            "    networkBay: {conf: conf6}\n"
            "    linkType: ethernet\n",
        "k8s",
        {{"NicConfigurationTemplate bay", "spec.template.networkBay.conf", "conf6", 0}},
        {{"manifest-value", "NicConfigurationTemplate bay", 1}}, /* Ethernet */
    },
    {
        NIC "NicInterfaceNameTemplate\n"
            "metadata: {name: east-west}\n"
            "spec:\n"
            "  pfsPerNic: 1\n"
            "  railPciAddresses:\n"
            "    - [\"0000:0d:00.0\"]\n"
            "    - [\"0000:zz:00.0\"]\n"
            "  railPciAddress: []\n",
        "k8s",
        {{"NicInterfaceNameTemplate east-west", "spec.pfsPerNic", "1", 0}},
        {{"manifest-value", "NicInterfaceNameTemplate east-west", 1},
         {"manifest-unknown-key", "NicInterfaceNameTemplate east-west", 1}},
    },
    {
        NIC "NicFirmwareTemplate\n"
            "metadata: {name: fw}\n"
            "spec:\n"
            "  nicSelector: {nicType: \"101d\"}\n"
            "  template: {nicFirmwareSourceRef: fw-22-44, updatePolicy: Upgrade}\n",
        "k8s",
        {{NULL, NULL, NULL, 0}},
        {{"manifest-value", "NicFirmwareTemplate fw", 1}},
    },
    {
        NIC "NicDevice\n"
            "metadata: {name: n1}\n"
            "status:\n"
            "  conditions:\n"
            "  - {type: ConfigUpdateInProgress, status: \"False\", reason: IncorrectSpec}\n"
            "  - {type: FirmwareConfigMatch, status: \"False\", "
            "reason: DeviceFirmwareConfigMismatch}\n"
            "  - {type: ConfigUpdateInProgress, status: \"False\", reason: UpdateSuccessful}\n",
        "k8s",
        {{NULL, NULL, NULL, 0}},
        {{"manifest-condition", "NicDevice n1", 2}},
    },
    {
        "apiVersion: mellanox.com/v1alpha1\n"
        "kind: NicClusterPolicy\n"
        "metadata: {name: policy}\n"
        "status: {state: notReady}\n",
        "k8s",
        {{"NicClusterPolicy policy", "status.state", "notReady", 0}},
        {{"manifest-condition", "NicClusterPolicy policy", 1}},
    },
    {
        SRIOV "SriovNetworkNodeState\n"
              "metadata: {name: n1}\n"
              "spec:\n"
              "  interfaces:\n"
              "  - {pciAddress: \"0000:18:00.0\", numVfs: 8, mtu: 9000}\n"
              "  - {pciAddress: \"0000:19:00.0\", numVfs: 8}\n"
              "status:\n"
              "  interfaces:\n"
              "  - {pciAddress: \"0000:18:00.0\", numVfs: 4, mtu: 9000}\n"
              "  syncStatus: Failed\n",
        "k8s",
        {{NULL, NULL, NULL, 0}},
        {{"manifest-condition", "SriovNetworkNodeState n1", 2}},
    },
    {
        "{\"@odata.id\": \"/redfish/v1/N/1\", \"Name\": \"NIC\",\n"
        " \"Status\": {\"State\": \"Enabled\", \"Health\": \"OK\", \"HealthRollup\": "
        "\"Critical\"},\n"
        " \"PCIeInterface\": {\"PCIeType\": \"Gen3\", \"MaxPCIeType\": \"Gen4\", \"LanesInUse\": "
        "8,\n"
        "  \"MaxLanes\": 16},\n"
        " \"PCIeErrors\": {\"CorrectableErrorCount\": 12, \"FatalErrorCount\": 1}}\n",
        "redfish",
        {{"bmc /redfish/v1/N/1", "PCIeInterface.LanesInUse", "8", 0}},
        {{"bmc-health", "bmc /redfish/v1/N/1 Status", 1},
         {"pcie-link-degraded", "bmc /redfish/v1/N/1", 1},
         {"pcie-corrected", "bmc /redfish/v1/N/1", 1},
         {"pcie-uncorrected", "bmc /redfish/v1/N/1", 1}},
    },
    {
        "{\"@odata.id\": \"/redfish/v1/P/1\", \"LinkStatus\": \"LinkDown\"}\n"
        "{\"@odata.id\": \"/redfish/v1/P/1/Metrics\",\n"
        " \"Networking\": {\"RXFCSErrors\": 5, \"RXDiscards\": 0, \"RXPFCFrames\": 12}}\n"
        "{\"@odata.id\": \"/redfish/v1/S/1\", \"Reading\": 97, \"ReadingUnits\": \"C\",\n"
        " \"Thresholds\": {\"UpperCritical\": {\"Reading\": 95}}}\n"
        "{\"@odata.id\": \"/redfish/v1/S/2\", \"Reading\": 94,\n"
        " \"Thresholds\": {\"UpperCritical\": {\"Reading\": 95}}}\n"
        "{\"@odata.id\": \"/redfish/v1/E/1\", \"EntryType\": \"SEL\", \"Severity\": \"Critical\",\n"
        " \"Message\": \"Temperature threshold exceeded\"}\n"
        "{\"@odata.id\": \"/redfish/v1/E/2\", \"EntryType\": \"SEL\", \"Severity\": \"OK\",\n"
        " \"Message\": \"well\"}\n",
        "redfish",
        {{"bmc /redfish/v1/P/1/Metrics", "Networking.RXPFCFrames", "12", 0}},
        {{"port-down", "bmc /redfish/v1/P/1", 1},
         {"fcs-errors", "bmc /redfish/v1/P/1/Metrics", 1},
         {"bmc-health", "bmc /redfish/v1/S/1", 1},
         {"bmc-health", "bmc /redfish/v1/E/1", 1}},
    },
};

static void each_object_says_what_it_says(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        check_text(&texts[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_object_says_what_it_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
