/*
 * fleet/evidence/gpu_name.c - one name for what nvidia-smi calls differently, and the rules over
 * it.
 */
#include "fleet/evidence/gpu_name.h"

#include <stdio.h>
#include <string.h>

#include "fleet/evidence/rules_logs.h"

/* The path in small letters, with dots between parts, as it comes out of to_name(); what it is
 * called. */
static const struct {
    const char *path, *name;
} names[] = {
    /* XML */
    {"remapped_rows.remapped_row_corr", "remapped_rows.correctable_error"},
    {"remapped_rows.remapped_row_unc", "remapped_rows.uncorrectable_error"},
    {"remapped_rows.remapped_row_pending", "remapped_rows.pending"},
    {"remapped_rows.remapped_row_failure", "remapped_rows.remapping_failure_occurred"},
    {"pci.pci_gpu_link_info.link_widths.current_link_width",
     "pci.gpu_link_info.link_width.current"},
    {"pci.pci_gpu_link_info.link_widths.max_link_width", "pci.gpu_link_info.link_width.max"},
    {"pci.pci_gpu_link_info.pcie_gen.current_link_gen",
     "pci.gpu_link_info.pcie_generation.current"},
    {"pci.pci_gpu_link_info.pcie_gen.max_link_gen", "pci.gpu_link_info.pcie_generation.max"},
    {"retired_pages.pending_retirement", "retired_pages.pending_page_blacklist"},
    {"retired_pages.pending_blacklist", "retired_pages.pending_page_blacklist"},
    {"uuid", "gpu_uuid"},
    {"serial", "serial_number"},
    {"temperature.gpu_temp", "temperature.gpu_current_temp"},
    {"clocks_event_reasons.clocks_event_reason_hw_slowdown", "clocks_event_reasons.hw_slowdown"},
    {"clocks_event_reasons.clocks_event_reason_hw_thermal_slowdown",
     "clocks_event_reasons.hw_thermal_slowdown"},
    {"clocks_event_reasons.clocks_event_reason_hw_power_brake_slowdown",
     "clocks_event_reasons.hw_power_brake_slowdown"},
    /* -q has them one deeper */
    {"clocks_event_reasons.hw_slowdown.hw_thermal_slowdown",
     "clocks_event_reasons.hw_thermal_slowdown"},
    {"clocks_event_reasons.hw_slowdown.hw_power_brake_slowdown",
     "clocks_event_reasons.hw_power_brake_slowdown"},
    /* columns of --query-gpu */
    {"remapped_rows.correctable", "remapped_rows.correctable_error"},
    {"remapped_rows.uncorrectable", "remapped_rows.uncorrectable_error"},
    {"remapped_rows.failure", "remapped_rows.remapping_failure_occurred"},
    {"name", "product_name"},
    {"gpu_name", "product_name"},
    {"pci.bus_id", "pci.bus_id"},
    {"gpu_bus_id", "pci.bus_id"},
    {"gpu_serial", "serial_number"},
    {"vbios_version", "vbios_version"},
    {"pcie.link.gen.current", "pci.gpu_link_info.pcie_generation.current"},
    {"pcie.link.gen.max", "pci.gpu_link_info.pcie_generation.max"},
    {"pcie.link.width.current", "pci.gpu_link_info.link_width.current"},
    {"pcie.link.width.max", "pci.gpu_link_info.link_width.max"},
    {"temperature.gpu", "temperature.gpu_current_temp"},
    {"temperature.memory", "temperature.memory_current_temp"},
    {"memory.total", "fb_memory_usage.total"},
    {"memory.used", "fb_memory_usage.used"},
    {"memory.free", "fb_memory_usage.free"},
    {"utilization.gpu", "utilization.gpu"},
    {"power.draw", "gpu_power_readings.power_draw"},
    {"ecc.mode.current", "ecc_mode.current"},
    {"ecc.errors.uncorrected.volatile.total", "ecc_errors.volatile.uncorrectable"},
    {"ecc.errors.uncorrected.aggregate.total", "ecc_errors.aggregate.uncorrectable"},
    {"ecc.errors.corrected.volatile.total", "ecc_errors.volatile.correctable"},
    {"ecc.errors.corrected.aggregate.total", "ecc_errors.aggregate.correctable"},
    {"retired_pages.pending", "retired_pages.pending_page_blacklist"},
    {"clocks_throttle_reasons.hw_slowdown", "clocks_event_reasons.hw_slowdown"},
    {"clocks_throttle_reasons.hw_thermal_slowdown", "clocks_event_reasons.hw_thermal_slowdown"},
    {"clocks_throttle_reasons.hw_power_brake_slowdown",
     "clocks_event_reasons.hw_power_brake_slowdown"},
    {"fabric.state", "fabric.state"},
};

