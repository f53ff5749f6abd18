/*
 * tests/fuzz/fuzz_datapath_ethtool.c - replies of ethtool over netlink: a speed is known or -1,
 * what is on is possible.
 */
#include "datapath/nl/ethtool.h"
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
    free(msg);
    return 0;
}
