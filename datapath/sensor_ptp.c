/*
 * datapath/sensor_ptp.c - the PTP clocks of NICs against the system's. See sensor.h.
 */
#include "datapath/sensor.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include <linux/ptp_clock.h>

#include "datapath/sys/sys.h"

#define LOOKS         5
#define STEERED_LOOKS 60 /* after which it is looked again who steers */
#define TAI_S         37 /* ahead of UTC since 2017, where the kernel was not told */
#define S_NS          INT64_C(1000000000)

static const struct telemetry_name offset = {"offset_ns", TELEMETRY_GAUGE, 0},
                                   window = {"offset_window_ns", TELEMETRY_GAUGE, 0};

struct state {
    struct sensor_files files;
    bool is_steered; /* somebody steered the clocks since the agent runs */
    unsigned looks_left;
};

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

/* A NIC has its clock whether anybody uses it or not; one that nobody steers goes where it likes,
 * and its offset is nobody's fault. The kernel tells how a clock is steered only to who may set it.
 */
static bool steers(const char *root, const char *process)
{
    static const char *const names[] = {"ptp4l", "phc2sys", "ts2phc", "timemaster", "sfptpd"};
    char path[SYS_PATH_MAX], name[SYS_NAME_MAX];
    snprintf(path, sizeof(path), "/proc/%.32s/comm", process);
    if (process[0] < '1' || process[0] > '9' ||
        sys_read(root, path, name, sizeof(name), NULL) != ERR_OK)
        return false;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

bool sensor_ptp_is_steered(const char *root)
{
    char path[SYS_PATH_MAX];
    const struct dirent *process;
    bool is = false;
    snprintf(path, sizeof(path), "%s/proc", root);
    DIR *processes = opendir(path); /* more than a sys_list holds */
    if (processes == NULL)
        return false;
    while (!is && (process = readdir(processes)) != NULL)
        is = steers(root, process->d_name);
    closedir(processes);
    return is;
}

static bool is_steered(struct state *state)
{
    if (state->is_steered || state->looks_left-- > 0)
        return state->is_steered;
    state->looks_left = STEERED_LOOKS - 1;
    state->is_steered = sensor_ptp_is_steered(state->files.root);
    return state->is_steered;
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

static void *start(const struct sensor_config *config)
{
    struct state *state = calloc(1, sizeof(*state));
    if (state != NULL)
        memcpy(state->files.root, config->root, sizeof(state->files.root));
    return state;
}

static void look(void *arg, struct sensor_readings *out)
{
    struct state *state = arg;
    const char *root = state->files.root;
    struct sensor_devices *devices = &state->files.devices;
    char path[SYS_PATH_MAX];
    sensor_scan(root, devices);
    for (size_t i = 0; i < devices->count; i++) {
        OWN_SYS_LIST struct sys_list clocks;
        snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/ptp", devices->addresses[i]);
        sys_list(root, path, &clocks);
        if (clocks.count > 0 && is_steered(state)) /* one clock a device */
            look_at(root, clocks.names[0], devices->addresses[i], out);
    }
}

const struct sensor_kind sensor_ptp = {.name = "ptp", .start = start, .look = look, .free = free};
