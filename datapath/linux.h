#pragma once
/*
 * datapath/linux.h - what the files of dp_linux share: the provider, its ports, and the table of
 * knob kinds (a kind is a file knob_*.c and a row in linux_knobs[]). Nobody else includes it.
 */

#include "datapath/dp_linux.h"
#include "datapath/linux_watch.h"
#include "datapath/lldp_listen.h"
#include "datapath/nl/link.h"
#include "datapath/nl/nlx.h"
#include "datapath/nl/rdma.h"
#include "datapath/sys/aside.h"
#include "datapath/sys/roce_cc.h"

#define DP_SYSFS_MAX            128
#define DP_REPRESENTORS_MAX     1024
#define DP_REPRESENTOR_NAME_MAX 32
#define LINUX_FILES_MS          1000 /* for what a device's own files take, of one port */
#define LINUX_WRITERS_MAX       32 /* the newest changes of which it is remembered whose they were */

struct linux_writer {
    const char *family; /* the first part of a knob kind: "dcb", "tc", ... */
    char subject[PORT_ID_SIZE];
    char name[DP_WRITER_SIZE]; /* "" = unknown */
    bool seen;                 /* what it changed was looked at: gone with the next look */
};

struct dp_port {
    char id[PORT_ID_SIZE]; /* bus address "/" port; the key */
    char ifname[IFNAME_SIZE];
    int ifindex;
    char bus[32];    /* "pci", "platform"; "" = none */
    char device[64]; /* name on the bus, "" = none */
    char driver[64]; /* "" = unknown */
    uint32_t mtu_bytes;
    bool is_virtual;          /* a virtual function */
    char sysfs[DP_SYSFS_MAX]; /* "/sys/class/net/NAME" */
};

/* The host's end of a virtual function in the NIC's switch: an interface, but no port of ours. */
struct dp_representor {
    char device[64]; /* of the port that it belongs to */
    char ifname[IFNAME_SIZE];
    char port_name[DP_REPRESENTOR_NAME_MAX]; /* "pf0vf3" */
};

/* The hw-tc-offload flag, asked once a look: a plan may have thousands of filters of one port. */
struct dp_offload {
    int ifindex; /* 0 = not asked yet */
    bool possible, active;
};

struct dp_linux {
    struct dp base;
    char *root;     /* owned, "" in real life */
    char *nvml;     /* owned; the library's name */
    char **devices; /* owned, NULL-terminated; NULL = all with a device */
    struct nlx *route;
    struct nlx *genl; /* NULL until needed; linux_genl() */
    struct linux_watch *watch;
    struct lldp_listen *lldp; /* NULL = neighbours are unknown */
    bool devices_changed;     /* what is kept of them may be another's */
    bool inventory_stale;     /* something that it tells of may be another */
    json_t *kept;             /* owned; linux_kept_get() of linux_inventory.h */
    struct linux_writer writers[LINUX_WRITERS_MAX]; /* oldest first */
    size_t writer_count;
    struct dp_port *ports; /* owned; of the last scan, sorted by id; see linux_port() */
    size_t port_count;
    struct dp_representor *representors; /* owned; of the last scan */
    size_t representor_count;
    struct dp_offload offload; /* of the port that was asked about last, since the last look */
    struct aside *aside;       /* reads that may hang */
};

/* Looks again which ports there are. problems (may be NULL): what could not be listed, appended. */
ERR_MUST_CHECK enum err_code linux_scan(struct dp_linux *dp, json_t *problems, struct err *err);
/* Sorts by id and keeps the first of each; of more than INVENTORY_PORTS_MAX the virtual functions
 * give way. How many stay; what is left out is among the problems (may be NULL). Pure. */
size_t linux_choose_ports(struct dp_port *ports, size_t count, json_t *problems);
/* The port of an id as of the last scan; NULL = not there. */
const struct dp_port *linux_port_listed(const struct dp_linux *dp, const char *id);
/* The port of an id, borrowed until the next scan; looks again when the interface has changed. */
ERR_MUST_CHECK enum err_code linux_port(struct dp_linux *dp, const char *id,
                                        const struct dp_port **out, struct err *err);
/* dp.h's link(): the carrier; a port that is set down has none. */
ERR_MUST_CHECK enum err_code linux_link(struct dp *dp, const char *subject, bool *out_up,
                                        struct err *err);
/* dp.h's ping(): linux_ping.c. */
ERR_MUST_CHECK enum err_code linux_ping(struct dp *dp, const char *subject, struct dp_peer *peers,
                                        size_t count, int wait_ms, struct err *err);
/* A call has one deadline, however many requests it makes. */
void linux_start_deadline(struct dp_linux *dp);
bool linux_is_host(const char *kind); /* a kind of the host, not of a port */

/* dp.h's check(), apply() and apply_run(): linux_apply.c. */
ERR_MUST_CHECK enum err_code linux_check(struct dp *dp, const struct plan_step *step,
                                         struct err *err);
ERR_MUST_CHECK enum err_code linux_apply(struct dp *dp, const struct plan_step *step,
                                         struct err *err);
ERR_MUST_CHECK enum err_code linux_apply_run(struct dp *dp, const struct plan_step *steps,
                                             size_t count, struct dp_progress *out,
                                             struct err *err);
ERR_MUST_CHECK enum err_code linux_genl(struct dp_linux *dp, struct nlx **out, struct err *err);
ERR_MUST_CHECK enum err_code linux_inventory(struct dp *dp, json_t **out, struct err *err);

