/*
 * tests/fuzz/fuzz_datapath_devlink.c - replies of devlink: texts of bounded length that an
 * inventory can hold, and a board id that the server takes.
 */
#include "datapath/nl/devlink.h"
#include "fleet/inventory.h"
#include "tests/fuzz/message.h"

static void check_versions(const struct devlink_versions *versions)
{
    must(versions->count <= DEVLINK_VERSIONS_MAX);
    for (size_t i = 0; i < versions->count; i++) {
        check_text(versions->items[i].name, DEVLINK_TEXT_SIZE);
        check_text(versions->items[i].value, DEVLINK_TEXT_SIZE);
    }
    const char *firmware = devlink_firmware(versions);
    must(firmware == NULL || strlen(firmware) < INVENTORY_TEXT_MAX);
}

static void check_psid(const struct devlink_info *info)
{
    char psid[DEVLINK_PSID_SIZE];
    if (!devlink_psid(&info->fixed, info->serial, psid))
        return;
    check_text(psid, sizeof(psid));
    must(psid[0] != '\0' && strpbrk(psid, " ()") == NULL && strlen(psid) < PSID_SIZE);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct nlmsghdr *msg = message_of(data, size);
    struct devlink_info info;
    if (msg == NULL)
        return 0;
    if (devlink_decode_info(msg, &info, NULL) == ERR_OK) {
        check_text(info.driver, sizeof(info.driver));
        check_text(info.serial, sizeof(info.serial));
        check_versions(&info.fixed);
        check_versions(&info.running);
        check_versions(&info.stored);
        check_psid(&info);
    }
    free(msg);
    return 0;
}
