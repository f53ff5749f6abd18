/*
 * fleet/compat_fact.c - see compat_fact.h.
 */
#include "fleet/compat_fact.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "base/units.h"
#include "fleet/version.h"

static void put_text(struct fact_value *out, const char *text)
{
    *out = (struct fact_value){.known = text[0] != '\0', .text = text};
}

static void put_number(struct fact_value *out, int64_t number)
{
    *out = (struct fact_value){.known = number >= 0, .number = number};
}

/* A reader of one member: GET(name, type, member, put). */
#define GET(name, type, member, put)                                                               \
    static void name(const void *item, struct fact_value *out)                                     \
    {                                                                                              \
        put(out, ((const type *)item)->member);                                                    \
    }
GET(nic_driver, struct port, driver, put_text)
GET(nic_product, struct port, product, put_text)
GET(nic_psid, struct port, psid, put_text)
GET(nic_firmware, struct port, firmware, put_text)
GET(nic_speed, struct port, speed_bps, put_number)
GET(nic_mtu, struct port, mtu_bytes, put_number)
GET(nic_virtual, struct port, virtual_function, put_number)
GET(nic_gen, struct port, pcie.current_gen, put_number)
GET(nic_width, struct port, pcie.current_width, put_number)
GET(gpu_model, struct gpu, model, put_text)
GET(gpu_firmware, struct gpu, firmware, put_text)
GET(gpu_driver, struct gpu, driver, put_text)
GET(gpu_memory, struct gpu, memory_bytes, put_number)
GET(gpu_nvlink, struct gpu, nvlink_bps, put_number)
GET(gpu_gen, struct gpu, pcie.current_gen, put_number)
GET(gpu_width, struct gpu, pcie.current_width, put_number)
GET(cpu_model, struct cpu, model, put_text)
GET(cpu_architecture, struct cpu, architecture, put_text)
GET(cpu_iommu, struct cpu, iommu, put_text)
GET(switch_vendor, struct switch_info, vendor, put_text)
GET(switch_model, struct switch_info, model, put_text)
GET(switch_firmware, struct switch_info, firmware, put_text)
GET(switch_pfc, struct switch_info, pfc, put_number)
GET(switch_ecn, struct switch_info, ecn, put_number)

/* RDMA in hardware; a software device (rxe) shares whatever link its host has. */
static void nic_rdma(const void *item, struct fact_value *out)
{
    const struct port *port = item;
    put_number(out, port->rdma_device[0] != '\0' && !port->rdma_software);
}

/* Known only when both ends of a comparison are; one that is known to be less decides. */
static void nic_full(const void *item, struct fact_value *out)
{
    const struct pcie_link *link = &((const struct port *)item)->pcie;
    bool gen = link->current_gen > 0 && link->max_gen > 0;
    bool width = link->current_width > 0 && link->max_width > 0;
    bool less = (gen && link->current_gen < link->max_gen) ||
                (width && link->current_width < link->max_width);
    *out = (struct fact_value){.known = less || (gen && width), .number = !less};
}

