/*
 * tests/fuzz/fuzz_datapath_flash.c - what is heard while firmware is written: devlink's
 * notifications, the list of queue pairs, and what tools print. Texts are valid and bounded, a
 * failure is never read as success.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "datapath/flint.h"
#include "datapath/nl/devlink_flash.h"
#include "datapath/nl/rdma_qp.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool condition)
{
    if (!condition)
        abort();
}

static void check_text(const char *text, size_t size)
{
    must(strlen(text) < size);
    for (size_t i = 0, n; text[i] != '\0'; i += n)
        must((n = utf8_decode(text + i, strlen(text + i), NULL)) > 0);
}

static void check_tool(const uint8_t *data, size_t size)
{
    struct flint flint;
    flint_read((const char *)data, size, &flint);
    check_text(flint.problem, sizeof(flint.problem));
    must(strlen(flint.psid) < sizeof(flint.psid));
    must(strlen(flint.flash_version) < sizeof(flint.flash_version));
    must(flint.percent >= -1 && flint.percent <= 100);
    enum flash_outcome outcome = flint_outcome(&flint);
    must(flint.problem[0] == '\0' || outcome == FLASH_FAILED || outcome == FLASH_ABORTED);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    check_tool(data, size);
    if (size < sizeof(struct nlmsghdr))
        return 0;
    struct nlmsghdr *msg = malloc(size);
    must(msg != NULL);
    memcpy(msg, data, size);
    msg->nlmsg_len = (uint32_t)size;
    struct devlink_flash_event event;
    int count = -1;
    if (devlink_decode_flash(msg, msg->nlmsg_type, &event)) {
        check_text(event.device, sizeof(event.device));
        check_text(event.message, sizeof(event.message));
        check_text(event.component, sizeof(event.component));
        int percent = devlink_flash_percent(&event);
        must(percent >= -1 && percent <= 100);
    }
    if (rdma_decode_user_qps(msg, &count, NULL) == ERR_OK)
        must(count >= 0);
    free(msg);
    return 0;
}
