/*
 * datapath/sensor_pcie.c - the PCIe links of NICs and accelerators, and the errors that the bus
 * reported of them (AER). See sensor.h.
 */
#include "datapath/sensor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "datapath/sys/sys.h"

static const struct telemetry_name gen = {"link_gen", TELEMETRY_GAUGE, 0},
                                   gen_max = {"link_gen_max", TELEMETRY_GAUGE, 0},
                                   gen_idles = {"link_gen_idles", TELEMETRY_GAUGE, 0},
                                   width = {"link_width_lanes", TELEMETRY_GAUGE, 0},
                                   width_max = {"link_width_max_lanes", TELEMETRY_GAUGE, 0};

/* Linux: Documentation/ABI/testing/sysfs-bus-pci-devices-aer_stats. */
static const struct {
    const char *file, *total;
    struct telemetry_name name;
} errors[] = {
    {"aer_dev_correctable", "TOTAL_ERR_COR", {"aer_correctable", TELEMETRY_STAYS, 0}},
    {"aer_dev_nonfatal", "TOTAL_ERR_NONFATAL", {"aer_nonfatal", TELEMETRY_STAYS, 0}},
    {"aer_dev_fatal", "TOTAL_ERR_FATAL", {"aer_fatal", TELEMETRY_STAYS, 0}},
};

bool sensor_aer_value(const char *text, const char *name, int64_t *out)
{
    size_t len = strlen(name);
    for (const char *line = text; *line != '\0';
         line += strcspn(line, "\n"), line += *line == '\n') {
        char number[24];
        if (strncmp(line, name, len) != 0 || line[len] != ' ')
            continue;
        text_copy(number, sizeof(number), line + len + 1);
        number[strcspn(number, " \r\n")] = '\0';
        return sys_parse_int(number, out) && *out >= 0;
    }
    return false;
}

static void put_known(struct sensor_readings *out, const struct telemetry_name *name, int value)
{
    if (value > 0)
        sensor_put(out, name, value);
}

/* Display controllers and processing accelerators save power: idle ones slow their links down. PCI
 * Code and ID Assignment Specification, base classes 03h and 12h. */
static bool is_accelerator(const char *root, const char *folder)
{
    char path[SYS_PATH_MAX + 32], text[SYS_VALUE_MAX];
    snprintf(path, sizeof(path), "%s/class", folder);
    return sys_read(root, path, text, sizeof(text), NULL) == ERR_OK &&
           (strncmp(text, "0x03", 4) == 0 || strncmp(text, "0x12", 4) == 0);
}

static void look_at(const struct sensor_files *state, const char *address,
                    struct sensor_readings *out)
{
    char folder[SYS_PATH_MAX], path[SYS_PATH_MAX + 32], text[SYS_VALUE_MAX];
    struct pci_link link;
    int64_t value;
    snprintf(folder, sizeof(folder), "/sys/bus/pci/devices/%s", address);
    sensor_subject(out, TELEMETRY_PCIE, address, 0);
    pci_link_get(state->root, folder, &link);
    put_known(out, &gen, link.current_gen);
    put_known(out, &gen_max, link.max_gen);
    if (is_accelerator(state->root, folder))
        sensor_put(out, &gen_idles, 1);
    put_known(out, &width, link.current_width);
    put_known(out, &width_max, link.max_width);
    for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
        snprintf(path, sizeof(path), "%s/%s", folder, errors[i].file);
        if (sys_read(state->root, path, text, sizeof(text), NULL) == ERR_OK &&
            sensor_aer_value(text, errors[i].total, &value))
            sensor_put(out, &errors[i].name, value);
    }
}

static void look(void *arg, struct sensor_readings *out)
{
    struct sensor_files *state = arg;
    sensor_scan(state->root, &state->devices);
    for (size_t i = 0; i < state->devices.count; i++)
        look_at(state, state->devices.addresses[i], out);
}

const struct sensor_kind sensor_pcie = {
    .name = "pcie", .start = sensor_files_start, .look = look, .free = free};
