/*
 * tests/unit/fleet/test_evidence_fabric.c - subnets, UFM and links: what their tools print, in the
 * formats of infiniband-diags, opensm, ibdiagnet, UFM and mlxlink.
 */
#include "evidence_test.h"

#define FAILED "Failed to open '(null)' port '0'"

static const struct expected_file texts[] = {
    {
        "Switch: 0x0002c90300b4a1e0 leaf:\n"
        "  1    1[  ] ==( 4X  14.0625 Gbps Active/  LinkUp)==>   4    1[  ] \"n4 HCA-1\" ( )\n"
        "  1    3[  ] ==( 1X      2.5 Gbps Active/  LinkUp)==>   6    1[  ] \"n6 HCA-1\" "
        "( Could be 4X Could be 14.0625 Gbps)\n"
        "CA: n1 HCA-1:\n"
        "  0x0002c903000e0b73  2  1[  ] ==( 4X  14.0625 Gbps Active/  LinkUp)==>  1  12[  ] "
        "\"leaf\" ( )\n",
        "opensm",
        {{"lid 1 port 1", "peer", "n4 HCA-1", 0},
         {"lid 1 port 1", "peer_lid", "4", 0},
         {"lid 1 port 3", "width", "1X", 0},
         {"lid 2 port 1", "peer_port", "12", 0}},
        {{"ib-link-slow", "lid 1 port 3", 1}},
    },
    {
        "0x0002c90300b4a1e0 \"   leaf 7\"      1    2[  ] ==(    Down/ Polling)==>    [  ] \"\" ( "
        ")\n",
        "opensm",
        {{"lid 1 port 2", "state", "Down", 0}, {"lid 1 port 2", "peer_lid", NULL, 0}},
        {{"port-polling", "lid 1 port 2", 1}},
    },
    {
        "SW   479 22 0x0002c9020040f161 4x QDR                        Infiniscale-IV Mellanox\n"
        "CA    78  1 0x946dae0300630bfe 1x HDR - SW    51 81 0x946dae0300630bf6 ( 'n1' - 'leaf ' "
        ")\n",
        "opensm",
        {{"switch-port 0x0002c9020040f161/22", "node", "Infiniscale-IV Mellanox", 0},
         {"switch-port 0x0002c9020040f161/22", "peer_guid", "?", 0},
         {"port 0x946dae0300630bfe/1", "peer_port", "81", 0}},
        {{"port-down", "switch-port 0x0002c9020040f161/22", 1},
         {"ib-link-slow", "port 0x946dae0300630bfe/1", 1}},
    },
    {
        "# Port info: Lid 5 port 1\n"
        "Mkey:............................0x0000000000000000\n"
        "LinkWidthSupported:..............1X or 4X\n"
        "LinkWidthActive:.................1X\n"
        "LinkState:.......................Active\n"
        "PhysLinkState:...................LinkUp\n"
        "NeighborMTU:.....................2048\n"
        "PkeyViolations:..................3\n"
        "# Port info: Lid 5 port 2\n"
        "LinkState:.......................Down\n"
        "PhysLinkState:...................Disabled\n"
        "# Port info: Lid 6 port 1\n"
        "LinkState:.......................Active\n"
        "LinkSpeedSupported:..............2.5 Gbps or 5.0 Gbps or 10.0 Gbps\n"
        "LinkSpeedActive:.................2.5 Gbps\n",
        "opensm",
        {{"lid 5 port 1", "Mkey", "0x0000000000000000", 0},
         {"lid 5 port 1", "PkeyViolations", "3", 0},
         {"lid 5 port 2", "PhysLinkState", "Disabled", 0}},
        {{"ib-link-slow", "lid 5 port 1", 1},
         {"port-disabled", "lid 5 port 2", 1},
         {"ib-link-slow", "lid 6 port 1", 1}},
    },
    {
        "NodeRecord dump:\n"
        "\t\tlid.....................0x4\n"
        "\t\tnode_guid...............0x0002c903000e0b73\n"
        "\t\tNodeDescription.........n4 HCA-1\n",
        "opensm",
        {{"record", "lid", "4", 0},
         {"record", "node_guid", "0x0002c903000e0b73", 0},
         {"record", "NodeDescription", "n4 HCA-1", 0}},
        {{NULL, NULL, 0}},
    },
    {
        "ibwarn: [3224] mad_rpc_open_port: can't open UMAD port ((null):0)\n"
        "perfquery: iberror: failed: " FAILED "\n",
        "opensm",
        {{"host", "failure", "perfquery: iberror: failed: " FAILED, 1}},
        {{"tool-failed", "host", 2}},
    },
    {
        "Jan 12 09:54:10 303246 [48C3C700] 0x03 -> OpenSM 5.4.0.MLNX20190422.ed81811\n"
        "Jan 12 09:54:11 500012 [4537A700] 0x80 -> Entering MASTER state\n"
        "Jan 12 09:54:12 100012 [4537A700] 0x02 -> SUBNET UP\n"
        "Jan 12 10:11:44 918273 [45B7B700] 0x01 -> log_trap_info: Received Generic Notice type:1 "
        "num:128 (Link state change) Producer:2 (Switch) from LID:5 TID:0x0000001400000028\n"
        "Jan 12 10:11:44 918300 [45B7B700] 0x02 -> log_notice: Reporting Generic Notice type:1 "
        "num:128 (Link state change) from LID:5 GID:fe80::20:0\n"
        "Jan 12 10:11:44 918400 [45B7B700] 0x02 -> do_sweep:\n"
        "\n"
        "*********************** HEAVY SWEEP START ************************\n"
        "\n"
        "Jan 12 10:11:45 118273 [45B7B700] 0x01 -> log_rcv_cb_error: ERR 3111: Received MAD with "
        "error status = 0x1C\n"
        "\t\t\tSubnGetResp(PortInfo), attr_mod 0x30000001, TID 0x1d2c\n"
        "Jan 12 10:11:45 218273 [45B7B700] 0x01 -> log_trap_info: Received Generic Notice type:1 "
        "num:129 (Local Link integrity threshold reached) Producer:1 (Channel Adapter) from "
        "LID:9 Port 1 TID:0x0000000000000002\n"
        "Jan 12 10:11:46 318273 [44378700] 0x02 -> drop_mgr_remove_port: Removed port with "
        "GUID:0x0002c9030002fb05 LID range [3, 3] of node:n3 HCA-1\n"
        "Jan 12 10:11:49 828273 [44378700] 0x80 -> Errors during initialization\n",
        "opensm",
        {{"sm", "version", "5.4.0.MLNX20190422.ed81811", 0},
         {"sm", "state_name", "MASTER", 0},
         {"sm", "subnet", "up", 0},
         {"lid 5", "trap", "128", 0}},
        {{"subnet-check-warning", "lid 5", 1},
         {"subnet-manager-error", "sm error 3111", 1},
         {"subnet-check-warning", "lid 9 port 1", 1},
         {"subnet-check-warning", "port 0x0002c9030002fb05", 1},
         {"subnet-manager-error", "sm", 1}},
    },
    {
        "Fabric Summary\n"
        "Total Nodes             : 15\n"
        "-I- Discovering ... 42 nodes (4 Switches & 38 CA-s) discovered.\n"
        "---------------------------------------------\n"
        "Port Counters\n"
        "-I- Ports counters retrieving finished successfully\n"
        "-E- Ports counters Difference Check finished with errors\n"
        "-W- lid=0x0007 dev=51000 IB port 12 \"symbol_error_counter\" increased during the run\n"
        "---------------------------------------------\n"
        "Summary\n"
        "-I- Stage                     Warnings   Errors     Comment   \n"
        "-I- Discovery                 0          0         \n"
        "-I- Port Counters             1          1         \n",
        "opensm",
        {{"fabric", "total_nodes", "15", 0},
         {"stage Discovery", "errors", "0", 0},
         {"stage Port Counters", "warnings", "1", 0}},
        {{"subnet-check-failed", "stage Port Counters", 2},
         {"subnet-check-warning", "stage Port Counters", 1}},
    },
    {
        "[{\"guid\": \"1c34da0300728606\", \"number\": 1, \"logical_state\": \"Active\",\n"
        "  \"active_width\": \"1x\", \"enabled_width\": [\"1x\", \"4x\"], \"severity\": \"Info\",\n"
        "  \"high_ber_severity\": \"N/A\", \"physical_state\": \"Link Up\"},\n"
        " {\"guid\": \"0c42a10300280000\", \"number\": 2, \"logical_state\": \"Down\",\n"
        "  \"active_width\": \"4x\", \"severity\": \"Critical\",\n"
        "  \"high_ber_severity\": \"error\", \"physical_state\": \"Polling\"}]\n",
        "ufm",
        {{"port 1c34da0300728606/1", "high_ber_severity", "?", 0},
         {"port 0c42a10300280000/2", "physical_state", "Polling", 0}},
        {{"ib-link-slow", "port 1c34da0300728606/1", 1},
         {"port-polling", "port 0c42a10300280000/2", 1},
         {"ufm-link-errors", "port 0c42a10300280000/2", 1},
         {"ufm-alarm", "port 0c42a10300280000/2", 1}},
    },
    {
        "[{\"id\": 7718, \"name\": \"Link is Down\", \"severity\": \"Warning\",\n"
        "  \"object_name\": \"0c42a103001b8256_1\", \"object_path\": \"default / 1\",\n"
        "  \"description\": \"Link went down: (Switch:leaf)1 - (Computer:n1)1\"},\n"
        " {\"id\": 12, \"name\": \"Symbol Error\", \"severity\": \"Critical\",\n"
        "  \"object_name\": \"leaf_2\", \"object_path\": \"default / 2\",\n"
        "  \"description\": \"Total Number of errors for SymbolErrors is 250\"},\n"
        " {\"id\": 13, \"severity\": \"Info\", \"object_name\": \"leaf_3\"}]\n",
        "ufm",
        {{"fabric 0c42a103001b8256_1", "name", "Link is Down", 0}},
        {{"ufm-link-down", "fabric 0c42a103001b8256_1", 1}, {"ufm-alarm", "fabric leaf_2", 1}},
    },
    {
        "{\"0x7fff\": {\"guids\": [{\"guid\": \"0c42a10300280000\", \"membership\": \"full\"}],\n"
        "  \"ip_over_ib\": true}}\n",
        "ufm",
        {{"pkey 0x7fff", "ip_over_ib", "true", 0},
         {"pkey 0x7fff", "members", "1", 0},
         {"pkey 0x7fff guid 0c42a10300280000", "membership", "full", 0}},
        {{NULL, NULL, 0}},
    },
    {
        "2023-05-01 10:11:12.123 [7718] [329] WARNING [Fabric_Topology] LINK [a_1 : b_1] "
        "[Computer: n1 1] [dev_id: a]: Link went down: (Switch:leaf)1 - (Computer:n1)1\n"
        "2023-05-01 10:11:13.123 [7719] [110] CRITICAL [Hardware] IBPORT [leaf / 1] "
        "[dev_id: b]: SymbolErrors counter threshold exceeded.\n"
        "2023-05-01 10:11:14.123 [7720] [328] INFO [Fabric_Topology] LINK [a_1 : b_1] "
        "[Computer: n1 1] [dev_id: a]: Link is up\n",
        "ufm",
        {{"fabric a_1 : b_1", "event", "329", 0},
         {"fabric leaf / 1", "description", "SymbolErrors counter threshold exceeded.", 0}},
        {{"ufm-link-down", "fabric a_1 : b_1", 1}, {"ufm-alarm", "fabric leaf / 1", 1}},
    },
    {
        "$ mlxlink -d mlx5_0 -c\n"
        "Operational Info\n"
        "----------------\n"
        "State                              : Polling\n"
        "Physical state                     : ETH_AN_FSM_ENABLE\n"
        "Speed                              : N/A\n"
        "\n"
        "Troubleshooting Info\n"
        "--------------------\n"
        "Status Opcode                      : 2\n"
        "Group Opcode                       : PHY FW\n"
        "Recommendation                     : Negotiation failure\n"
        "\n"
        "Physical Counters and BER Info\n"
        "------------------------------\n"
        "Effective Physical Errors          : 22\n"
        "Raw Physical Errors Per Lane       : 1234567,2345678,0,0\n"
        "Link Down Counter                  : 3\n"
        "\n"
        "Module Info\n"
        "-----------\n"
        "Temperature [C]                    : 78 [-10..80]\n"
        "\n"
        "Tool Information\n"
        "----------------\n"
        "Firmware Version                   : 22.47.0498\n",
        "ethtool-link",
        {{"port mlx5_0", "speed", "?", 0},
         {"port mlx5_0", "raw_physical_errors_per_lane", "1234567,2345678,0,0", 0},
         {"port mlx5_0", "link_downed", "3", 0},
         {"port mlx5_0", "temperature_c", "78", 0},
         {"port mlx5_0", "firmware", "22.47.0498", 0}},
        {{"port-polling", "port mlx5_0", 1},
         {"link-trouble", "port mlx5_0", 1},
         {"symbol-errors", "port mlx5_0", 1}},
    },
    {
        "{\"result\": {\"output\": {\n"
        "  \"Operational Info\": {\"Physical state\": \"LinkUp\", \"State\": \"Active\"},\n"
        "  \"Supported Info\": {\"Enabled Link Speed\": {\"mask\": \"0x3f\", \"values\": "
        "[\"EDR\", \"FDR\"]}},\n"
        "  \"Troubleshooting Info\": {\"Recommendation\": \"Bad signal integrity\", "
        "\"Status Opcode\": \"15\"}}}}\n",
        "ethtool-link",
        {{"port", "state", "Active", 0},
         {"port", "enabled_link_speed", "EDR,FDR", 0},
         {"port", "status_opcode", "15", 0}},
        {{"link-trouble", "port", 1}},
    },
};

static void each_text_says_what_it_says(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        check_text(&texts[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_text_says_what_it_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
