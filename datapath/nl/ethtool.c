/*
 * datapath/nl/ethtool.c - see ethtool.h.
 */
#include "datapath/nl/ethtool.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <linux/ethtool.h>
#include <linux/ethtool_netlink.h>
#include <linux/genetlink.h>
#include <linux/if.h>
#include <linux/sockios.h>

#include "base/text.h"

#define MBIT_BPS   INT64_C(1000000)
#define TC_OFFLOAD "hw-tc-offload"
#define LANES_MAX  64

/* The request's header stands first and has the same number in every command. */
#define HEADER_ATTR 1
_Static_assert(ETHTOOL_A_LINKMODES_HEADER == HEADER_ATTR, "header");
_Static_assert(ETHTOOL_A_FEATURES_HEADER == HEADER_ATTR, "header");

struct nl_msg *ethtool_encode(uint16_t family, uint8_t command, const char *ifname)
{
    struct nl_msg *msg = nlx_genl_new(family, command, 0);
    struct nlattr *nest = msg == NULL ? NULL : nla_nest_start(msg, HEADER_ATTR);
    if (nest == NULL || nla_put_string(msg, ETHTOOL_A_HEADER_DEV_NAME, ifname) < 0) {
        nlmsg_free(msg);
        return NULL;
    }
    nla_nest_end(msg, nest);
    return msg;
}

enum err_code ethtool_decode_speed(const struct nlmsghdr *msg, int64_t *out_bps, struct err *err)
{
    struct nlattr *tb[ETHTOOL_A_LINKMODES_MAX + 1];
    if (!nlx_parse(msg, GENL_HDRLEN, tb, ETHTOOL_A_LINKMODES_MAX))
        return err_set(err, ERR_IO, "the kernel's ethtool answer is malformed");
    uint32_t mbps = (uint32_t)SPEED_UNKNOWN;
    nlx_u32(tb[ETHTOOL_A_LINKMODES_SPEED], &mbps);
    *out_bps = mbps == 0 || mbps > INT32_MAX ? -1 : mbps * MBIT_BPS;
    return ERR_OK;
}

enum err_code ethtool_decode_link(const struct nlmsghdr *msg, struct ethtool_link *out,
                                  struct err *err)
{
    struct nlattr *tb[ETHTOOL_A_LINKMODES_MAX + 1];
    uint8_t autoneg;
    uint32_t lanes;
    struct ethtool_link link = {.speed_bps = -1, .autoneg = -1, .lanes = -1};
    enum err_code code = ethtool_decode_speed(msg, &link.speed_bps, err);
    if (code != ERR_OK || !nlx_parse(msg, GENL_HDRLEN, tb, ETHTOOL_A_LINKMODES_MAX))
        return code;
    if (nlx_u8(tb[ETHTOOL_A_LINKMODES_AUTONEG], &autoneg) && autoneg <= 1)
        link.autoneg = autoneg;
    if (nlx_u32(tb[ETHTOOL_A_LINKMODES_LANES], &lanes) && lanes >= 1 && lanes <= LANES_MAX)
        link.lanes = (int)lanes;
    *out = link;
    return ERR_OK;
}

/* Whether a bitset lists hw-tc-offload as set. Without a mask, listed means set. */
static bool bitset_has_offload(const struct nlattr *bitset)
{
    struct nlattr *tb[ETHTOOL_A_BITSET_MAX + 1], *bit;
    int left;
    if (!nlx_parse_nested(bitset, tb, ETHTOOL_A_BITSET_MAX) || tb[ETHTOOL_A_BITSET_BITS] == NULL)
        return false;
    bool list = tb[ETHTOOL_A_BITSET_NOMASK] != NULL;
    nla_for_each_nested(bit, tb[ETHTOOL_A_BITSET_BITS], left)
    {
        struct nlattr *fields[ETHTOOL_A_BITSET_BIT_MAX + 1];
        char name[32];
        if (!nlx_parse_nested(bit, fields, ETHTOOL_A_BITSET_BIT_MAX))
            continue;
        nlx_text(fields[ETHTOOL_A_BITSET_BIT_NAME], name, sizeof(name));
        if (strcmp(name, TC_OFFLOAD) == 0)
            return list || fields[ETHTOOL_A_BITSET_BIT_VALUE] != NULL;
    }
    return false;
}

