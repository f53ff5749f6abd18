/*
 * datapath/sensors.c - see sensors.h; what the kinds share.
 */
#include "datapath/sensors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "datapath/sensor.h"
#include "datapath/sys/aside.h"
#include "datapath/sys/gpu.h"
#include "datapath/sys/sys.h"

static const struct sensor_kind *const kinds[] = {
    &sensor_host, &sensor_irq, &sensor_pcie, &sensor_temperature, &sensor_ptp, &sensor_gpu,
};
#define KIND_COUNT (sizeof(kinds) / sizeof(kinds[0]))

/* A kind's state, and its readings; it is lent to the thread that looks. */
struct work {
    const struct sensor_kind *kind;
    struct sensor_config config;
    void *state; /* made by the first look */
    struct sensor_readings readings;
};

struct sensors {
    struct sensor_config config;
    struct aside *aside;
    struct work *works[KIND_COUNT]; /* owned; NULL = to be made, the last one hangs or hung */
};

/* Readings ------------------------------------------------------------------------------------- */

void sensor_subject(struct sensor_readings *readings, enum telemetry_kind kind, const char *device,
                    uint32_t number)
{
    readings->kind = kind;
    readings->number = number;
    text_copy(readings->device, sizeof(readings->device), device);
}

void sensor_put(struct sensor_readings *readings, const struct telemetry_name *name, int64_t value)
{
    if (readings->count == SENSOR_READINGS_MAX)
        return;
    if (readings->count == readings->room) {
        size_t room = readings->room == 0 ? 64 : readings->room * 2;
        struct sensor_reading *grown = realloc(readings->items, room * sizeof(*grown));
        if (grown == NULL)
            return;
        readings->items = grown;
        readings->room = room;
    }
    struct sensor_reading *reading = &readings->items[readings->count++];
    *reading = (struct sensor_reading){
        .kind = readings->kind, .number = readings->number, .name = name, .value = value};
    memcpy(reading->device, readings->device, sizeof(reading->device));
}

/* Devices -------------------------------------------------------------------------------------- */

static void add_device(const char *root, struct sensor_devices *devices, const char *address)
{
    char folder[SYS_PATH_MAX];
    for (size_t i = 0; i < devices->count; i++)
        if (strcmp(devices->addresses[i], address) == 0)
            return;
    snprintf(folder, sizeof(folder), "/sys/bus/pci/devices/%s", address);
    if (devices->count == SENSOR_DEVICES_MAX || strlen(address) >= SENSOR_ADDRESS_SIZE ||
        !sys_exists(root, folder) || pci_is_virtual(root, folder))
        return;
    text_copy(devices->addresses[devices->count++], SENSOR_ADDRESS_SIZE, address);
}

static void scan_class(const char *root, const char *class, struct sensor_devices *devices)
{
    OWN_SYS_LIST struct sys_list list;
    char path[SYS_PATH_MAX], address[SYS_NAME_MAX];
    sys_list(root, class, &list);
    for (size_t i = 0; i < list.count; i++) {
        snprintf(path, sizeof(path), "%s/%.128s/device", class, list.names[i]);
        if (sys_link_name(root, path, address, sizeof(address)))
            add_device(root, devices, address);
    }
}

void sensor_scan(const char *root, struct sensor_devices *devices)
{
    size_t i;
    json_t *gpu;
    if (devices->looks_left-- > 0)
        return;
    *devices = (struct sensor_devices){.looks_left = SENSOR_RESCAN};
    scan_class(root, "/sys/class/net", devices);
    scan_class(root, "/sys/class/infiniband", devices);
    json_t *gpus = gpu_pci_list(root);
    json_array_foreach(gpus, i, gpu)
    {
        add_device(root, devices, json_string_value(json_object_get(gpu, "id")));
    }
    json_decref(gpus);
}

void *sensor_files_start(const struct sensor_config *config)
{
    struct sensor_files *files = calloc(1, sizeof(*files));
    if (files != NULL)
        memcpy(files->root, config->root, sizeof(files->root));
    return files;
}

/* Looks ---------------------------------------------------------------------------------------- */

static void work_run(void *arg)
{
    struct work *work = arg;
    work->readings.count = 0;
    if (work->state == NULL)
        work->state = work->kind->start(&work->config);
    if (work->state != NULL)
        work->kind->look(work->state, &work->readings);
}

static void work_free(void *arg)
{
    struct work *work = arg;
    if (work == NULL)
        return;
    if (work->state != NULL)
        work->kind->free(work->state);
    free(work->readings.items);
    free(work);
}

static struct work *work_new(const struct sensors *sensors, size_t index)
{
    struct work *work = calloc(1, sizeof(*work));
    if (work == NULL)
        return NULL;
    work->kind = kinds[index];
    work->config = sensors->config;
    return work;
}

static void tell(const struct sensor_readings *readings, const struct counters_sink *sink)
{
    const struct sensor_reading *last = NULL;
    for (size_t i = 0; i < readings->count; i++) {
        const struct sensor_reading *reading = &readings->items[i];
        const struct telemetry_subject subject = {.number = reading->number};
        if (last == NULL || last->kind != reading->kind || last->number != reading->number ||
            strcmp(last->device, reading->device) != 0)
            sink->row(sink->arg, reading->kind, reading->device, &subject);
        sink->value(sink->arg, reading->name, reading->value);
        last = reading;
    }
}

static enum err_code look(struct sensors *sensors, size_t index, const struct counters_sink *sink,
                          struct err *err)
{
    if (sensors->works[index] == NULL)
        sensors->works[index] = work_new(sensors, index);
    struct work *work = sensors->works[index];
    if (work == NULL)
        return err_nomem(err);
    const struct aside_job job = {.run = work_run, .release = work_free, .arg = work};
    enum err_code code = aside_run(sensors->aside, kinds[index]->name, &job, SENSORS_WAIT_MS, err);
    if (code == ERR_OK)
        tell(&work->readings, sink);
    else
        sensors->works[index] = NULL; /* the thread's, or gone */
    return code;
}

enum err_code sensors_tell(struct sensors *sensors, const struct counters_sink *sink,
                           struct err *err)
{
    enum err_code worst = ERR_OK;
    (void)aside_drain(sensors->aside);
    for (size_t i = 0; i < KIND_COUNT; i++) {
        enum err_code code = look(sensors, i, sink, err);
        worst = code == ERR_OK ? worst : code;
    }
    return worst;
}

/* Life ----------------------------------------------------------------------------------------- */

enum err_code sensors_new(const char *root, const char *nvml, struct sensors **out, struct err *err)
{
    struct sensors *sensors = calloc(1, sizeof(*sensors));
    if (sensors == NULL)
        return err_nomem(err);
    text_copy(sensors->config.root, sizeof(sensors->config.root), root == NULL ? "" : root);
    text_copy(sensors->config.nvml, sizeof(sensors->config.nvml), nvml == NULL ? GPU_NVML : nvml);
    enum err_code code = aside_new(&sensors->aside, err);
    if (code == ERR_OK)
        *out = sensors;
    else
        free(sensors);
    return code;
}

void sensors_free(struct sensors *sensors)
{
    if (sensors == NULL)
        return;
    for (size_t i = 0; i < KIND_COUNT; i++)
        work_free(sensors->works[i]);
    aside_free(sensors->aside);
    free(sensors);
}
