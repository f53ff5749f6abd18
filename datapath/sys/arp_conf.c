/*
 * datapath/sys/arp_conf.c - see arp_conf.h.
 */
#include "datapath/sys/arp_conf.h"

#include <stdio.h>

#include "datapath/sys/sys.h"
#include "fleet/read.h"

#define CONF      "/proc/sys/net/ipv4/conf"
#define TEXT_SIZE 32
#define EFFECTIVE "effective"

static enum err_code path_of(const char *ifname, int id, char out[SYS_PATH_MAX], struct err *err)
{
    if (!sys_is_component(ifname))
        return err_set(err, ERR_INVALID, "\"%.32s\" is no name of an interface", ifname);
    snprintf(out, SYS_PATH_MAX, CONF "/%s/%s", ifname, arp_params[id].name);
    return ERR_OK;
}

static enum err_code read_one(const char *root, const char *ifname, int id, int *out,
                              struct err *err)
{
    char path[SYS_PATH_MAX], text[TEXT_SIZE];
    int64_t number;
    enum err_code code = path_of(ifname, id, path, err);
    if (code == ERR_OK)
        code = sys_read(root, path, text, sizeof(text), err);
    if (code == ERR_NOT_FOUND)
        return err_set(err, ERR_UNSUPPORTED, "%s has no IPv4 setting %s", ifname,
                       arp_params[id].name);
    if (code != ERR_OK)
        return code;
    if (!sys_parse_int(text, &number) || number < 0 || number > arp_params[id].max)
        return err_set(err, ERR_IO, "%s holds \"%s\", no number up to %d", path, text,
                       arp_params[id].max);
    *out = (int)number;
    return ERR_OK;
}

enum err_code arp_conf_get(const char *root, const char *ifname, struct arp_conf *out,
                           struct err *err)
{
    struct arp_conf conf = {.own.present = 0};
    for (int i = 0; i < ARP_IDS; i++) {
        int all = 0;
        enum err_code code = read_one(root, ifname, i, &conf.own.values[i], err);
        if (code == ERR_OK)
            code = read_one(root, "all", i, &all, err);
        if (code != ERR_OK)
            return code;
        conf.own.present |= arp_bit(i);
        conf.effective.values[i] = all;
        if (all > conf.own.values[i])
            conf.effective.present |= arp_bit(i);
    }
    *out = conf;
    return ERR_OK;
}

enum err_code arp_conf_check(const struct arp_conf *is, const char *ifname, const struct arp *want,
                             struct err *err)
{
    for (int i = 0; i < ARP_IDS; i++) {
        if ((want->present & arp_bit(i)) == 0 || is->effective.values[i] <= want->values[i])
            continue;
        return err_set(err, ERR_CONFLICT,
                       "net.ipv4.conf.all.%s is %d, and the kernel takes the larger of it and of "
                       "%s's: %d would not be in effect; set that of all to %d or less",
                       arp_params[i].name, is->effective.values[i], ifname, want->values[i],
                       want->values[i]);
    }
    return ERR_OK;
}

enum err_code arp_conf_set(const char *root, const char *ifname, const struct arp *want,
                           struct err *err)
{
    struct arp_conf is;
    enum err_code code = arp_conf_get(root, ifname, &is, err);
    for (int i = 0; i < ARP_IDS && code == ERR_OK; i++) {
        char path[SYS_PATH_MAX], text[TEXT_SIZE];
        if ((want->present & arp_bit(i)) == 0 || want->values[i] == is.own.values[i])
            continue;
        snprintf(text, sizeof(text), "%d", want->values[i]);
        code = path_of(ifname, i, path, err);
        if (code == ERR_OK)
            code = sys_write(root, path, text, err);
    }
    return code;
}

bool arp_conf_covers(const struct arp_conf *is, const struct arp *want)
{
    if ((want->present & ~is->own.present) != 0)
        return false;
    for (int i = 0; i < ARP_IDS; i++)
        if ((want->present & arp_bit(i)) != 0 &&
            (want->values[i] != is->own.values[i] || (is->effective.present & arp_bit(i)) != 0))
            return false;
    return true;
}

enum err_code arp_conf_from_json(const json_t *json, struct arp_conf *out, struct err *err)
{
    OWN_FINDINGS struct finding_list findings;
    struct json_reader r, sub;
    struct arp_conf value = {.own.present = 0};
    finding_list_init(&findings);
    json_reader_init(&r, json, "", &findings);
    arp_read(&r, &value.own);
    if (json_reader_object(&r, EFFECTIVE, false, &sub)) {
        arp_read(&sub, &value.effective);
        json_reader_end(&sub);
    }
    json_reader_end(&r);
    enum err_code code = read_result(&findings, err);
    if (code == ERR_OK)
        *out = value;
    return code;
}

json_t *arp_conf_to_json(const struct arp_conf *value)
{
    OWN(json) json_t *object = arp_to_json(&value->own);
    if (value->effective.present != 0 &&
        !write_member(object, EFFECTIVE, arp_to_json(&value->effective)))
        return NULL;
    return GIVE(object);
}