static const struct compat_fact facts[] = {
    {COMPAT_NIC, "driver", FACT_TEXT, "driver", false, nic_driver},
    {COMPAT_NIC, "product", FACT_TEXT, "product", false, nic_product},
    {COMPAT_NIC, "psid", FACT_TEXT, "PSID", false, nic_psid},
    {COMPAT_NIC, "firmware", FACT_VERSION, "firmware", false, nic_firmware},
    {COMPAT_NIC, "speed_bps", FACT_NUMBER, "speed", true, nic_speed},
    {COMPAT_NIC, "mtu_bytes", FACT_NUMBER, "MTU in bytes", false, nic_mtu},
    {COMPAT_NIC, "rdma", FACT_FLAG, "RDMA in hardware", false, nic_rdma},
    {COMPAT_NIC, "virtual_function", FACT_FLAG, "virtual function", false, nic_virtual},
    {COMPAT_NIC, "pcie_gen", FACT_NUMBER, "PCIe generation", false, nic_gen},
    {COMPAT_NIC, "pcie_width", FACT_NUMBER, "PCIe lanes", false, nic_width},
    {COMPAT_NIC, "pcie_full", FACT_FLAG, "full PCIe width and speed", false, nic_full},
    {COMPAT_GPU, "model", FACT_TEXT, "model", false, gpu_model},
    {COMPAT_GPU, "firmware", FACT_VERSION, "firmware", false, gpu_firmware},
    {COMPAT_GPU, "driver", FACT_VERSION, "driver", false, gpu_driver},
    {COMPAT_GPU, "memory_bytes", FACT_NUMBER, "memory in bytes", false, gpu_memory},
    {COMPAT_GPU, "nvlink_bps", FACT_NUMBER, "NVLink bandwidth", true, gpu_nvlink},
    {COMPAT_GPU, "pcie_gen", FACT_NUMBER, "PCIe generation", false, gpu_gen},
    {COMPAT_GPU, "pcie_width", FACT_NUMBER, "PCIe lanes", false, gpu_width},
    {COMPAT_CPU, "model", FACT_TEXT, "model", false, cpu_model},
    {COMPAT_CPU, "architecture", FACT_TEXT, "architecture", false, cpu_architecture},
    {COMPAT_CPU, "iommu", FACT_TEXT, "IOMMU", false, cpu_iommu},
    {COMPAT_SWITCH, "vendor", FACT_TEXT, "vendor", false, switch_vendor},
    {COMPAT_SWITCH, "model", FACT_TEXT, "model", false, switch_model},
    {COMPAT_SWITCH, "firmware", FACT_VERSION, "firmware", false, switch_firmware},
    {COMPAT_SWITCH, "pfc", FACT_FLAG, "PFC", false, switch_pfc},
    {COMPAT_SWITCH, "ecn", FACT_FLAG, "ECN", false, switch_ecn},
};

const struct compat_fact *compat_fact_get(enum compat_subject subject, const char *name)
{
    for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); i++)
        if (facts[i].subject == subject && strcmp(facts[i].name, name) == 0)
            return &facts[i];
    return NULL;
}

static bool matches(const struct compat_condition *condition, const char *text)
{
    for (size_t i = 0; i < condition->pattern_count; i++)
        if (fnmatch(condition->patterns[i], text, FNM_NOESCAPE) == 0)
            return true;
    return false;
}

enum fact_verdict compat_condition_check(const struct compat_condition *condition, const void *item)
{
    struct fact_value value;
    bool met = false;
    int order;
    condition->fact->get(item, &value);
    if (!value.known)
        return FACT_UNKNOWN;
    switch (condition->fact->kind) {
    case FACT_TEXT:
        met = matches(condition, value.text);
        break;
    case FACT_VERSION:
        if (!version_order(value.text, condition->version, &order))
            return FACT_UNKNOWN;
        met = order >= 0;
        break;
    case FACT_NUMBER:
        met = value.number >= condition->number;
        break;
    case FACT_FLAG:
        met = (value.number != 0) == condition->is;
        break;
    }
    return met ? FACT_MET : FACT_FAILED;
}

static void number_text(const struct compat_fact *fact, int64_t number, char out[FACT_TEXT_MAX])
{
    if (fact->is_rate)
        rate_format(number, out);
    else
        snprintf(out, FACT_TEXT_MAX, "%lld", (long long)number);
}

void compat_condition_observed(const struct compat_condition *condition, const void *item,
                               char out[FACT_TEXT_MAX])
{
    struct fact_value value;
    condition->fact->get(item, &value);
    if (compat_condition_check(condition, item) == FACT_UNKNOWN)
        snprintf(out, FACT_TEXT_MAX, COMPAT_UNKNOWN);
    else if (value.text != NULL)
        text_copy(out, FACT_TEXT_MAX, value.text);
    else if (condition->fact->kind == FACT_FLAG)
        snprintf(out, FACT_TEXT_MAX, "%s", value.number != 0 ? "yes" : "no");
    else
        number_text(condition->fact, value.number, out);
}

void compat_condition_wanted(const struct compat_condition *condition, char out[FACT_TEXT_MAX])
{
    char number[FACT_TEXT_MAX];
    switch (condition->fact->kind) {
    case FACT_TEXT:
        snprintf(out, FACT_TEXT_MAX, "%s%s", condition->patterns[0],
                 condition->pattern_count > 1 ? " or another of the rule's" : "");
        break;
    case FACT_VERSION:
        snprintf(out, FACT_TEXT_MAX, "%s", condition->version);
        break;
    case FACT_NUMBER:
        number_text(condition->fact, condition->number, number);
        text_copy(out, FACT_TEXT_MAX, number);
        break;
    case FACT_FLAG:
        snprintf(out, FACT_TEXT_MAX, "%s", condition->is ? "yes" : "no");
        break;
    }
}
