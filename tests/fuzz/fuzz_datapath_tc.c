/*
 * tests/fuzz/fuzz_datapath_tc.c - replies about qdiscs, classes and filters: a filter that our
 * values can tell reads back from its JSON, and what we would send for it means the same.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <linux/rtnetlink.h>

#include "datapath/nl/tc_class.h"
#include "datapath/nl/tc_flower.h"
#include "datapath/nl/tc_qdisc.h"
#include "datapath/nl/tc_red.h"

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

#define IFINDEX_OFFSET (NLMSG_HDRLEN + 4)

static void check_flower(const struct flower_info *info)
{
    struct flower_value back;
    struct flower_info again;
    enum flower_entry entry;
    OWN(json) json_t *json = flower_value_to_json(&info->value);
    must(json != NULL);
    if (info->foreign || !info->ours || info->value.lost ||
        flower_value_from_json(json, &back, NULL))
        return;
    must(tc_flower_same(&info->value, &back));
    OWN(nl_msg) struct nl_msg *msg = tc_flower_encode(7, info->egress, info->handle, &back, true);
    must(msg != NULL);
    nlmsg_hdr(msg)->nlmsg_type = RTM_NEWTFILTER;
    must(tc_flower_decode(nlmsg_hdr(msg), 7, &again, &entry, NULL) == ERR_OK);
    must(entry == FLOWER_ENTRY_FILTER && again.ours && !again.foreign);
    again.value.lost = false; /* only a kernel says what the NIC holds */
    must(tc_flower_same(&again.value, &back));
}

static void check_ets(const struct qdisc_info *root, int ifindex)
{
    struct qdisc_state again = {0};
    if (!root->known || !root->value.ets)
        return;
    OWN(nl_msg) struct nl_msg *msg = tc_qdisc_encode_ets(0, ifindex, &root->value);
    must(msg != NULL);
    must(tc_qdisc_decode(nlmsg_hdr(msg), ifindex, &again, NULL) == ERR_OK && again.root.known);
    must(qdisc_value_same(&again.root.value, &root->value));
}

static void check_red(const struct red_info *info)
{
    struct red_value back;
    struct red_info again;
    bool red;
    OWN(json) json_t *json = red_value_to_json(&info->value);
    must(json != NULL);
    if (red_value_from_json(json, &back, NULL))
        return;
    OWN(nl_msg) struct nl_msg *msg = tc_red_encode(7, info->parent, &back);
    must(msg != NULL);
    must(tc_red_decode(nlmsg_hdr(msg), 7, &again, &red, NULL) == ERR_OK && red);
    must(red_value_same(&again.value, &info->value));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct nlmsghdr *msg = message_of(data, size);
    if (msg == NULL)
        return 0;
    int ifindex = 0;
    if (size >= IFINDEX_OFFSET + sizeof(ifindex))
        memcpy(&ifindex, (char *)msg + IFINDEX_OFFSET, sizeof(ifindex));
    struct qdisc_state qdiscs = {0};
    struct class_info class_info;
    struct flower_info flower;
    enum flower_entry entry;
    bool htb;
    if (tc_qdisc_decode(msg, ifindex, &qdiscs, NULL) == ERR_OK) {
        must(strlen(qdiscs.root.kind) < sizeof(qdiscs.root.kind));
        check_ets(&qdiscs.root, ifindex);
    }
    struct red_info red_info;
    bool red;
    if (tc_red_decode(msg, ifindex, &red_info, &red, NULL) == ERR_OK && red)
        check_red(&red_info);
    if (tc_class_decode(msg, ifindex, &class_info, &htb, NULL) == ERR_OK && htb)
        must(class_info.value.rate_bps >= 0 && class_info.value.ceil_bps >= 0);
    if (tc_flower_decode(msg, ifindex, &flower, &entry, NULL) == ERR_OK &&
        entry == FLOWER_ENTRY_FILTER)
        check_flower(&flower);
    free(msg);
    return 0;
}
