#pragma once
/*
 * fleet/fabric.h - the fabric profile: what the operator wants of every port and host
 * (DESIGN section 5, schemas/fabric.json). One profile a fleet.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "base/err.h"
#include "base/finding.h"
#include "base/own.h"
#include "base/units.h"
#include "fleet/arp.h"
#include "fleet/coalesce.h"
#include "fleet/policy.h"
#include "fleet/roce_cc.h"

#define FABRIC_DSCPS_MAX     64
#define FABRIC_SYSCTLS_MAX   64
#define FABRIC_MODPARAMS_MAX 64
#define FABRIC_FIRMWARE_MAX  64
#define FABRIC_TEXT_MAX      128
#define FABRIC_PARAMS_MAX    64
#define TC_COUNT             8

enum fabric_trust {
    FABRIC_TRUST_DSCP = 0,
    FABRIC_TRUST_PCP,
};

enum fabric_limit_action {
    FABRIC_LIMIT_SHAPE = 0, /* htb ceil on egress */
    FABRIC_LIMIT_POLICE,    /* police on egress: drops what is over */
};

enum fabric_scheduler {                           /* of ports whose traffic the kernel sees */
                        FABRIC_SCHEDULER_HTB = 0, /* a class for each job */
                        FABRIC_SCHEDULER_ETS,     /* a band for each traffic class */
};

struct fabric_priority {
    bool used;                   /* named by the profile */
    int dscps[FABRIC_DSCPS_MAX]; /* sorted */
    size_t dscp_count;
    int traffic_class; /* 0..7 */
    bool lossless;
    bool strict;            /* strict priority instead of ETS */
    int ets_weight;         /* 1..100, relative; 0 when strict */
    struct bandwidth limit; /* of the class; a strict class needs one */
};

struct fabric_pair {            /* sysctl or module parameter */
    char name[FABRIC_TEXT_MAX]; /* "net.solar.flow_steering" or "solar_rdma.max_sge" */
    char value[FABRIC_TEXT_MAX];
};

struct fabric_firmware {
    char driver[FABRIC_TEXT_MAX];
    char minimum[FABRIC_TEXT_MAX]; /* dotted numeric */
};

struct fabric_param { /* one value of a driver's devlink parameter */
    char driver[48];
    char name[64];
    const char *cmode;   /* "runtime", "driverinit", "permanent" */
    const json_t *value; /* a scalar; borrowed from the document */
};

struct fabric_nccl { /* the environment of NCCL on every node */
    bool present;
    int64_t buffer_bytes; /* 0 = not given */
    int traffic_class;    /* -1 = not given, as the next */
    int gid_index;
    const json_t *hcas;                  /* array of "mlx5_0:1"; NULL = all; borrowed */
    char socket_ifname[FABRIC_TEXT_MAX]; /* "" = not given */
};

struct fabric {
    struct fabric_priority priorities[PRIORITY_COUNT];
    enum fabric_trust trust;
    int lossless_max;          /* how many priorities may be lossless (default 2) */
    int32_t reserve_permyriad; /* default class's reserve, default 500 = 5 % */
    bool has_cnp;
    int cnp_dscp, cnp_priority;
    bool has_ecn;
    int64_t ecn_kmin_bytes, ecn_kmax_bytes;
    int ecn_pmax_permyriad;
    int mtu_bytes;      /* 0 = not managed */
    int cable_length_m; /* 0 = not given */
    bool has_buffer;
    int64_t buffer_size_bytes[TC_COUNT]; /* receive buffers */
    int buffer_of_priority[PRIORITY_COUNT];
    enum fabric_limit_action limit_action;
    enum fabric_scheduler scheduler;
    bool scheduler_ecn; /* the kernel's queues mark as `ecn` says */
    bool has_roce_priority;
    int roce_priority; /* of RDMA connections that ask for none; has a DSCP */
    struct roce_cc cc; /* of every NIC, as far as it has it */
    bool dcbx_unmanaged;
    struct fabric_param params[FABRIC_PARAMS_MAX]; /* sorted by driver, name, cmode */
    size_t param_count;
    struct solar_cc solar;
    bool solar_page; /* agents tell programs that use libsolar what they may send */
    struct fabric_pair sysctls[FABRIC_SYSCTLS_MAX]; /* sorted by name */
    size_t sysctl_count;
    struct fabric_pair modparams[FABRIC_MODPARAMS_MAX];
    size_t modparam_count;
    struct coalesce coalesce;
    struct arp arp;
    char thp[16]; /* "always", "madvise", "never"; "" = not managed */
    struct fabric_nccl nccl;
    struct fabric_firmware firmware[FABRIC_FIRMWARE_MAX];
    size_t firmware_count;
    json_t *document; /* the whole document, owned */
};

ERR_MUST_CHECK enum err_code fabric_from_json(const json_t *document, struct fabric **out,
                                              struct finding_list *findings, struct err *err);
void fabric_free(struct fabric *fabric);
OWN_DEFINE(fabric, struct fabric *, fabric_free)