/* Who changed what: linux_writers.c. One change that was announced; arg: the dp_linux. */
void linux_changed(void *arg, const struct nl_change *change);
/* A look at everything begins. */
void linux_writers_observed(struct dp_linux *dp);
/* dp.h's writer(). */
void linux_writer(struct dp *dp, const char *kind, const char *subject, char out[DP_WRITER_SIZE]);
/* "tc (process 812)" of a netlink port; "" of port 0. */
void linux_writer_name(const char *root, uint32_t port, char out[DP_WRITER_SIZE]);

/* The RDMA device and its port that stand on a netdev. ERR_UNSUPPORTED: none does; *out is then
 * untouched. */
struct linux_rdma {
    char device[RDMA_NAME_SIZE]; /* "" = none */
    uint32_t port;               /* from 1 */
};
ERR_MUST_CHECK enum err_code linux_rdma_of(const struct dp_port *port, struct linux_rdma *out,
                                           struct err *err);
/* The same out of a list; false = none. */
bool linux_rdma_in(const struct rdma_list *list, int ifindex, struct linux_rdma *out);
/* Adds what the device can take beyond dcb and tc (schemas/inventory.json, caps). */
void linux_device_caps(struct dp_linux *dp, struct nlx *genl, const struct dp_port *port,
                       const struct rdma_list *list, json_t *caps);
/* Who manages the port's dcb. ERR_UNSUPPORTED: its driver knows no modes. */
struct dcbx_value;
ERR_MUST_CHECK enum err_code linux_dcbx(struct dp_linux *dp, const struct dp_port *port,
                                        struct dcbx_value *out, struct err *err);
/* Borrows from its arguments. */
void linux_cc_where(const struct dp_linux *dp, const struct dp_port *port,
                    const struct linux_rdma *rdma, struct roce_cc_where *out);

/*
 * What drivers do not tell and probing cannot find: facts by driver name, from their sources. A
 * driver that is not in the table has all fields 0.
 */
struct vendor {
    const char *driver;
    int64_t maxrate_unit_bps; /* dcb max rate is floored to this; 0 = unknown */
    bool no_app;              /* has dcb operations but does not look at the DSCP table */
};
const struct vendor *vendor_get(const char *driver);

/* Knob kinds ---------------------------------------------------------------------------------- */

/* Steps of one op, kind and port that go together. */
struct linux_run {
    const struct dp_port *port;
    const struct plan_step *steps; /* borrowed; from is what is there now, NULL = nothing */
    size_t count;
    /* What the kernel showed in its answers to changes and additions, as observe adds it. What is
     * missing here is read back by observe. */
    struct state *shown;
};

/* port is NULL for the host's kinds. Values are in the form of doc/knobs.md. */
struct linux_knob {
    const char *kind;
    /* Adds what is there to *out. id NULL: all of the kind on the port. What this node or device
     * cannot do at all is ERR_UNSUPPORTED; an absent member of a set is no error and adds nothing.
     */
    enum err_code (*observe)(struct dp_linux *dp, const struct dp_port *port, const char *id,
                             struct state *out, struct err *err);
    /* As dp_ops.check; the value's form included. */
    enum err_code (*check)(struct dp_linux *dp, const struct dp_port *port,
                           const struct plan_step *step, struct err *err);
    /* Sets; dp_linux reads back and compares. step->from is what is there now, NULL = nothing. */
    enum err_code (*apply)(struct dp_linux *dp, const struct dp_port *port,
                           const struct plan_step *step, struct err *err);
    /* As apply, for several steps, until one fails or half of DP_DEADLINE_MS is over: *out as
     * dp.h's, set in every case. begun 0 and ERR_OK: the first one is for apply() alone. NULL: they
     * do not go together. */
    enum err_code (*apply_run)(struct dp_linux *dp, const struct linux_run *run,
                               struct dp_progress *out, struct err *err);
    /* Whether the kernel cannot tell the two values apart (its unit is coarser than ours, or the
     * wanted one leaves something to the driver); NULL: only equal ones are the same. */
    bool (*same)(const json_t *live, const json_t *want);
    /* Whether live is want, rounded as the hardware rounds: fine unless the step is strict. NULL:
     * never. */
    bool (*rounded)(const json_t *live, const json_t *want);
};

extern const struct linux_knob knob_modparam, knob_sysctl, knob_thp, knob_mtu, knob_app, knob_ets,
    knob_maxrate, knob_buffer, knob_pfc, knob_clsact, knob_qdisc, knob_class, knob_flower;
extern const struct linux_knob knob_dcbx, knob_devlink_param, knob_devlink_rate, knob_roce_cc,
    knob_roce_tos, knob_pause, knob_coalesce, knob_file, knob_arp, knob_red, knob_solar;

extern const struct linux_knob *const linux_knobs[]; /* NULL-terminated */
const struct linux_knob *linux_knob_get(const char *kind);

/* apply_run of a kind whose steps are a request each; changes may be none: the first step is for
 * apply() then. */
struct nlx_changes;
ERR_MUST_CHECK enum err_code linux_run_changes(struct dp_linux *dp,
                                               const struct nlx_changes *changes,
                                               struct dp_progress *out, struct err *err);

/* Adds one live value, taken over also on failure; NULL is ERR_NOMEM. */
ERR_MUST_CHECK enum err_code linux_observed(struct state *out, const char *kind,
                                            const struct dp_port *port, const char *id,
                                            json_t *live, enum knob_owner owner, struct err *err);
