/*
 * datapath/counters_linux.c - counters of this node: sysfs, the drivers' own by ethtool's ioctl,
 * queue pairs by RDMA netlink. See counters.h.
 *
 * Names that fleet/evidence/counter_table.c knows get its canonical ones; of a driver's own only
 * those are told: hundreds of counters of queues are nobody's telemetry.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <linux/ethtool.h>
#include <linux/sockios.h>

#include "datapath/counters.h"
#include "datapath/counters_solar.h"
#include "datapath/nl/rdma_stat.h"
#include "datapath/sensor.h"
#include "datapath/sensors.h"
#include "fleet/evidence/counter.h"

#define PATH_SIZE         1024
#define FILE_SIZE         (PATH_SIZE + 640) /* of what is in a folder */
#define TEXT_SIZE         4096
#define PORTS_MAX         256
#define ETHTOOL_STATS_MAX 8192
#define NO_LIMIT          INT64_MAX
#define OWNERS_MAX        64 /* of queue pairs, whose limits are read */

struct auto_port { /* of which counting was asked for */
    uint32_t device, port;
};

struct counters_linux {
    struct counters base;
    char root[PATH_SIZE / 2];
    int ioctl_fd;
    struct nlx *rdma; /* NULL = this kernel has none */
    struct sensors *sensors;
    int64_t memlock; /* of the look under way; NO_LIMIT = nobody owns queue pairs */
    struct auto_port autos[PORTS_MAX];
    size_t auto_count;
    struct rdma_list list;
    struct rdma_qp_list qps;
};

/* Small files -----------------------------------------------------------------------------------
 */

static bool read_text(const char *path, char *out, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t n = read(fd, out, size - 1);
    close(fd);
    if (n < 0)
        return false;
    out[n] = '\0';
    return true;
}

static bool read_number(const char *path, int64_t *out)
{
    char text[64];
    uint64_t value;
    if (!read_text(path, text, sizeof(text)))
        return false;
    text[strcspn(text, "\n")] = '\0';
    if (!slice_uint(slice_trim(slice_of(text)), &value) || value > INT64_MAX)
        return false;
    *out = (int64_t)value;
    return true;
}

/* The column of a counter; false = the table does not know it and all = false. */
static bool name_of(const char *text, bool wide, bool all, struct telemetry_name *out, int *prio)
{
    struct counter counter;
    bool listed = counter_find(slice_of(text), &counter);
    *out = (struct telemetry_name){.course = TELEMETRY_STAYS};
    *prio = counter.prio;
    if ((!listed && !all) || counter.queue >= 0)
        return false;
    /* Widths are of the InfiniBand counters in `counters`; the same names elsewhere have 64 bits.
     */
    out->width = wide ? 0 : (uint8_t)counter.width;
    snprintf(out->text, sizeof(out->text), "%s", listed ? counter.name : text);
    return telemetry_name_is_valid(out->text);
}

/* Each file of a folder is a counter. */
static void tell_folder(const struct counters_sink *sink, const char *folder, bool wide)
{
    DIR *dir = opendir(folder);
    for (struct dirent *entry; dir != NULL && (entry = readdir(dir)) != NULL;) {
        char path[FILE_SIZE];
        struct telemetry_name name;
        int64_t value;
        int prio;
        snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
        if (entry->d_name[0] != '.' && strcmp(entry->d_name, "lifespan") != 0 &&
            name_of(entry->d_name, wide, true, &name, &prio) && read_number(path, &value))
            sink->value(sink->arg, &name, value);
    }
    if (dir != NULL)
        closedir(dir);
}

/* Ports -----------------------------------------------------------------------------------------
 */

static void *ethtool_get(struct counters_linux *host, const char *ifname, void *request)
{
    struct ifreq ifr = {0};
    snprintf(ifr.ifr_name, sizeof(ifr.ifr_name), "%.*s", IFNAMSIZ - 1, ifname);
    ifr.ifr_data = request;
    return ioctl(host->ioctl_fd, SIOCETHTOOL, &ifr) == 0 ? request : NULL;
}

