/*
 * datapath/nl/ethtool_module.c - see ethtool_module.h.
 */
#include "datapath/nl/ethtool_module.h"

#include <string.h>

#include <linux/ethtool_netlink.h>
#include <linux/genetlink.h>

#include "base/text.h"
#include "datapath/nl/ethtool.h"

#define PART_BYTES  128 /* the kernel gives no more at a time */
#define I2C_ADDRESS 0x50
#define TEXT_BYTES  16
_Static_assert(TEXT_BYTES < ETHTOOL_MODULE_TEXT_SIZE, "room for the NUL");

/* Where the texts stand: SFF-8472 table 4-1, SFF-8636 table 6-14, CMIS 5.0 table 8-25. */
static const struct {
    uint8_t id;
    const char *kind;
    uint8_t vendor, part, serial;
} kinds[] = {
    {0x03, "SFP", 20, 40, 68},           {0x0c, "QSFP", 148, 168, 196},
    {0x0d, "QSFP+", 148, 168, 196},      {0x11, "QSFP28", 148, 168, 196},
    {0x18, "QSFP-DD", 129, 148, 166},    {0x19, "OSFP", 129, 148, 166},
    {0x1e, "QSFP+ CMIS", 129, 148, 166}, {0x1f, "SFP-DD", 129, 148, 166},
};

static void take_text(const uint8_t *data, char out[ETHTOOL_MODULE_TEXT_SIZE])
{
    size_t len = TEXT_BYTES;
    while (len > 0 && (data[len - 1] == ' ' || data[len - 1] == '\0'))
        len--;
    memcpy(out, data, len);
    out[len] = '\0';
    text_clean(out, "");
}

bool ethtool_module_decode(const uint8_t data[ETHTOOL_MODULE_BYTES], struct ethtool_module *out)
{
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (kinds[i].id != data[0])
            continue;
        *out = (struct ethtool_module){.kind = kinds[i].kind};
        take_text(data + kinds[i].vendor, out->vendor);
        take_text(data + kinds[i].part, out->part);
        take_text(data + kinds[i].serial, out->serial);
        return true;
    }
    return false;
}

struct nl_msg *ethtool_encode_module(uint16_t family, const char *ifname, uint32_t offset,
                                     uint32_t length)
{
    struct nl_msg *msg = ethtool_encode(family, ETHTOOL_MSG_MODULE_EEPROM_GET, ifname);
    if (msg != NULL && (nla_put_u32(msg, ETHTOOL_A_MODULE_EEPROM_OFFSET, offset) < 0 ||
                        nla_put_u32(msg, ETHTOOL_A_MODULE_EEPROM_LENGTH, length) < 0 ||
                        nla_put_u8(msg, ETHTOOL_A_MODULE_EEPROM_PAGE, 0) < 0 ||
                        nla_put_u8(msg, ETHTOOL_A_MODULE_EEPROM_BANK, 0) < 0 ||
                        nla_put_u8(msg, ETHTOOL_A_MODULE_EEPROM_I2C_ADDRESS, I2C_ADDRESS) < 0)) {
        nlmsg_free(msg);
        msg = NULL;
    }
    return msg;
}

enum err_code ethtool_decode_module(const struct nlmsghdr *msg, uint8_t *out, size_t length,
                                    struct err *err)
{
    struct nlattr *tb[ETHTOOL_A_MODULE_EEPROM_MAX + 1];
    if (!nlx_parse(msg, GENL_HDRLEN, tb, ETHTOOL_A_MODULE_EEPROM_MAX) ||
        tb[ETHTOOL_A_MODULE_EEPROM_DATA] == NULL ||
        (size_t)nla_len(tb[ETHTOOL_A_MODULE_EEPROM_DATA]) != length)
        return err_set(err, ERR_IO, "the kernel's ethtool answer is malformed");
    memcpy(out, nla_data(tb[ETHTOOL_A_MODULE_EEPROM_DATA]), length);
    return ERR_OK;
}

struct part {
    uint8_t *data;
    bool came;
};

static enum err_code take_part(void *arg, const struct nlmsghdr *msg, struct err *err)
{
    struct part *part = arg;
    enum err_code code = ethtool_decode_module(msg, part->data, PART_BYTES, err);
    part->came |= code == ERR_OK;
    return code;
}

static enum err_code read_part(struct nlx *nlx, uint16_t family, const char *ifname,
                               uint32_t offset, uint8_t *out, struct err *err)
{
    struct part part = {.data = out};
    OWN(nl_msg) struct nl_msg *msg = ethtool_encode_module(family, ifname, offset, PART_BYTES);
    if (msg == NULL)
        return err_nomem(err);
    enum err_code code = nlx_txn(nlx, msg, take_part, &part, err);
    if (code == ERR_OK && !part.came)
        code = err_set(err, ERR_IO, "the kernel gave no ethtool answer");
    return code;
}

enum err_code ethtool_module_get(struct nlx *nlx, const char *ifname, struct ethtool_module *out,
                                 struct err *err)
{
    uint16_t family;
    uint8_t data[ETHTOOL_MODULE_BYTES];
    enum err_code code = nlx_family(nlx, ETHTOOL_GENL_NAME, &family, err);
    if (code == ERR_OK)
        code = read_part(nlx, family, ifname, 0, data, err);
    if (code == ERR_OK)
        code = read_part(nlx, family, ifname, PART_BYTES, data + PART_BYTES, err);
    if (code == ERR_OK && !ethtool_module_decode(data, out))
        code = err_set(err, ERR_UNSUPPORTED, "the module of %s is of kind 0x%02x", ifname, data[0]);
    return code;
}