enum err_code ethtool_decode_tc_offload(const struct nlmsghdr *msg, struct ethtool_tc_offload *out,
                                        struct err *err)
{
    struct nlattr *tb[ETHTOOL_A_FEATURES_MAX + 1];
    if (!nlx_parse(msg, GENL_HDRLEN, tb, ETHTOOL_A_FEATURES_MAX))
        return err_set(err, ERR_IO, "the kernel's ethtool answer is malformed");
    out->active = bitset_has_offload(tb[ETHTOOL_A_FEATURES_ACTIVE]);
    out->possible = out->active || bitset_has_offload(tb[ETHTOOL_A_FEATURES_HW]);
    return ERR_OK;
}

enum err_code ethtool_query(struct nlx *nlx, uint8_t command, const char *ifname,
                            nlx_reply_fn *on_reply, void *arg, struct err *err)
{
    uint16_t family;
    enum err_code code = nlx_family(nlx, ETHTOOL_GENL_NAME, &family, err);
    if (code != ERR_OK)
        return code;
    OWN(nl_msg) struct nl_msg *msg = ethtool_encode(family, command, ifname);
    return msg == NULL ? err_nomem(err) : nlx_txn(nlx, msg, on_reply, arg, err);
}

static enum err_code take_link(void *arg, const struct nlmsghdr *msg, struct err *err)
{
    return ethtool_decode_link(msg, arg, err);
}

enum err_code ethtool_link(struct nlx *nlx, const char *ifname, struct ethtool_link *out,
                           struct err *err)
{
    struct ethtool_link link = {.speed_bps = -1, .autoneg = -1, .lanes = -1};
    enum err_code code =
        ethtool_query(nlx, ETHTOOL_MSG_LINKMODES_GET, ifname, take_link, &link, err);
    if (code == ERR_OK)
        *out = link;
    return code;
}

static enum err_code take_offload(void *arg, const struct nlmsghdr *msg, struct err *err)
{
    return ethtool_decode_tc_offload(msg, arg, err);
}

enum err_code ethtool_tc_offload_get(struct nlx *nlx, const char *ifname,
                                     struct ethtool_tc_offload *out, struct err *err)
{
    struct ethtool_tc_offload offload = {0};
    enum err_code code =
        ethtool_query(nlx, ETHTOOL_MSG_FEATURES_GET, ifname, take_offload, &offload, err);
    if (code == ERR_OK)
        *out = offload;
    return code;
}

static void copy_text(const char *text, size_t max, char out[ETHTOOL_TEXT_SIZE])
{
    snprintf(out, ETHTOOL_TEXT_SIZE, "%.*s", (int)strnlen(text, max), text);
    text_clean(out, "");
}

enum err_code ethtool_driver(const char *ifname, struct ethtool_drvinfo_text *out, struct err *err)
{
    struct ethtool_drvinfo info = {.cmd = ETHTOOL_GDRVINFO};
    struct ifreq request = {.ifr_data = (void *)&info};
    snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", ifname);
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return err_set_errno(err, ERR_IO, errno, "cannot open a socket for ethtool");
    int error = ioctl(fd, SIOCETHTOOL, &request) < 0 ? errno : 0;
    close(fd);
    if (error != 0)
        return err_set_errno(err, nlx_code_of_errno(error), error, "driver of %s", ifname);
    copy_text(info.driver, sizeof(info.driver), out->driver);
    copy_text(info.fw_version, sizeof(info.fw_version), out->firmware);
    copy_text(info.bus_info, sizeof(info.bus_info), out->bus);
    return ERR_OK;
}
