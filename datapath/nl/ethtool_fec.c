/*
 * datapath/nl/ethtool_fec.c - see ethtool_fec.h.
 */
#include "datapath/nl/ethtool_fec.h"

#include <string.h>

#include <linux/ethtool.h>
#include <linux/ethtool_netlink.h>
#include <linux/genetlink.h>

#include "datapath/nl/ethtool.h"

#define CLOCKS_MAX 4096 /* an index beyond it is none */

static const struct {
    const char *name;
    uint32_t bit; /* of the kernel's link modes */
} modes[ETHTOOL_FEC_MODES] = {
    {"off", ETHTOOL_LINK_MODE_FEC_NONE_BIT},
    {"rs", ETHTOOL_LINK_MODE_FEC_RS_BIT},
    {"baser", ETHTOOL_LINK_MODE_FEC_BASER_BIT},
    {"llrs", ETHTOOL_LINK_MODE_FEC_LLRS_BIT},
};

const char *ethtool_fec_name(int mode)
{
    return mode >= 0 && mode < ETHTOOL_FEC_MODES ? modes[mode].name : NULL;
}

static int mode_of_bit(uint32_t bit)
{
    for (int i = 0; i < ETHTOOL_FEC_MODES; i++)
        if (modes[i].bit == bit)
            return i;
    return -1;
}

/* Listed means set unless the list has a mask; then a flag says it. */
static void take_configured(const struct nlattr *bitset, struct ethtool_fec *out)
{
    struct nlattr *tb[ETHTOOL_A_BITSET_MAX + 1], *bit;
    int left;
    if (!nlx_parse_nested(bitset, tb, ETHTOOL_A_BITSET_MAX) || tb[ETHTOOL_A_BITSET_BITS] == NULL)
        return;
    bool list = tb[ETHTOOL_A_BITSET_NOMASK] != NULL;
    nla_for_each_nested(bit, tb[ETHTOOL_A_BITSET_BITS], left)
    {
        struct nlattr *fields[ETHTOOL_A_BITSET_BIT_MAX + 1];
        uint32_t index;
        if (!nlx_parse_nested(bit, fields, ETHTOOL_A_BITSET_BIT_MAX) ||
            !nlx_u32(fields[ETHTOOL_A_BITSET_BIT_INDEX], &index))
            continue;
        int mode = mode_of_bit(index);
        if (mode >= 0 && (list || fields[ETHTOOL_A_BITSET_BIT_VALUE] != NULL))
            out->configured[mode] = true;
    }
}

enum err_code ethtool_decode_fec(const struct nlmsghdr *msg, struct ethtool_fec *out,
                                 struct err *err)
{
    struct nlattr *tb[ETHTOOL_A_FEC_MAX + 1];
    uint8_t automatic = 0;
    uint32_t active;
    if (!nlx_parse(msg, GENL_HDRLEN, tb, ETHTOOL_A_FEC_MAX))
        return err_set(err, ERR_IO, "the kernel's ethtool answer is malformed");
    *out = (struct ethtool_fec){.active = -1};
    nlx_u8(tb[ETHTOOL_A_FEC_AUTO], &automatic);
    out->automatic = automatic != 0;
    if (nlx_u32(tb[ETHTOOL_A_FEC_ACTIVE], &active))
        out->active = mode_of_bit(active);
    take_configured(tb[ETHTOOL_A_FEC_MODES], out);
    return ERR_OK;
}

enum err_code ethtool_decode_clock(const struct nlmsghdr *msg, int *out, struct err *err)
{
    struct nlattr *tb[ETHTOOL_A_TSINFO_MAX + 1];
    uint32_t index;
    if (!nlx_parse(msg, GENL_HDRLEN, tb, ETHTOOL_A_TSINFO_MAX))
        return err_set(err, ERR_IO, "the kernel's ethtool answer is malformed");
    *out = nlx_u32(tb[ETHTOOL_A_TSINFO_PHC_INDEX], &index) && index < CLOCKS_MAX ? (int)index : -1;
    return ERR_OK;
}

static enum err_code take_fec(void *arg, const struct nlmsghdr *msg, struct err *err)
{
    return ethtool_decode_fec(msg, arg, err);
}

enum err_code ethtool_fec_get(struct nlx *nlx, const char *ifname, struct ethtool_fec *out,
                              struct err *err)
{
    struct ethtool_fec fec = {.active = -1};
    enum err_code code = ethtool_query(nlx, ETHTOOL_MSG_FEC_GET, ifname, take_fec, &fec, err);
    if (code == ERR_OK)
        *out = fec;
    return code;
}

static enum err_code take_clock(void *arg, const struct nlmsghdr *msg, struct err *err)
{
    return ethtool_decode_clock(msg, arg, err);
}

enum err_code ethtool_clock_get(struct nlx *nlx, const char *ifname, int *out, struct err *err)
{
    int index = -1;
    enum err_code code =
        ethtool_query(nlx, ETHTOOL_MSG_TSINFO_GET, ifname, take_clock, &index, err);
    if (code == ERR_OK)
        *out = index;
    return code;
}
