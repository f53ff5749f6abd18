/*
 * tests/fuzz/fuzz_datapath_ethtool.c - replies of ethtool over netlink: a speed is known or -1,
 * what is on is possible.
 */
#include "datapath/nl/ethtool.h"
#include "datapath/nl/ethtool_tune.h"
#include "tests/fuzz/message.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct nlmsghdr *msg = message_of(data, size);
    struct ethtool_tc_offload offload;
    int64_t bps;
    if (msg == NULL)
        return 0;
    if (ethtool_decode_speed(msg, &bps, NULL) == ERR_OK)
        must(bps == -1 || bps > 0);
    if (ethtool_decode_tc_offload(msg, &offload, NULL) == ERR_OK)
        must(offload.possible || !offload.active);
    struct pause_value pause;
    if (ethtool_decode_pause(msg, &pause, NULL) == ERR_OK)
        must(nlmsg_datalen(msg) >= 17); /* told only when both are there */
    struct coalesce coalesce;
    if (ethtool_decode_coalesce(msg, &coalesce, NULL) == ERR_OK)
        must(coalesce.present < coalesce_bit(COALESCE_IDS) &&
             coalesce.values[COALESCE_ADAPTIVE_RX] <= 1);
    free(msg);
    return 0;
}