static uint32_t stat_count(struct counters_linux *host, const char *ifname)
{
    union { /* the answer stands behind it */
        struct ethtool_sset_info info;
        uint8_t room[sizeof(struct ethtool_sset_info) + sizeof(uint32_t)];
    } request = {.room = {0}};
    uint32_t count;
    request.info.cmd = ETHTOOL_GSSET_INFO;
    request.info.sset_mask = UINT64_C(1) << ETH_SS_STATS;
    if (ethtool_get(host, ifname, &request) == NULL || request.info.sset_mask == 0)
        return 0;
    memcpy(&count, request.room + sizeof(request.info), sizeof(count));
    return count <= ETHTOOL_STATS_MAX ? count : 0;
}

/* The columns of the port when prio is -1, else of that priority, which has a row if it has any. */
static void tell_stats(const struct counters_sink *sink, const struct ethtool_gstrings *names,
                       const struct ethtool_stats *stats, const char *port, int prio)
{
    const struct telemetry_subject subject = {.number = (uint32_t)(prio < 0 ? 0 : prio)};
    bool begun = prio < 0;
    for (uint32_t i = 0; i < stats->n_stats; i++) {
        char text[ETH_GSTRING_LEN + 1];
        struct telemetry_name name;
        int of;
        snprintf(text, sizeof(text), "%.*s", ETH_GSTRING_LEN,
                 (const char *)names->data + (size_t)i * ETH_GSTRING_LEN);
        if (!name_of(text, true, false, &name, &of) || of != prio || stats->data[i] > INT64_MAX)
            continue;
        if (!begun)
            sink->row(sink->arg, TELEMETRY_PRIORITY, port, &subject);
        begun = true;
        sink->value(sink->arg, &name, (int64_t)stats->data[i]);
    }
}

static void tell_driver(struct counters_linux *host, const struct counters_sink *sink,
                        const char *ifname, const char *port)
{
    uint32_t count = stat_count(host, ifname);
    OWN(mem)
    void *names = calloc(1, sizeof(struct ethtool_gstrings) + (size_t)count * ETH_GSTRING_LEN);
    /* The driver may have more by now: it fills as many as it has, so there is room for the most.
     */
    OWN(mem)
    void *stats = calloc(1, sizeof(struct ethtool_stats) + ETHTOOL_STATS_MAX * sizeof(uint64_t));
    if (count == 0 || names == NULL || stats == NULL)
        return;
    *(struct ethtool_gstrings *)names = (struct ethtool_gstrings){
        .cmd = ETHTOOL_GSTRINGS, .string_set = ETH_SS_STATS, .len = count};
    *(struct ethtool_stats *)stats =
        (struct ethtool_stats){.cmd = ETHTOOL_GSTATS, .n_stats = count};
    if (ethtool_get(host, ifname, names) == NULL || ethtool_get(host, ifname, stats) == NULL ||
        ((struct ethtool_gstrings *)names)->len != count ||
        ((struct ethtool_stats *)stats)->n_stats != count || stat_count(host, ifname) != count)
        return; /* they changed under our hands: the next look */
    for (int prio = -1; prio < 8; prio++)
        tell_stats(sink, names, stats, port, prio);
}

/* The key of the inventory: name on the bus "/" dev_port; false = it is no port of a device. */
static bool port_id(const char *folder, char out[PORT_ID_SIZE])
{
    char path[FILE_SIZE], target[PATH_SIZE];
    int64_t number = 0;
    snprintf(path, sizeof(path), "%s/device", folder);
    ssize_t n = readlink(path, target, sizeof(target) - 1);
    if (n <= 0)
        return false;
    target[n] = '\0';
    const char *slash = strrchr(target, '/');
    snprintf(path, sizeof(path), "%s/dev_port", folder);
    if (!read_number(path, &number))
        number = 0;
    int len =
        snprintf(out, PORT_ID_SIZE, "%s/%" PRId64, slash == NULL ? target : slash + 1, number);
    return len > 0 && len < PORT_ID_SIZE;
}

static void tell_port(struct counters_linux *host, const struct counters_sink *sink,
                      const char *folder, const char *ifname)
{
    static const char *const files[] = {"rx_bytes",   "tx_bytes",   "rx_packets",
                                        "tx_packets", "rx_dropped", "tx_dropped"};
    static const struct telemetry_name fcs = {"rx_crc_errors", TELEMETRY_STAYS, 0};
    char id[PORT_ID_SIZE], path[FILE_SIZE];
    struct telemetry_subject subject = {0};
    int64_t value;
    if (!port_id(folder, id))
        return;
    sink->row(sink->arg, TELEMETRY_PORT, id, &subject);
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        struct telemetry_name name = {.course = TELEMETRY_STAYS};
        snprintf(name.text, sizeof(name.text), "%s", files[i]);
        snprintf(path, sizeof(path), "%s/statistics/%s", folder, files[i]);
        if (read_number(path, &value))
            sink->value(sink->arg, &name, value);
    }
    snprintf(path, sizeof(path), "%s/statistics/rx_crc_errors", folder);
    if (read_number(path, &value))
        sink->value(sink->arg, &fcs, value);
    if (host->root[0] == '\0') /* else the names are another system's */
        tell_driver(host, sink, ifname, id);
}

