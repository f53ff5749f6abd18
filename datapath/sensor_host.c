/*
 * datapath/sensor_host.c - settings of the host that slow RDMA down without a word: transparent
 * huge pages, and the memory that a process may lock. See sensor.h.
 */
#include "datapath/sensor.h"

#include <stdlib.h>
#include <string.h>

#include "datapath/sys/sys.h"

static const struct telemetry_name thp = {"thp_mode", TELEMETRY_GAUGE, 0};

bool sensor_memlock(const char *limits, int64_t *out)
{
    static const char title[] = "Max locked memory";
    char value[32];
    const char *line = strstr(limits, title);
    if (line == NULL || (line != limits && line[-1] != '\n'))
        return false;
    line += sizeof(title) - 1;
    line += strspn(line, " ");
    size_t len = strcspn(line, " \n");
    if (len == 0 || len >= sizeof(value))
        return false;
    memcpy(value, line, len);
    value[len] = '\0';
    if (strcmp(value, "unlimited") == 0) {
        *out = SENSOR_UNLIMITED;
        return true;
    }
    return sys_parse_int(value, out) && *out >= 0;
}

static void look(void *arg, struct sensor_readings *out)
{
    static const char *const modes[] = {"never", "madvise", "always"}; /* by their number */
    const struct sensor_files *state = arg;
    char mode[32];
    if (thp_get(state->root, mode, sizeof(mode), NULL) != ERR_OK)
        return;
    sensor_subject(out, TELEMETRY_NODE, "", 0);
    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++)
        if (strcmp(mode, modes[i]) == 0)
            sensor_put(out, &thp, (int64_t)i);
}

const struct sensor_kind sensor_host = {
    .name = "host", .start = sensor_files_start, .look = look, .free = free};
