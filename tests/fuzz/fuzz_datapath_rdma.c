/*
 * tests/fuzz/fuzz_datapath_rdma.c - replies of nldev about RDMA devices and their ports: names are
 * texts of bounded length that an inventory can hold.
 */
#include "datapath/nl/rdma.h"
#include "datapath/nl/rdma_stat.h"
#include "tests/fuzz/message.h"

static bool check_stat(void *arg, const struct rdma_stat *stat)
{
    (void)arg;
    must(stat->value_count <= RDMA_STAT_VALUES_MAX);
    for (size_t i = 0; i < stat->value_count; i++)
        check_text(stat->values[i].name, sizeof(stat->values[i].name));
    return true;
}

static void check_queue_pairs(const struct nlmsghdr *msg)
{
    static struct rdma_qp_list list;
    list.count = 0;
    if (rdma_decode_qps(msg, &list, NULL) == ERR_OK)
        must(list.count <= RDMA_STAT_QPS_MAX);
    if (rdma_decode_stats(msg, check_stat, NULL, NULL) != ERR_OK)
        return;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct nlmsghdr *msg = message_of(data, size);
    struct rdma_device device;
    struct rdma_port port;
    if (msg == NULL)
        return 0;
    if (rdma_decode_device(msg, &device, NULL) == ERR_OK) {
        check_text(device.name, sizeof(device.name));
        check_text(device.firmware, sizeof(device.firmware));
    }
    if (rdma_decode_port(msg, &port, NULL) == ERR_OK) {
        const char *state = rdma_state_name(port.state);
        must(state == NULL || strlen(state) > 0);
    }
    check_queue_pairs(msg);
    free(msg);
    return 0;
}
