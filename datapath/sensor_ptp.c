/*
 * datapath/sensor_ptp.c - the PTP clocks of NICs against the system's. See sensor.h.
 */
#include "datapath/sensor.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include <linux/ptp_clock.h>

#include "datapath/sys/sys.h"

#define LOOKS 5
#define TAI_S 37 /* ahead of UTC since 2017, where the kernel was not told */
#define S_NS  INT64_C(1000000000)

static const struct telemetry_name offset = {"offset_ns", TELEMETRY_GAUGE, 0},
                                   window = {"offset_window_ns", TELEMETRY_GAUGE, 0};

static int64_t ns_of(const struct ptp_clock_time *time)
{
    return time->sec * S_NS + time->nsec;
}

bool sensor_ptp_offset(const struct ptp_sys_offset *looks, int64_t tai_s, int64_t *out_offset_ns,
                       int64_t *out_window_ns)
{
    *out_window_ns = INT64_MAX;
    for (unsigned i = 0; i < looks->n_samples && i < PTP_MAX_SAMPLES; i++) {
        int64_t before = ns_of(&looks->ts[2 * i]), after = ns_of(&looks->ts[2 * i + 2]);
        if (after < before || after - before >= *out_window_ns)
            continue;
        *out_window_ns = after - before;
        *out_offset_ns = ns_of(&looks->ts[2 * i + 1]) - before - (after - before) / 2;
    }
    if (*out_window_ns == INT64_MAX)
        return false;
    int64_t on_tai = *out_offset_ns - tai_s * S_NS;
    if (llabs(on_tai) < llabs(*out_offset_ns))
        *out_offset_ns = on_tai;
    return true;
}

/* The kernel's own two clocks, a moment apart. */
static int64_t tai_of_kernel(void)
{
    struct timespec utc, tai;
    clock_gettime(CLOCK_REALTIME, &utc);
    clock_gettime(CLOCK_TAI, &tai);
    return tai.tv_sec > utc.tv_sec + 1 ? tai.tv_sec - utc.tv_sec - (tai.tv_nsec < utc.tv_nsec)
                                       : TAI_S;
}

static void look_at(const char *root, const char *clock, const char *address,
                    struct sensor_readings *out)
{
    char path[SYS_PATH_MAX];
    struct ptp_sys_offset looks = {.n_samples = LOOKS};
    int64_t offset_ns, window_ns;
    snprintf(path, sizeof(path), "%s/dev/%.64s", root, clock);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return;
    bool good = ioctl(fd, PTP_SYS_OFFSET, &looks) == 0;
    close(fd);
    if (!good || !sensor_ptp_offset(&looks, tai_of_kernel(), &offset_ns, &window_ns))
        return;
    sensor_subject(out, TELEMETRY_PTP, address, 0);
    sensor_put(out, &offset, offset_ns);
    sensor_put(out, &window, window_ns);
}

static void look(void *arg, struct sensor_readings *out)
{
    struct sensor_files *state = arg;
    char path[SYS_PATH_MAX];
    sensor_scan(state->root, &state->devices);
    for (size_t i = 0; i < state->devices.count; i++) {
        OWN_SYS_LIST struct sys_list clocks;
        snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/ptp", state->devices.addresses[i]);
        sys_list(state->root, path, &clocks);
        if (clocks.count > 0) /* one clock a device */
            look_at(state->root, clocks.names[0], state->devices.addresses[i], out);
    }
}

const struct sensor_kind sensor_ptp = {
    .name = "ptp", .start = sensor_files_start, .look = look, .free = free};