static char to_char(char c)
{
    if (c >= 'A' && c <= 'Z')
        return (char)(c - 'A' + 'a');
    if (c == '/')
        return '.';
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' ? c : '_';
}

void gpu_fact_name(struct slice path, char *out, size_t size)
{
    size_t n = 0;
    for (size_t i = 0; i < path.len && n + 1 < size; i++) {
        char c = to_char(path.at[i]);
        if (c != '_' || (n > 0 && out[n - 1] != '_' && out[n - 1] != '.'))
            out[n++] = c;
    }
    while (n > 0 && out[n - 1] == '_')
        n--;
    out[n] = '\0';
    /* Drivers before R545 called the section by another name. */
    static const char before[] = "clocks_throttle_reasons.", now[] = "clocks_event_reasons.";
    if (strncmp(out, before, sizeof(before) - 1) == 0) {
        char rest[EVIDENCE_NAME_MAX];
        snprintf(rest, sizeof(rest), "%s", out + sizeof(before) - 1);
        snprintf(out, size, "%s%.60s", now, rest);
    }
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcmp(out, names[i].path) == 0) {
            snprintf(out, size, "%s", names[i].name);
            return;
        }
    }
}

static const char *const units[] = {"MiB", "KiB", "GiB", "MB", "GB",   "W",    "mW",      "C",
                                    "MHz", "mV",  "us",  "ms", "KB/s", "MB/s", "bank(s)", "%"};

/* Names whose values are never numbers, whatever they look like. */
static bool is_text(const char *name)
{
    static const char *const parts[] = {"version", "serial", "part_number", "bus_id", "uuid",
                                        "_id",     "name",   "timestamp",   "object"};
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        if (strstr(name, parts[i]) != NULL)
            return true;
    }
    return false;
}

void gpu_put(struct evidence_job *job, size_t line, const char *name, struct slice value)
{
    struct slice rest;
    value = slice_trim(value);
    if (slice_is_unknown(value) || slice_is_nocase(value, "[Not Supported]") ||
        slice_is_nocase(value, "Not Supported") || slice_is_nocase(value, "Unknown Error") ||
        slice_is_nocase(value, "[Unknown Error]") || slice_is_nocase(value, "ERR!")) {
        put_unknown(job, line, name);
        return;
    }
    struct number number = number_front(value, &rest);
    if (is_text(name) || number.kind == NUMBER_NONE) {
        put_text(job, line, name, value);
        return;
    }
    if (rest.len == 0 || (slice_is(rest, "x") && strstr(name, "link_width") != NULL)) {
        put_number(job, line, name, slice_of(number.text), "");
        return;
    }
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        if (slice_is(rest, units[i])) {
            put_number(job, line, name, slice_of(number.text), units[i]);
            return;
        }
    }
    put_text(job, line, name, value);
}

static void judge_ecc(struct evidence_job *job, size_t line, const char *name, struct slice value)
{
    struct number number = number_read(value);
    bool wrong = strstr(name, "uncorrect") != NULL || strstr(name, "double_bit") != NULL;
    if (!wrong || strncmp(name, "ecc_errors.", 11) != 0 || !number.is_unsigned || number.value == 0)
        return;
    bool past = strstr(name, "aggregate") != NULL;
    put_finding(job, line, past ? RULE_GPU_ECC_PAST : RULE_GPU_ECC, "%s is %s", name, number.text);
}