static void tell_ports(struct counters_linux *host, const struct counters_sink *sink)
{
    char folder[PATH_SIZE], path[PATH_SIZE + 300];
    snprintf(folder, sizeof(folder), "%s/sys/class/net", host->root);
    DIR *dir = opendir(folder);
    int count = 0;
    for (struct dirent *entry;
         dir != NULL && count < PORTS_MAX && (entry = readdir(dir)) != NULL;) {
        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
        tell_port(host, sink, path, entry->d_name);
        count++;
    }
    if (dir != NULL)
        closedir(dir);
}

/* RDMA ----------------------------------------------------------------------------------------- */

static uint32_t label_of(const struct counters_linux *host, uint32_t pid)
{
    char path[PATH_SIZE], text[TEXT_SIZE];
    if (pid == 0)
        return 0;
    snprintf(path, sizeof(path), "%s/proc/%u/cgroup", host->root, pid);
    return read_text(path, text, sizeof(text)) ? counters_label(text) : 0;
}

/* The smallest limit of locked memory of the processes that own queue pairs: they fail to register
 * more. Queue pairs of one process stand together, as a rule. */
static void look_at_memlock(struct counters_linux *host)
{
    char path[PATH_SIZE], text[TEXT_SIZE];
    int64_t limit;
    uint32_t last = 0;
    for (size_t i = 0, looks = 0; i < host->qps.count && looks < OWNERS_MAX; i++) {
        if (host->qps.items[i].pid == last || host->qps.items[i].pid == 0)
            continue;
        last = host->qps.items[i].pid;
        looks++;
        snprintf(path, sizeof(path), "%s/proc/%u/limits", host->root, last);
        if (read_text(path, text, sizeof(text)) && sensor_memlock(text, &limit) &&
            limit < host->memlock)
            host->memlock = limit;
    }
}

static void tell_rdma_port(struct counters_linux *host, const struct counters_sink *sink,
                           const char *device, uint32_t port)
{
    char folder[PATH_SIZE];
    struct telemetry_subject subject = {.number = port};
    sink->row(sink->arg, TELEMETRY_RDMA, device, &subject);
    snprintf(folder, sizeof(folder), "%s/sys/class/infiniband/%s/ports/%u/counters", host->root,
             device, port);
    tell_folder(sink, folder, false);
    snprintf(folder, sizeof(folder), "%s/sys/class/infiniband/%s/ports/%u/hw_counters", host->root,
             device, port);
    tell_folder(sink, folder, true);
}

struct stat_look {
    struct counters_linux *host;
    const struct counters_sink *sink;
    const char *device;
};

/* Queue pairs of one process and type are counted together: the row is the first one's. */
static bool tell_stat(void *arg, const struct rdma_stat *stat)
{
    static const struct telemetry_name together = {"queue_pairs", TELEMETRY_GAUGE, 0};
    const struct stat_look *look = arg;
    struct telemetry_subject subject = {.pid = stat->pid};
    if (stat->qp_count == 0)
        return true;
    subject.number = stat->qps[0];
    for (size_t i = 1; i < stat->qp_count && i < RDMA_STAT_VALUES_MAX; i++)
        subject.number = stat->qps[i] < subject.number ? stat->qps[i] : subject.number;
    for (size_t i = 0; subject.pid == 0 && i < look->host->qps.count; i++)
        if (look->host->qps.items[i].number == subject.number)
            subject.pid = look->host->qps.items[i].pid;
    subject.label = label_of(look->host, subject.pid);
    look->sink->row(look->sink->arg, TELEMETRY_QP, look->device, &subject);
    look->sink->value(look->sink->arg, &together, (int64_t)stat->qp_count);
    for (size_t i = 0; i < stat->value_count; i++) {
        struct telemetry_name name;
        int prio;
        if (name_of(stat->values[i].name, true, true, &name, &prio) &&
            stat->values[i].value <= INT64_MAX)
            look->sink->value(look->sink->arg, &name, (int64_t)stat->values[i].value);
    }
    return true;
}

