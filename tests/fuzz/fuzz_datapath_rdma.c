/*
 * tests/fuzz/fuzz_datapath_rdma.c - replies of nldev, devlink and ethtool, and the texts of
 * modprobe.d: names are valid texts of bounded length.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "datapath/nl/devlink.h"
#include "datapath/nl/ethtool.h"
#include "datapath/nl/rdma.h"
#include "datapath/sys/modparam.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool condition)
{
    if (!condition)
        abort();
}

/* The bytes as one message of the kernel: nlx checks nlmsg_len before anyone decodes. */
static struct nlmsghdr *message_of(const uint8_t *data, size_t size)
{
    struct nlmsghdr *msg = size < sizeof(*msg) ? NULL : malloc(size);
    if (msg != NULL) {
        memcpy(msg, data, size);
        msg->nlmsg_len = (uint32_t)size;
    }
    return msg;
}

static void check_text(const char *text, size_t size)
{
    must(strlen(text) < size);
    for (size_t i = 0, n; text[i] != '\0'; i += n)
        must((n = utf8_decode(text + i, strlen(text + i), NULL)) > 0);
}

static void check_versions(const struct devlink_versions *versions)
{
    must(versions->count <= DEVLINK_VERSIONS_MAX);
    for (size_t i = 0; i < versions->count; i++) {
        check_text(versions->items[i].name, DEVLINK_TEXT_SIZE);
        check_text(versions->items[i].value, DEVLINK_TEXT_SIZE);
    }
}

/* Setting a parameter and asking for it agree; taking it away leaves none of ours. */
static void check_modprobe(const uint8_t *data, size_t size)
{
    static const struct modparam_name name = {"solar_rdma", "max_sge"};
    char *text = malloc(size + 1), value[MODPARAM_VALUE_SIZE];
    must(text != NULL);
    memcpy(text, data, size);
    text[size] = '\0';
    char *with = modparam_edit(text, &name, "256", "32");
    must(with != NULL && modparam_find(with, "options", &name, value, sizeof(value)));
    must(strcmp(value, "256") == 0);
    char *without = modparam_edit(with, &name, NULL, NULL);
    char *again = modparam_edit(without, &name, "256", "32");
    must(without != NULL && again != NULL && strcmp(with, again) == 0);
    free(text);
    free(with);
    free(without);
    free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    check_modprobe(data, size);
    struct nlmsghdr *msg = message_of(data, size);
    if (msg == NULL)
        return 0;
    struct rdma_device device;
    struct rdma_port port;
    struct devlink_info info;
    struct ethtool_tc_offload offload;
    int64_t bps;
    if (rdma_decode_device(msg, &device, NULL) == ERR_OK)
        check_text(device.name, sizeof(device.name));
    if (rdma_decode_port(msg, &port, NULL) == ERR_OK)
        (void)rdma_state_name(port.state);
    if (devlink_decode_info(msg, &info, NULL) == ERR_OK) {
        check_text(info.driver, sizeof(info.driver));
        check_versions(&info.fixed);
        check_versions(&info.running);
        check_versions(&info.stored);
    }
    if (ethtool_decode_speed(msg, &bps, NULL) == ERR_OK)
        must(bps == -1 || bps > 0);
    if (ethtool_decode_tc_offload(msg, &offload, NULL) == ERR_OK)
        must(offload.possible || !offload.active);
    free(msg);
    return 0;
}
