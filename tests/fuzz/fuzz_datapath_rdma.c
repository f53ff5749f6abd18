/*
 * tests/fuzz/fuzz_datapath_rdma.c - replies of nldev about RDMA devices and their ports: names are
 * texts of bounded length that an inventory can hold.
 */
#include "datapath/nl/rdma.h"
#include "tests/fuzz/message.h"

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
    free(msg);
    return 0;
}
