/*
 * tests/fuzz/fuzz_datapath_device.c - devlink's answers about parameters, ports and rates: names
 * are texts of bounded length, rates are none or above 0, and what was read makes a value that its
 * own reader takes.
 */
#include "base/own.h"
#include "datapath/nl/devlink_param.h"
#include "datapath/nl/devlink_rate.h"
#include "tests/fuzz/message.h"

#define BUS    "pci"
#define DEVICE "0000:3b:00.0"

static void check_param(const struct devlink_param *param)
{
    check_text(param->name, sizeof(param->name));
    must(param->type <= DEVLINK_TYPE_TEXT);
    for (int i = 0; i < DEVLINK_CMODES; i++)
        if (param->has[i])
            check_text(param->values[i].text, sizeof(param->values[i].text));
}

static void check_rate(const struct devlink_rate *rate)
{
    check_text(rate->node, sizeof(rate->node));
    check_text(rate->value.parent, sizeof(rate->value.parent));
    must(rate->value.tx_max_bps == RATE_NONE || rate->value.tx_max_bps > 0);
    must(rate->value.tx_share_bps == RATE_NONE || rate->value.tx_share_bps > 0);
    OWN(json) json_t *json = rate_value_to_json(&rate->value);
    must(json != NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct nlmsghdr *msg = message_of(data, size);
    struct devlink_param param;
    struct devlink_port port;
    struct devlink_rate rate;
    bool ours;
    if (msg == NULL)
        return 0;
    if (devlink_param_decode(msg, BUS, DEVICE, &param, &ours, NULL) == ERR_OK && ours)
        check_param(&param);
    if (devlink_port_decode(msg, BUS, DEVICE, &port, &ours, NULL) == ERR_OK && ours)
        check_text(port.name, sizeof(port.name));
    if (devlink_rate_decode(msg, BUS, DEVICE, &rate, &ours, NULL) == ERR_OK && ours)
        check_rate(&rate);
    free(msg);
    return 0;
}
