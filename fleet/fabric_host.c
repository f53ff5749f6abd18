/*
 * fleet/fabric_host.c - the hosts' part of the fabric profile. Names and values end up in files
 * below /proc/sys and /etc/modprobe.d, so the characters are a closed set.
 */
#include "fleet/fabric_host.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fleet/knob.h"
#include "fleet/read.h"

#define VALUE_CHARS     "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.,:+/-"
#define NAME_CHARS      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"
#define MODULE_NAME_MAX 47 /* with its parameter it is a knob's id */
#define NCCL_HCAS_MAX   64
#define NCCL_GID_MAX    255
#define NCCL_CLASS_MAX  255
#define SIZE_TEXT_MAX   32

static bool is_word(const char *text, const char *chars, size_t max)
{
    size_t len = strlen(text);
    return len > 0 && len <= max && strspn(text, chars) == len;
}

/* Words of VALUE_CHARS with single blanks between them ("4096 87380 6291456"). */
static bool value_is_valid(const char *text, bool blanks)
{
    size_t len = strlen(text);
    if (len == 0 || len >= FABRIC_TEXT_MAX || text[0] == ' ' || text[len - 1] == ' ')
        return false;
    return strspn(text, blanks ? VALUE_CHARS " " : VALUE_CHARS) == len &&
           strstr(text, "  ") == NULL;
}

static bool value_from_json(const json_t *value, bool blanks, char out[FABRIC_TEXT_MAX])
{
    out[0] = '\0';
    if (json_is_integer(value))
        snprintf(out, FABRIC_TEXT_MAX, "%lld", (long long)json_integer_value(value));
    else if (json_is_boolean(value) && !blanks)
        snprintf(out, FABRIC_TEXT_MAX, "%s", json_is_true(value) ? "Y" : "N");
    else if (json_is_string(value) && value_is_valid(json_string_value(value), blanks))
        snprintf(out, FABRIC_TEXT_MAX, "%s", json_string_value(value));
    return out[0] != '\0';
}

static int compare_pairs(const void *a, const void *b)
{
    const struct fabric_pair *x = a, *y = b;
    return strcmp(x->name, y->name);
}

static void parameters_from_json(struct json_reader *r, const char *module, struct fabric *fabric)
{
    const char *name;
    json_t *value;
    if (r->object == NULL)
        return;
    json_object_foreach((json_t *)r->object, name, value)
    {
        struct fabric_pair *pair = &fabric->modparams[fabric->modparam_count];
        if (fabric->modparam_count == FABRIC_MODPARAMS_MAX) {
            read_problem(r, name, "more than %d module parameters", FABRIC_MODPARAMS_MAX);
            return;
        }
        if (!is_word(name, NAME_CHARS, MODULE_NAME_MAX))
            read_problem(r, name, "no module parameter's name; letters, digits and '_'");
        else if (!value_from_json(value, false, pair->value))
            read_problem(r, name,
                         "must be an integer, true, false or a text of letters, digits and "
                         "\"_.,:+/-\"");
        else {
            snprintf(pair->name, sizeof(pair->name), "%s.%s", module, name);
            fabric->modparam_count++;
        }
    }
}

static void modules_from_json(struct json_reader *r, struct fabric *fabric)
{
    const char *module;
    json_t *parameters;
    json_object_foreach((json_t *)r->object, module, parameters)
    {
        struct json_reader sub;
        if (!is_word(module, NAME_CHARS, MODULE_NAME_MAX)) {
            read_problem(r, module, "no module's name; letters, digits and '_'");
            continue;
        }
        json_reader_child(r, module, parameters, &sub);
        parameters_from_json(&sub, module, fabric);
    }
    qsort(fabric->modparams, fabric->modparam_count, sizeof(fabric->modparams[0]), compare_pairs);
}

static void sysctls_from_json(struct json_reader *r, struct fabric *fabric)
{
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)r->object, name, value)
    {
        struct fabric_pair *pair = &fabric->sysctls[fabric->sysctl_count];
        if (fabric->sysctl_count == FABRIC_SYSCTLS_MAX) {
            read_problem(r, name, "more than %d sysctls", FABRIC_SYSCTLS_MAX);
            break;
        }
        if (!knob_sysctl_is_managed(name))
            read_problem(r, name,
                         "a sysctl's dotted name below net., vm., kernel.numa_ or kernel.sched_ is "
                         "expected");
        else if (!value_from_json(value, true, pair->value))
            read_problem(r, name,
                         "must be an integer or a text of letters, digits, \"_.,:+/-\" and single "
                         "blanks");
        else {
            snprintf(pair->name, sizeof(pair->name), "%s", name);
            fabric->sysctl_count++;
        }
    }
    qsort(fabric->sysctls, fabric->sysctl_count, sizeof(fabric->sysctls[0]), compare_pairs);
}

