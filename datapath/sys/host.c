/*
 * datapath/sys/host.c - see host.h.
 */
#include "datapath/sys/host.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/own.h"
#include "datapath/facts.h"
#include "datapath/sys/cpu.h"
#include "datapath/sys/sys.h"

#define TEXT_SIZE 128

static void put_file(const char *root, const char *path, json_t *object, const char *key)
{
    char text[TEXT_SIZE];
    if (sys_read(root, path, text, sizeof(text), NULL) == ERR_OK)
        fact_text(object, key, text);
}

/* The board, as its maker wrote it down (DMI). Serial numbers of machines are nobody's business. */
static json_t *board_facts(const char *root)
{
    json_t *host = json_object();
    put_file(root, "/sys/class/dmi/id/sys_vendor", host, "vendor");
    put_file(root, "/sys/class/dmi/id/product_name", host, "product");
    put_file(root, "/sys/class/dmi/id/bios_version", host, "bios");
    return host;
}

static json_t *memory_facts(const char *root)
{
    char text[2048], value[TEXT_SIZE];
    size_t len;
    json_t *memory = json_object();
    if (sys_read_head(root, "/proc/meminfo", text, sizeof(text), &len, NULL) != ERR_OK)
        return memory;
    static const struct {
        const char *field, *key;
        int64_t unit, least;
    } rows[] = {{"MemTotal", "total_bytes", 1024, 1},
                {"HugePages_Total", "huge_pages", 1, 0},
                {"Hugepagesize", "huge_page_bytes", 1024, 1}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (!cpu_field(text, rows[i].field, value, sizeof(value)) || value[0] < '0' ||
            value[0] > '9')
            continue;
        long long number = strtoll(value, NULL, 10);
        if (number <= INT64_MAX / rows[i].unit)
            fact_int(memory, rows[i].key, number * rows[i].unit, rows[i].least);
    }
    return memory;
}

static json_t *thp_facts(const char *root)
{
    static const char *const keys[] = {"enabled", "defrag"};
    char path[SYS_PATH_MAX], text[TEXT_SIZE], choice[TEXT_SIZE];
    json_t *thp = json_object();
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        snprintf(path, sizeof(path), "/sys/kernel/mm/transparent_hugepage/%s", keys[i]);
        if (sys_read(root, path, text, sizeof(text), NULL) == ERR_OK &&
            thp_choice(text, choice, sizeof(choice)))
            fact_text(thp, keys[i], choice);
    }
    return thp;
}

static json_t *sysctl_facts(const char *root)
{
    /* What RDMA and its connection set-up depend on; others are knobs of the profile. */
    static const char *const names[] = {"net.solar.flow_steering",
                                        "kernel.numa_balancing",
                                        "vm.zone_reclaim_mode",
                                        "vm.overcommit_memory",
                                        "net.core.rmem_max",
                                        "net.core.wmem_max",
                                        "net.core.netdev_max_backlog",
                                        "net.ipv4.conf.all.arp_announce",
                                        "net.ipv4.conf.all.arp_ignore",
                                        "net.ipv4.conf.all.rp_filter",
                                        "net.ipv4.tcp_ecn"};
    char value[TEXT_SIZE];
    json_t *settings = json_object();
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (sysctl_get(root, names[i], value, sizeof(value), NULL) == ERR_OK)
            json_object_set_new(settings, names[i], json_string(value)); /* 0 is a value */
    return settings;
}

/* Modules ------------------------------------------------------------------------------------- */

static json_t *module_facts(const char *root, const char *name)
{
    char path[SYS_PATH_MAX], value[TEXT_SIZE];
    OWN_SYS_LIST struct sys_list params;
    json_t *module = json_object(), *values = json_object();
    snprintf(path, sizeof(path), "/sys/module/%s/version", name);
    put_file(root, path, module, "version");
    snprintf(path, sizeof(path), "/sys/module/%s/parameters", name);
    sys_list(root, path, &params);
    for (size_t i = 0; i < params.count && i < HOST_PARAMS_MAX; i++) {
        snprintf(path, sizeof(path), "/sys/module/%s/parameters/%s", name, params.names[i]);
        if (sys_read(root, path, value, sizeof(value), NULL) == ERR_OK)
            json_object_set_new(values, params.names[i], json_string(value));
    }
    fact_part(module, "parameters", values);
    return module;
}

static void put_module(const char *root, const char *name, json_t *modules)
{
    char path[SYS_PATH_MAX];
    if (name[0] == '\0' || strchr(name, '/') != NULL ||
        json_object_size(modules) == HOST_MODULES_MAX || json_object_get(modules, name) != NULL)
        return;
    snprintf(path, sizeof(path), "/sys/module/%s", name);
    if (sys_exists(root, path))
        json_object_set_new(modules, name, module_facts(root, name));
}

static json_t *modules_facts(const char *root, const char *const *drivers)
{
    static const char *const usual[] = {"ib_core",        "ib_uverbs", "rdma_cm",    "rdma_rxe",
                                        "mlx5_ib",        "bnxt_re",   "irdma",      "nvidia",
                                        "nvidia_peermem", "gdrdrv",    "solar_rdma", NULL};
    json_t *modules = json_object();
    for (const char *const *name = usual; *name != NULL; name++)
        put_module(root, *name, modules);
    for (; drivers != NULL && *drivers != NULL; drivers++)
        put_module(root, *drivers, modules);
    return modules;
}

/* PRETTY_NAME="Debian GNU/Linux 12 (bookworm)" */
static void put_os(const char *root, json_t *facts)
{
    static const char key[] = "PRETTY_NAME=";
    char text[2048], name[TEXT_SIZE];
    size_t len;
    if (sys_read_head(root, "/etc/os-release", text, sizeof(text), &len, NULL) != ERR_OK)
        return;
    const char *at =
        strncmp(text, key, sizeof(key) - 1) == 0 ? text : strstr(text, "\nPRETTY_NAME=");
    if (at == NULL)
        return;
    at = strchr(at, '=') + 1;
    at += *at == '"';
    snprintf(name, sizeof(name), "%.*s", (int)strcspn(at, "\"\n"), at);
    fact_text(facts, "os", name);
}

json_t *host_facts(const char *root, const char *const *drivers)
{
    struct utsname name;
    json_t *facts = json_object();
    if (facts == NULL)
        return NULL;
    if (uname(&name) == 0) {
        fact_text(facts, "hostname", name.nodename);
        fact_text(facts, "kernel", name.release);
    }
    put_os(root, facts);
    fact_part(facts, "cpu", cpu_facts(root));
    fact_part(facts, "memory", memory_facts(root));
    fact_part(facts, "thp", thp_facts(root));
    fact_part(facts, "sysctl", sysctl_facts(root));
    fact_part(facts, "modules", modules_facts(root, drivers));
    fact_part(facts, "host", board_facts(root));
    return facts;
}
