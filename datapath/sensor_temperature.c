/*
 * datapath/sensor_temperature.c - what the kernel's hardware monitors say of NICs and accelerators:
 * the row's number is that of the sensor on its device. See sensor.h.
 */
#include "datapath/sensor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "datapath/sys/sys.h"

#define FOLDER      "/sys/class/hwmon"
#define FOLDER_SIZE 128
/* What no device's sensor says and lives: a driver's "no answer". */
#define COLDEST_MC (-100000)
#define HOTTEST_MC 250000

static const struct {
    const char *suffix;
    struct telemetry_name name;
} values[] = {
    {"input", {"temperature_millicelsius", TELEMETRY_GAUGE, 0}},
    {"crit", {"temperature_critical_millicelsius", TELEMETRY_GAUGE, 0}},
};

static bool is_ours(const struct sensor_devices *devices, const char *address)
{
    for (size_t i = 0; i < devices->count; i++)
        if (strcmp(devices->addresses[i], address) == 0)
            return true;
    return false;
}

/* "temp12_input" -> 12; 0 = it is none. */
static uint32_t sensor_number(const char *file)
{
    char *end;
    if (strncmp(file, "temp", 4) != 0 || file[4] < '1' || file[4] > '9')
        return 0;
    unsigned long number = strtoul(file + 4, &end, 10);
    return strcmp(end, "_input") == 0 && number <= UINT16_MAX ? (uint32_t)number : 0;
}

static void look_at(const char *root, const char *monitor, const char *address, uint32_t number,
                    struct sensor_readings *out)
{
    char path[SYS_PATH_MAX], text[64];
    int64_t value;
    sensor_subject(out, TELEMETRY_TEMPERATURE, address, number);
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        snprintf(path, sizeof(path), "%s/temp%u_%s", monitor, number, values[i].suffix);
        if (sys_read(root, path, text, sizeof(text), NULL) == ERR_OK &&
            sys_parse_int(text, &value) && value > COLDEST_MC && value < HOTTEST_MC)
            sensor_put(out, &values[i].name, value);
    }
}

static void look(void *arg, struct sensor_readings *out)
{
    struct sensor_files *state = arg;
    OWN_SYS_LIST struct sys_list monitors;
    char monitor[FOLDER_SIZE], path[SYS_PATH_MAX], address[SYS_NAME_MAX];
    sensor_scan(state->root, &state->devices);
    sys_list(state->root, FOLDER, &monitors);
    for (size_t i = 0; i < monitors.count; i++) {
        OWN_SYS_LIST struct sys_list files = {0};
        snprintf(monitor, sizeof(monitor), "%s/%.64s", FOLDER, monitors.names[i]);
        snprintf(path, sizeof(path), "%s/device", monitor);
        if (!sys_link_name(state->root, path, address, sizeof(address)) ||
            !is_ours(&state->devices, address))
            continue;
        sys_list(state->root, monitor, &files);
        for (size_t f = 0; f < files.count; f++) {
            uint32_t number = sensor_number(files.names[f]);
            if (number > 0)
                look_at(state->root, monitor, address, number, out);
        }
    }
}

const struct sensor_kind sensor_temperature = {
    .name = "temperature", .start = sensor_files_start, .look = look, .free = free};