/* The kernel takes the larger of a port's value and of conf.all's. */
static void check_arp(struct json_reader *r, const struct fabric *fabric)
{
    for (int i = 0; i < ARP_IDS; i++) {
        char name[FABRIC_TEXT_MAX];
        snprintf(name, sizeof(name), "net.ipv4.conf.all.%s", arp_params[i].name);
        for (size_t s = 0; s < fabric->sysctl_count; s++)
            if ((fabric->arp.present & arp_bit(i)) != 0 &&
                strcmp(fabric->sysctls[s].name, name) == 0 &&
                strtol(fabric->sysctls[s].value, NULL, 10) > fabric->arp.values[i])
                read_problem(r, arp_params[i].name,
                             "%s is %s in 'sysctl', and the kernel takes the larger of the two: %d "
                             "would not be in effect on any port",
                             name, fabric->sysctls[s].value, fabric->arp.values[i]);
    }
}

static void host_from_json(struct json_reader *r, struct fabric *fabric)
{
    static const char *const modes[] = {"always", "madvise", "never", NULL};
    struct json_reader sub;
    int mode = 0;
    if (json_reader_object(r, "module_parameters", false, &sub))
        modules_from_json(&sub, fabric);
    if (json_reader_object(r, "sysctl", false, &sub))
        sysctls_from_json(&sub, fabric);
    if (json_reader_object(r, "arp", false, &sub)) {
        arp_read(&sub, &fabric->arp);
        check_arp(&sub, fabric);
        json_reader_end(&sub);
    }
    if (json_reader_object(r, "coalesce", false, &sub)) {
        coalesce_read(&sub, true, &fabric->coalesce);
        json_reader_end(&sub);
    }
    if (json_reader_enum(r, "transparent_hugepage", false, modes, &mode))
        snprintf(fabric->thp, sizeof(fabric->thp), "%s", modes[mode]);
    json_reader_end(r);
}

static void hcas_from_json(struct json_reader *r, struct fabric_nccl *nccl)
{
    const json_t *array;
    if (!json_reader_array(r, "hca_list", false, NCCL_HCAS_MAX, &array))
        return;
    for (size_t i = 0; i < json_array_size(array); i++) {
        const json_t *item = json_array_get(array, i);
        if (!json_is_string(item) ||
            !is_word(json_string_value(item), NAME_CHARS ":-", MODULE_NAME_MAX))
            read_problem(r, "hca_list",
                         "element %zu of 'hca_list' must be a device such as \"mlx5_0:1\"", i);
    }
    nccl->hcas = array;
}

static void nccl_from_json(struct json_reader *r, struct fabric_nccl *nccl)
{
    const char *text;
    int64_t class = -1, index = -1;
    struct err err = ERR_INIT;
    nccl->present = true;
    if (json_reader_string(r, "buffer_size", false, 1, SIZE_TEXT_MAX, &text) &&
        size_parse(text, &nccl->buffer_bytes, &err))
        read_problem(r, "buffer_size", "'buffer_size': %s", err.text);
    json_reader_int(r, "traffic_class", false, 0, NCCL_CLASS_MAX, &class);
    json_reader_int(r, "gid_index", false, 0, NCCL_GID_MAX, &index);
    hcas_from_json(r, nccl);
    if (read_text(r, "socket_ifname", false, 1, nccl->socket_ifname, sizeof(nccl->socket_ifname)) &&
        strspn(nccl->socket_ifname, NAME_CHARS "=^,.:-") != strlen(nccl->socket_ifname))
        read_problem(r, "socket_ifname",
                     "'socket_ifname' must be interfaces such as \"=eth0\" or \"^docker,lo\"");
    json_reader_end(r);
    nccl->traffic_class = (int)class;
    nccl->gid_index = (int)index;
}

static void firmware_from_json(struct json_reader *r, struct fabric_firmware *out)
{
    struct err err = ERR_INIT;
    int order;
    if (read_text(r, "driver", true, 1, out->driver, sizeof(out->driver)) &&
        !is_word(out->driver, NAME_CHARS "-", MODULE_NAME_MAX))
        read_problem(r, "driver", "no driver's name; letters, digits, '_' and '-'");
    if (read_text(r, "minimum", true, 1, out->minimum, sizeof(out->minimum)) &&
        version_compare(out->minimum, "0", &order, &err))
        read_problem(r, "minimum", "%s", err.text);
    json_reader_end(r);
}

void fabric_host_from_json(struct json_reader *profile, struct fabric *fabric)
{
    struct json_reader sub;
    const json_t *array;
    if (json_reader_object(profile, "host", false, &sub))
        host_from_json(&sub, fabric);
    if (json_reader_object(profile, "nccl", false, &sub))
        nccl_from_json(&sub, &fabric->nccl);
    if (!json_reader_array(profile, "firmware_minimums", false, FABRIC_FIRMWARE_MAX, &array))
        return;
    for (size_t i = 0; i < json_array_size(array); i++) {
        json_reader_element(profile, "firmware_minimums", i, json_array_get(array, i), &sub);
        firmware_from_json(&sub, &fabric->firmware[fabric->firmware_count++]);
    }
}
