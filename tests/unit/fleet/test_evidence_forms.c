/*
 * tests/unit/fleet/test_evidence_forms.c - outputs of the same tools as the files have, in the
 * forms that other devices, drivers, versions and ways of copying give them; written here.
 */
#include "evidence_test.h"

static const struct expected_file texts[] = {
    {
        /* devices that are no PCI functions, and a card of which one function waits for a reset */
        "# devlink dev info\n"
        "pci/0000:03:00.0:\n"
        "  driver mlx5_core\n"
        "  versions:\n"
        "      running:\n"
        "        fw.version 22.36.1010\n"
        "      stored:\n"
        "        fw.version 22.41.1000\n"
        "auxiliary/mlx5_core.sf.2:\n"
        "  driver mlx5_core.sf\n"
        "  versions:\n"
        "      running:\n"
        "        fw.version 22.41.1000\n"
        "netdevsim/netdevsim1:\n"
        "  driver netdevsim\n",
        "devlink-info",
        {
            {"pci 0000:03:00.0", "stored fw.version", "22.41.1000", 0},
            {"device auxiliary/mlx5_core.sf.2", "running fw.version", "22.41.1000", 0},
            {"device netdevsim/netdevsim1", "driver", "netdevsim", 0},
            {"pci", "driver", NULL, 0},
        },
        {{"firmware-staged", "pci 0000:03:00.0", 1}},
    },
    {
        /* a burn and the reset that loads it */
        "$ sudo flint -d 0000:03:00.0 -i fw.bin b\n"
        "    Current FW version on flash:  22.36.1010\n"
        "    New FW version:               22.41.1000\n"
        "FSMST_INITIALIZE -   OK\n"
        "-I- To load new FW run mlxfwreset or reboot machine.\n"
        "$ sudo mlxfwreset -d 0000:03:00.0 reset -y\n"
        "Requested reset level for device, 0000:03:00.0:\n"
        "\n"
        "3: Driver restart and PCI reset\n"
        "Continue with reset?[y/N] y\n"
        "-I- Sending Reset Command To Fw             -Done\n"
        "-I- FW was loaded successfully.\n",
        "devlink-flash",
        {
            {"firmware 0000:03:00.0", "result", "pending-reset", 0},
            {"firmware 0000:03:00.0", "result", "success", 1},
        },
        {{"firmware-staged", "firmware 0000:03:00.0", 1}},
    },
    {
        /* devlink dev flash: written, failed, refused */
        "# devlink dev flash pci/0000:af:00.0 file ice-fw.bin\n"
        "Preparing to flash\n"
        "[fw.mgmt] Erasing\n"
        "[fw.mgmt] Flashing 24%\n"
        "[fw.mgmt] Flashing done\n"
        "Suggest rebooting the system or reloading the device\n"
        "# devlink dev flash pci/0000:3b:00.0 file mlx5.mfa2\n"
        "Preparing to flash\n"
        "Downloading component\n"
        "Flashing failed\n"
        "Error: mlxfw: Firmware flash failed: FSM error.\n"
        "kernel answers: Input/output error\n"
        "# devlink dev flash pci/0000:18:00.0 file bnxt.pkg\n"
        "devlink answers: Operation not permitted\n",
        "devlink-flash",
        {
            {"firmware 0000:af:00.0", "result", "success", 0},
            {"firmware 0000:af:00.0", "result", "pending-reset", 1},
            {"firmware 0000:3b:00.0", "result", "failed", 0},
            {"firmware 0000:18:00.0", "result", "failed", 0},
        },
        {{"firmware-staged", "firmware 0000:af:00.0", 1},
         {"flash-failed", "firmware 0000:3b:00.0", 3},
         {"flash-failed", "firmware 0000:18:00.0", 1}},
    },
    {
        /* several cards: one is written and not loaded, one has no addresses, one does not answer
         */
        "Querying Mellanox devices firmware ...\n"
        "Device #1:\n"
        "----------\n"
        "  Device Type:      ConnectX7\n"
        "  Base MAC:         b8cef6aaaaaa\n"
        "  Versions:         Current        Available\n"
        "     FW             28.39.1002     28.38.1002\n"
        "     FW (Running)   28.36.1010     N/A\n"
        "  Status:           Up to date\n"
        "Device #2:\n"
        "----------\n"
        "  Device Type:      ConnectX4LX\n"
        "  Base MAC:         N/A\n"
        "  Versions:         Current        Available\n"
        "     FW             14.32.1010     N/A\n"
        "     PXE            N/A            N/A\n"
        "  Status:           No matching image found\n"
        "Device #3:\n"
        "----------\n"
        "  Device Type:      ConnectX7\n"
        "  Status:           Failed to open device\n",
        "devlink-flash",
        {
            {"firmware device 1", "base_mac", "b8cef6aaaaaa", 0},
            {"firmware device 1", "firmware", "28.39.1002", 0},
            {"firmware device 1", "firmware_running", "28.36.1010", 0},
            {"firmware device 2", "base_mac", "?", 0},
            {"firmware device 2", "PXE", "?", 0},
            {"firmware device 2", "FW_available", "?", 0},
        },
        {{"firmware-staged", "firmware device 1", 1}, {"tool-failed", "firmware device 3", 1}},
    },
    {
        /* what was not begun is no failed burn */
        "-E- Cannot open Device: /dev/mst/mt4119_pciconf0. No such file or directory.\n",
        "devlink-flash",
        {{"firmware", "result", NULL, 0}},
        {{"tool-failed", "firmware", 1}},
    },
    {
        /* IPoIB over a card, a representor, and versions with those of a card's parts */
        "$ ethtool -i ib0\n"
        "driver: mlx5_core[ib_ipoib]\n"
        "version: 23.10-0.5.5\n"
        "firmware-version: 28.39.1002 (MT_0000000838)\n"
        "$ ethtool -i pf0hpf\n"
        "driver: mlx5e_rep\n"
        "version: 5.15.0\n"
        "$ ethtool -i ens6\n"
        "driver: qede\n"
        "firmware-version: mfw 8.37.7.0 storm 8.37.9.0\n"
        "$ ethtool -i ens9\n"
        "driver: cxgb4\n"
        "firmware-version: 1.27.5.0, TP 0.1.4.9\n",
        "ethtool-i",
        {
            {"netdev ib0", "firmware", "28.39.1002", 0},
            {"netdev ens6", "firmware", "8.37.7.0", 0},
            {"netdev ens9", "firmware", "1.27.5.0", 0},
        },
        {{NULL, NULL, 0}},
    },
    {
        /* grep -n: the number is the line's, not a queue's */
        "12:     rx_crc_errors_phy: 12\n"
        "13:     rx_in_range_len_errors_phy: 0\n",
        "ethtool-S",
        {
            {"netdev", "rx_fcs_errors", "12", 0},
            {"netdev queue 12", "rx_fcs_errors", NULL, 0},
        },
        {{"fcs-errors", "netdev", 1}},
    },
    {
        /* discards that only the queues count, pause without end, a link that flaps */
        "NIC statistics:\n"
        "     [0]: rx_ucast_packets: 123456\n"
        "     [0]: rx_discards: 1\n"
        "     [1]: rx_ucast_packets: 3\n"
        "     [1]: rx_discards: 99\n"
        "     continuous_roce_pause_events: 2\n"
        "     continuous_pause_events: 0\n"
        "     link_down_events: 14\n",
        "ethtool-S",
        {
            {"netdev queue 1", "rx_discards_port", "99", 0},
            {"netdev", "continuous_roce_pause_events", "2", 0},
        },
        {{"receive-discards", "netdev", 1},
         {"pause-storm", "netdev", 1},
         {"link-flapping", "netdev", 1}},
    },
    {
        /* the sum of the queues beside them: one count */
        "NIC statistics:\n"
        "     [0]: rx_discards: 7\n"
        "     rx_total_ring_discards: 7\n"
        "     link_down_events: 9\n",
        "ethtool-S",
        {{"netdev", "rx_discards_host", "7", 0}},
        {{"receive-discards", "netdev", 1}},
    },
    {
        /* what -v prints between the limits and the ports */
        "hca_id:\tmlx5_0\n"
        "\tfw_ver:\t\t\t\t28.39.1002\n"
        "\tvendor_id:\t\t\t0x02c9\n"
        "\tgeneral_odp_caps:\n"
        "\t\t\t\t\tODP_SUPPORT\n"
        "\txrc_odp_caps:\n"
        "\t\t\t\t\tNO SUPPORT\n"
        "\traw packet caps:\n"
        "\t\t\t\t\tC-VLAN stripping offload\n"
        "\t\t\t\t\tDelay drop\n"
        "\ttag matching not supported\n"
        "\n"
        "\tnum_comp_vectors:\t\t63\n"
        "\t\tport:\t1\n"
        "\t\t\tstate:\t\t\tPORT_DOWN (1)\n"
        "\t\t\tmax_mtu:\t\t4096 (5)\n"
        "\t\t\tlink_layer:\t\tInfiniBand\n"
        "hca_id:\tsiw0\n"
        "\tfw_ver:\t\t\t\t0.0.0\n"
        "\tvendor_id:\t\t\t0x626d74\n",
        "ibv_devinfo",
        {
            {"rdma mlx5_0", "num_comp_vectors", "63", 0},
            {"port mlx5_0/1", "max_mtu", "4096", 0},
            {"rdma siw0", "class", "software", 0},
        },
        {{"port-down", "port mlx5_0/1", 1}},
    },
    {
        /* devices that are asked for and are not there */
        "$ ibv_devinfo -d mlx5_7\n"
        "IB device 'mlx5_7' wasn't found\n"
        "$ ibstat mlx5_9\n"
        "ibpanic: [4242] main: 'mlx5_9' IB device can't be found\n"
        "$ ibstat\n"
        "ibpanic: [1] main: can't init UMAD library\n"
        "$ ibstatus mlx5_4\n"
        "Fatal error:  device 'mlx5_4': sys files not found (/sys/class/infiniband/mlx5_4/ports)\n",
        "bundle",
        {{"rdma can't", "state", NULL, 0}},
        {{"device-vanished", "rdma mlx5_9", 1}, {"tool-failed", "host", 3}},
    },
    {
        /* two vectors on two CPUs are even; two on one are not */
        "            CPU0       CPU1       CPU2       CPU3\n"
        " 105:     400000          0          0          0  PCI-MSI 3-edge      i40e-eno1-TxRx-0\n"
        " 106:          0     400000          0          0  PCI-MSI 4-edge      i40e-eno1-TxRx-1\n"
        " 107:     100000          0          0          0  PCI-MSI 5-edge      ens1f0np0-TxRx-0\n"
        " 108:     100000          0          0          0  PCI-MSI 6-edge      ens1f0np0-TxRx-1\n"
        " 109:      90000          0          0          0  PCI-MSI 7-edge      "
        "mlx5_comp0@pci:0000:3b:00.0\n"
        " 110: 18446744073709551615 0      0          0  PCI-MSI 8-edge      ens2-TxRx-0\n",
        "interrupts",
        {{"irq 106 cpu 1", "interrupts", "400000", 0}},
        {{"irq-one-cpu", "netdev ens1f0np0", 1}, {"irq-one-cpu", "pci 0000:3b:00.0", 1}},
    },
    {
        /* the head's underline, copied without its escape character */
        "\t[4mGPU0\tGPU1\tNIC0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID[0m\n"
        "GPU0\t X \tNV18\tPIX\t0-47,96-143\t0\t\tN/A\n"
        "GPU1\tNV18\t X \tSYS\t48-95\t1\t\tN/A\n"
        "NIC0\tPIX\tSYS\t X\n"
        "\n"
        "Legend:\n"
        "\n"
        "  X    = Self\n"
        "\n"
        "NIC Legend:\n"
        "\n"
        "  NIC0: mlx5_0\n",
        "nvidia-smi-topo",
        {
            {"gpu 0", "cpu_affinity", "0-47,96-143", 0},
            {"gpu 0", "nvlink_links", "18", 0},
            {"gpu 1 peer NIC0", "path", "SYS", 0},
            {"nic 0", "rdma_device", "mlx5_0", 0},
        },
        {{"gpu-nic-far", "gpu 1", 1}},
    },
    {
        /* a timeout whose queues are not in the log, and one whose are */
        "[ 12.500000] mlx5_core 0000:03:00.0 eth0: TX timeout detected\n"
        "[ 13.500000] bond0: (slave eth0): link status definitely down, disabling slave\n"
        "[ 13.600000] mlx5_core 0000:03:00.1 eth1: TX timeout detected\n"
        "[ 13.700000] mlx5_core 0000:03:00.1 eth1: TX timeout on queue: 12, SQ: 0x1, CQ: 0x2, SQ "
        "Cons: 0x1 SQ Prod: 0x9, usecs since last trans: 5000000\n"
        "[ 13.800000] DMAR: [DMA Read] Request device [18:00.0] fault addr 0xdeadb000 [fault "
        "reason "
        "06] PTE Read access is not set\n"
        "[ 13.900000] nvme nvme0: I/O 12 QID 3 timeout, aborting\n"
        "[ 14.000000] nvme nvme0: controller is down; will reset: CSTS=0xffffffff\n"
        "[ 14.100000] nvme nvme0: Removing after probe failure status: -19\n"
        "[ 14.200000] ice 0000:af:00.0: Rebuild failed, unload and reload driver\n",
        "dmesg",
        {
            {"netdev bond0", "slave", "eth0", 0},
            {"device nvme0", "queue", "3", 0},
            {"device nvme0", "status", "-19", 0},
            {"pci 0000:03:00.1", "queue", "12", 0},
        },
        {{"tx-timeout", "pci 0000:03:00.0", 1},
         {"link-down", "netdev bond0", 1},
         {"tx-timeout", "pci 0000:03:00.1", 1},
         {"iommu-fault", "pci 0000:18:00.0", 1},
         {"device-command-timeout", "device nvme0", 1},
         {"device-health", "device nvme0", 1},
         {"driver-not-bound", "device nvme0", 1},
         {"device-recovery-failed", "pci 0000:af:00.0", 1}},
    },
    {
        /* GIDs of any prefix, and shared memory that is not to be had */
        "n1:1:2 [7] misc/ibvwrap.cc:301 NCCL WARN Call to ibv_modify_qp failed with 22 Invalid "
        "argument, on dev mlx5_3:1, curr state INIT, next state RTR, local GID index 0, local GID "
        "2001:db8::1, remote GID 2001:db8::2\n"
        "n1:1:2 [7] include/shm.h:48 NCCL WARN Error while creating shared memory segment "
        "nccl-shm-recv-1 (size 9637888)\n"
        "n1:1:2 [3] transport/net_ib.cc:1295 NCCL WARN NET/IB : Got completion from peer "
        "10.1.0.8<38745> with error 12, opcode 0, len 0, vendor err 129 (Recv) localGid fe80::a "
        "remoteGid fe80::b\n"
        "n1:1:2 [3] bootstrap.cc:456 NCCL WARN Bootstrap : no socket interface found\n",
        "nccl-log",
        {
            {"host n1", "gid_index", "0", 0},
            {"host n1", "local_gid", "2001:db8::1", 0},
            {"host n1", "remote_gid", "2001:db8::2", 0},
            {"peer 10.1.0.8", "remote_gid", "fe80::b", 0},
        },
        {{"nccl-modify-qp", "host n1", 1},
         {"nccl-shared-memory", "host n1", 1},
         {"nccl-transport-retry", "peer 10.1.0.8", 1},
         {"nccl-setup", "host n1", 1}},
    },
    {
        /* the forms of lspci that name devices */
        "$ lspci -nn -s 3b:00.0\n"
        "3b:00.0 Ethernet controller [0200]: Mellanox Technologies MT2892 Family [ConnectX-6 Dx] "
        "[15b3:101d]\n"
        "$ lspci -n -s 3b:00.1\n"
        "0001:3b:00.1 0207: 15b3:1021 (rev 01)\n"
        "$ lspci -vmm\n"
        "Slot:\t5e:00.0\n"
        "Class:\tInfiniband controller\n"
        "Vendor:\tMellanox Technologies\n"
        "Device:\tMT28908 Family [ConnectX-6]\n"
        "NUMANode:\t-1\n"
        "\n"
        "Slot:\t5e:00.1\n"
        "Class:\tInfiniband controller\n"
        "NUMANode:\t1\n"
        "$ lspci -mm\n"
        "af:00.0 \"Ethernet controller\" \"Intel Corporation\" \"E810-C for QSFP\" -r02 \"Intel\" "
        "\"Device 0002\"\n",
        "lspci",
        {
            {"pci 0000:3b:00.0", "pci_id", "15b3:101d", 0},
            {"pci 0001:3b:00.1", "pci_id", "15b3:1021", 0},
            {"pci 0001:3b:00.1", "revision", "01", 0},
            {"pci 0000:5e:00.0", "vendor", "Mellanox Technologies", 0},
            {"pci 0000:5e:00.0", "numa_node", "?", 0},
            {"pci 0000:5e:00.1", "numa_node", "1", 0},
            {"pci 0000:af:00.0", "device", "E810-C for QSFP", 0},
            {"pci 0000:af:00.0", "revision", "02", 0},
        },
        {{NULL, NULL, 0}},
    },
    {
        /* a diagnostic of DCGM, with its wrapped lines and its results of some GPUs */
        "Successfully ran diagnostic for group.\n"
        "+---------------------------+------------------------------------------------+\n"
        "| Diagnostic                | Result                                         |\n"
        "+===========================+================================================+\n"
        "|-----  Deployment  --------+------------------------------------------------|\n"
        "| Denylist                  | Pass                                           |\n"
        "| Persistence Mode          | Fail                                           |\n"
        "| Warning                   | Persistence mode for GPU 3 is currently disab  |\n"
        "|                           | led.                                           |\n"
        "+-----  Hardware  ----------+------------------------------------------------+\n"
        "| GPU Memory                | Pass - GPUs: 0, 12                             |\n"
        "|                           | Fail - GPU: 3                                  |\n"
        "| Diagnostic                | Skip - All                                     |\n"
        "+---------------------------+------------------------------------------------+\n",
        "dcgmi",
        {
            {"host", "diag_denylist", "Pass", 0},
            {"host", "diag_warning", "led.", 1},
            {"gpu 12", "diag_gpu_memory", "Pass", 0},
            {"gpu 3", "diag_gpu_memory", "Fail", 0},
            {"host", "diag_diagnostic", "Skip", 0},
        },
        {{"gpu-diag-failed", "host", 1}, {"gpu-diag-failed", "gpu 3", 1}},
    },
    {
        /* what the whole run came to, not one of its streams */
        "{\n\t\"start\":\t{\"connected\":\t[{\"socket\":\t5}],\n"
        "\t\t\"version\":\t\"iperf 3.9\",\n"
        "\t\t\"test_start\":\t{\"protocol\":\t\"TCP\", \"num_streams\":\t2}},\n"
        "\t\"intervals\":\t[{\"sum\": {\"bytes\": 7, \"bits_per_second\": 1}}],\n"
        "\t\"end\":\t{\"streams\":\t[{\"sender\": {\"bytes\": 9}}],\n"
        "\t\t\"sum_sent\":\t{\"bytes\":\t29300000000, \"bits_per_second\": 23439906240.3,\n"
        "\t\t\t\"retransmits\":\t12},\n"
        "\t\t\"sum_received\":\t{\"bytes\":\t29299000000}}}\n",
        "perftest",
        {
            {"run", "protocol", "TCP", 0},
            {"run sender", "transfer", "29300000000", 0},
            {"run sender", "bitrate", "23439906240.3", 0},
            {"run sender", "retransmits", "12", 0},
            {"run receiver", "transfer", "29299000000", 0},
            {"run receiver", "bitrate", NULL, 0},
        },
        {{NULL, NULL, 0}},
    },
    {
        "{\"start\": {\"connected\": [], \"version\": \"iperf 3.9\"}, \"end\": {}, \"error\": "
        "\"error - unable to connect to server: Connection refused\"}\n",
        "perftest",
        {{"run sender", "transfer", NULL, 0}},
        {{"run-failed", "run", 1}},
    },
    {
        /* an alarm in the form of UFM 6.16 and before; what names an object is no number */
        "[{\"event_type\": 394, \"related_object_path\": \"default / Switch: sw63\", \"counter\": "
        "null, \"related_object_name\": \"0000000000000001\", \"name\": \"12E4\", \"reason\": "
        "\"Module PS 2 on sw63 status is fatal\", \"severity\": \"Critical\"}]\n",
        "ufm",
        {
            {"fabric 0000000000000001", "event_type", "394", 0},
            {"fabric 0000000000000001", "related_object_name", "0000000000000001", 0},
            {"fabric 0000000000000001", "name", "12E4", 0},
        },
        {{"ufm-alarm", "fabric 0000000000000001", 1}},
    },
    {
        /* of UFM 6.17 and after */
        "[{\"id\": 3, \"name\": \"Link HW Error\", \"description\": \"Link Downed\", \"severity\": "
        "\"Warning\", \"object_name\": \"2_1\", \"object_path\": \"Computer: n77 / mlx5_0\"},\n"
        "{\"id\": 4, \"name\": \"Link is up\", \"description\": \"Link is up\", \"severity\": "
        "\"Info\", \"object_name\": \"2_1\", \"object_path\": \"Computer: n77 / mlx5_0\"}]\n",
        "ufm",
        {{"fabric 2_1", "description", "Link Downed", 0}},
        {{"ufm-link-down", "fabric 2_1", 1}},
    },
    {
        /* what is in the errors */
        "2: eth0: <BROADCAST,UP,LOWER_UP> mtu 4200 qdisc mq state UP mode DEFAULT\n"
        "    link/ether 0c:42:a1:00:00:01 brd ff:ff:ff:ff:ff:ff\n"
        "    RX:  bytes packets errors dropped  missed   mcast\n"
        "    1234567890  123456      8       2       3       4\n"
        "    RX errors:  length    crc   frame    fifo overrun\n"
        "                     1      7       0       0       0\n"
        "    TX:  bytes packets errors dropped carrier collsns\n"
        "     987654321   65432      0       0       0       0\n"
        "    TX errors: aborted   fifo  window heartbt transns\n"
        "                     0      0       0       0      12\n",
        "ip-link",
        {
            {"netdev eth0", "rx_bytes", "1234567890", 0},
            {"netdev eth0", "rx_errors_length", "1", 0},
            {"netdev eth0", "rx_errors_crc", "7", 0},
            {"netdev eth0", "tx_errors_transns", "12", 0},
        },
        {{"fcs-errors", "netdev eth0", 1}},
    },
    {
        "$ ethtool --phy-statistics eth0\nPHY statistics:\n     phy_receive_errors: 12\n",
        "ethtool-S",
        {{"netdev eth0", "phy_receive_errors", "12", 0}},
        {{NULL, NULL, 0}},
    },
    {
        /* a BMC that refuses; a serial number keeps its zeros */
        "{\"error\": {\"code\": \"Base.1.8.GeneralError\", \"message\": \"A general error.\", "
        "\"@Message.ExtendedInfo\": [{\"Message\": \"The resource was not found.\"}]}}\n",
        "redfish",
        {{"bmc resource", "error.code", "Base.1.8.GeneralError", 0}},
        {{"tool-failed", "bmc resource", 1}},
    },
    {
        "{\"@odata.id\": \"/redfish/v1/Chassis/1\", \"SerialNumber\": \"0012345\", \"SKU\": "
        "\"12E4567\", \"Height\": \"0x10\"}\n",
        "redfish",
        {
            {"bmc /redfish/v1/Chassis/1", "SerialNumber", "0012345", 0},
            {"bmc /redfish/v1/Chassis/1", "SKU", "12E4567", 0},
            {"bmc /redfish/v1/Chassis/1", "Height", "16", 0},
        },
        {{NULL, NULL, 0}},
    },
};

static void each_form_says_what_it_says(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        check_text(&texts[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_form_says_what_it_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