/* Once a port: who counts otherwise already is left alone. */
static void ask_auto(struct counters_linux *host, const struct rdma_port *port)
{
    struct err err = ERR_INIT;
    for (size_t i = 0; i < host->auto_count; i++)
        if (host->autos[i].device == port->device && host->autos[i].port == port->port)
            return;
    if (host->auto_count == PORTS_MAX)
        return;
    host->autos[host->auto_count++] = (struct auto_port){port->device, port->port};
    if (rdma_stat_auto(host->rdma, port->device, port->port, &err) != ERR_OK)
        return; /* no driver's business, not allowed, or counted already: a dump shows what is */
}

static enum err_code tell_rdma(struct counters_linux *host, const struct counters_sink *sink,
                               struct err *err)
{
    enum err_code code = rdma_list(host->rdma, &host->list, err);
    for (size_t d = 0; code == ERR_OK && d < host->list.device_count; d++) {
        const struct rdma_device *device = &host->list.devices[d];
        struct stat_look look = {host, sink, device->name};
        code = rdma_qps(host->rdma, device->index, &host->qps, err);
        if (code == ERR_OK)
            look_at_memlock(host);
        for (size_t p = 0; p < host->list.port_count; p++)
            if (host->list.ports[p].device == device->index) {
                ask_auto(host, &host->list.ports[p]);
                tell_rdma_port(host, sink, device->name, host->list.ports[p].port);
            }
        struct err absent = ERR_INIT;
        enum err_code counted =
            code == ERR_OK ? rdma_stats(host->rdma, device->index, tell_stat, &look, &absent)
                           : ERR_OK;
        if (counted == ERR_UNAVAILABLE || counted == ERR_NOMEM)
            code = counted; /* anything else: this driver counts no queue pairs */
    }
    return code;
}

static void tell_memlock(const struct counters_linux *host, const struct counters_sink *sink)
{
    static const struct telemetry_name name = {"memlock_bytes", TELEMETRY_GAUGE, 0};
    const struct telemetry_subject subject = {.number = 0};
    if (host->memlock == NO_LIMIT)
        return;
    sink->row(sink->arg, TELEMETRY_NODE, "", &subject);
    sink->value(sink->arg, &name, host->memlock);
}

static enum err_code linux_read(struct counters *base, int64_t mono_ns,
                                const struct counters_sink *sink, struct err *err)
{
    struct counters_linux *host = (struct counters_linux *)base;
    (void)mono_ns;
    host->memlock = NO_LIMIT;
    tell_ports(host, sink);
    counters_tell_solar(host->root, sink);
    enum err_code rdma_code = host->rdma == NULL ? ERR_OK : tell_rdma(host, sink, err);
    tell_memlock(host, sink); /* and the other columns of its row first of all sensors */
    enum err_code code = sensors_tell(host->sensors, sink, err);
    return rdma_code == ERR_OK ? code : rdma_code;
}

static void linux_free(struct counters *base)
{
    struct counters_linux *host = (struct counters_linux *)base;
    nlx_free(host->rdma);
    sensors_free(host->sensors);
    if (host->ioctl_fd >= 0)
        close(host->ioctl_fd);
    free(host);
}

enum err_code counters_linux_new(const struct counters_linux_config *config, struct counters **out,
                                 struct err *err)
{
    static const struct counters_ops ops = {.read = linux_read, .free = linux_free};
    struct err absent = ERR_INIT;
    struct counters_linux *host = calloc(1, sizeof(*host));
    if (host == NULL)
        return err_nomem(err);
    host->base.ops = &ops;
    snprintf(host->root, sizeof(host->root), "%s", config->root == NULL ? "" : config->root);
    host->ioctl_fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (host->ioctl_fd < 0) {
        enum err_code code = err_set_errno(err, ERR_IO, errno, "no socket for the counters");
        linux_free(&host->base);
        return code;
    }
    enum err_code code = sensors_new(host->root, config->nvml, &host->sensors, err);
    if (code != ERR_OK) {
        linux_free(&host->base);
        return code;
    }
    if (nlx_open(NETLINK_RDMA, &host->rdma, &absent) != ERR_OK)
        host->rdma = NULL; /* a kernel without RDMA counts ports alone */
    *out = &host->base;
    return ERR_OK;
}
