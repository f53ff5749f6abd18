#pragma once
/*
 * datapath/sensor.h - what the files of the sensors share: a kind of sensor is a file sensor_*.c
 * and a row in sensors.c. For counters_linux.c through sensors.h alone.
 *
 * A look runs on a thread that may be given up when a device hangs: it touches its own state and
 * its own readings, nothing else.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fleet/telemetry.h"

#define SENSOR_READINGS_MAX 2048 /* of one look; more are left out */
#define SENSOR_DEVICES_MAX  128
#define SENSOR_ADDRESS_SIZE 32
#define SENSOR_ROOT_SIZE    512
#define SENSOR_RESCAN       60 /* looks after which it is looked which devices there are */

struct sensor_config {
    char root[SENSOR_ROOT_SIZE]; /* "" outside tests */
    char nvml[SENSOR_ROOT_SIZE]; /* the library's name */
};

struct sensor_reading {
    enum telemetry_kind kind;
    char device[PORT_ID_SIZE];
    uint32_t number;
    const struct telemetry_name *name; /* lasts */
    int64_t value;
};

struct sensor_readings {
    struct sensor_reading *items; /* owned */
    size_t count, room;
    /* What the next ones are of. */
    enum telemetry_kind kind;
    char device[PORT_ID_SIZE];
    uint32_t number;
};
void sensor_subject(struct sensor_readings *readings, enum telemetry_kind kind, const char *device,
                    uint32_t number);
/* TELEMETRY_ABSENT: unknown now; tell it where others of the row are known, because a column that
 * comes late waits for the next batch. */
void sensor_put(struct sensor_readings *readings, const struct telemetry_name *name, int64_t value);

/* PCI addresses of NICs, RDMA devices and accelerators; virtual functions are no devices here. */
struct sensor_devices {
    char addresses[SENSOR_DEVICES_MAX][SENSOR_ADDRESS_SIZE];
    size_t count;
    unsigned looks_left;
};
/* Looks again which there are when it is time. */
void sensor_scan(const char *root, struct sensor_devices *devices);

/* The state of a kind that reads files of devices and keeps nothing else; freed by free(). */
struct sensor_files {
    char root[SENSOR_ROOT_SIZE];
    struct sensor_devices devices;
};
void *sensor_files_start(const struct sensor_config *config); /* NULL = no memory */

struct sensor_kind {
    const char *name;                                   /* for messages */
    void *(*start)(const struct sensor_config *config); /* NULL = no memory */
    void (*look)(void *state, struct sensor_readings *out);
    void (*free)(void *state);
};
extern const struct sensor_kind sensor_irq, sensor_pcie, sensor_temperature, sensor_ptp,
    sensor_host, sensor_gpu;

/* Pure parts, for the tests -------------------------------------------------------------------- */

/* "BadTLP 3\n...TOTAL_ERR_COR 3": the value of that name; false = it is not there. */
bool sensor_aer_value(const char *text, const char *name, int64_t *out);
#define SENSOR_UNLIMITED (INT64_MAX - 1)
/* "Max locked memory  8388608  8388608  bytes" of /proc/PID/limits: the limit in force;
 * SENSOR_UNLIMITED for "unlimited". False = it does not say. */
bool sensor_memlock(const char *limits, int64_t *out);

/* Whether a process runs that steers PTP clocks, by /proc below root. */
bool sensor_ptp_is_steered(const char *root);
struct ptp_sys_offset;
/* A PTP clock against the system's: the look that took the shortest. The clock may run on TAI
 * (tai_s seconds ahead): then that is taken off. False = it holds no look. */
bool sensor_ptp_offset(const struct ptp_sys_offset *looks, int64_t tai_s, int64_t *out_offset_ns,
                       int64_t *out_window_ns);