/* Rules over one value that is a word. */
static const struct {
    const char *name, *word, *rule, *text;
} words[] = {
    {"remapped_rows.pending", "Yes", RULE_REMAP_PENDING, "rows wait to be remapped"},
    {"remapped_rows.pending", "1", RULE_REMAP_PENDING, "rows wait to be remapped"},
    {"retired_pages.pending_page_blacklist", "Yes", RULE_REMAP_PENDING, "pages wait to be retired"},
    {"remapped_rows.remapping_failure_occurred", "Yes", RULE_REMAP_FAILED, "remapping failed"},
    {"remapped_rows.remapping_failure_occurred", "1", RULE_REMAP_FAILED, "remapping failed"},
    {"gpu_reset_status.reset_required", "Yes", RULE_GPU_RESET, "a reset is required"},
    {"gpu_reset_status.drain_and_reset_recommended", "Yes", RULE_GPU_RESET,
     "drain and reset is recommended"},
    {"clocks_event_reasons.hw_slowdown", "Active", RULE_GPU_SLOWDOWN, "HW slowdown is active"},
    {"clocks_event_reasons.hw_thermal_slowdown", "Active", RULE_GPU_SLOWDOWN,
     "HW thermal slowdown is active"},
    {"clocks_event_reasons.hw_power_brake_slowdown", "Active", RULE_GPU_SLOWDOWN,
     "HW power brake is active"},
    {"fabric.health.bandwidth", "Degraded", RULE_GPU_FABRIC,
     "the bandwidth of its fabric is degraded"},
    {"fabric.health.summary", "Unhealthy", RULE_GPU_FABRIC, "its fabric is not healthy"},
    {"fabric.status", "Failure", RULE_GPU_FABRIC, "it did not register with its fabric"},
    {"gpu_recovery_action", "Reset", RULE_GPU_RESET, "its recovery action is a reset"},
    {"gpu_recovery_action", "Reboot", RULE_GPU_RESET, "its recovery action is to reboot the node"},
    {"gpu_recovery_action", "Drain P2P", RULE_GPU_RESET, "its recovery action is to drain it"},
    {"gpu_recovery_action", "Drain and Reset", RULE_GPU_RESET,
     "its recovery action is to drain and reset it"},
    {"ecc_errors.aggregate.sram_threshold_exceeded", "Yes", RULE_REMAP_FAILED,
     "the threshold of SRAM errors is exceeded"},
};

void gpu_judge(struct evidence_job *job, size_t line, const char *name, struct slice value,
               struct gpu_seen *seen)
{
    uint64_t width;
    seen->ecc = seen->ecc || strncmp(name, "ecc_errors", 10) == 0;
    seen->remap = seen->remap || strncmp(name, "remapped_rows", 13) == 0 ||
                  strncmp(name, "retired_pages", 13) == 0;
    judge_ecc(job, line, name, value);
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (strcmp(name, words[i].name) == 0 && slice_is(value, words[i].word))
            put_finding(job, line, words[i].rule, "%s", words[i].text);
    }
    if (strcmp(name, "fabric.state") == 0 && !slice_is(value, "Completed") &&
        !slice_is_unknown(value))
        put_finding(job, line, RULE_GPU_FABRIC, "the state of its fabric is %.*s", (int)value.len,
                    value.at);
    if (slice_has(value, "Unknown Error") || slice_is(value, "ERR!") ||
        slice_has(value, "GPU is lost"))
        put_finding(job, line, RULE_GPU_LOST, "%s is %.*s", name, (int)value.len, value.at);
    struct slice digits = value;
    if (slice_ends(digits, "x"))
        digits.len--;
    if (!slice_uint(digits, &width))
        return;
    if (strcmp(name, "pci.gpu_link_info.link_width.max") == 0)
        seen->width_max = width;
    if (strcmp(name, "pci.gpu_link_info.link_width.current") == 0) {
        seen->width = width;
        seen->width_line = line;
    }
    if (seen->width > 0 && seen->width < seen->width_max) {
        put_finding(job, seen->width_line, RULE_GPU_PCIE, "PCIe x%u of x%u", (unsigned)seen->width,
                    (unsigned)seen->width_max);
        seen->width = 0;
    }
}

void gpu_judge_end(struct evidence_job *job, size_t line, const struct gpu_seen *seen)
{
    if (!seen->ecc || !seen->remap)
        put_finding(job, line, RULE_GPU_UNKNOWN, "there is no section '%s': it is unknown",
                    seen->ecc ? "Remapped Rows" : "ECC Errors");
}

void gpu_put_listed(struct evidence_job *job, size_t i)
{
    struct slice rest = job_line(job, i), index, name, uuid;
    (void)slice_skip(&rest, "GPU ");
    (void)slice_split(rest, ':', &index, &rest);
    const char *open = slice_find(rest, "(UUID: ");
    if (open == NULL || !slice_after(rest, "(UUID: ", &uuid))
        return;
    name = slice_trim((struct slice){.at = rest.at, .len = (size_t)(open - rest.at)});
    if (slice_ends(uuid, ")"))
        uuid.len--;
    job_subject(job, "gpu %.*s", (int)index.len, index.at);
    put_text(job, i, "product_name", name);
    put_text(job, i, "gpu_uuid", uuid);
}
