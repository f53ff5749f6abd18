#pragma once
/*
 * fleet/inventory.h - what a node says it is made of (schemas/inventory.json). Comes from agents:
 * hostile until parsed. An absent value is unknown, never 0.
 *
 * A port's id is its bus address + port number ("0000:3b:00.0/0", "solar_rdma.0/0"): the key of
 * every knob; the interface name is for people.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "base/err.h"
#include "base/finding.h"
#include "base/json.h"
#include "base/own.h"
#include "fleet/coalesce.h"
#include "fleet/name.h"
#include "fleet/roce_cc.h"

#define INVENTORY_PORTS_MAX     128
#define PORT_ID_SIZE            96
#define IFNAME_SIZE             16
#define INVENTORY_TEXT_MAX      128
#define INVENTORY_GPUS_MAX      256
#define PSID_SIZE               64
#define INVENTORY_BYTES_MAX     (INT64_C(1) << 50)
#define INVENTORY_RDMA_MAX      256  /* RDMA devices */
#define INVENTORY_FUNCTIONS_MAX 256  /* virtual functions, or representors, of a port */
#define INVENTORY_AFFINITY_MAX  64   /* sets of processors that a port's interrupts go to */
#define INVENTORY_NUMA_MAX      256  /* NUMA nodes */
#define INVENTORY_PATHS_MAX     1024 /* between NICs and GPUs */
#define INVENTORY_FEC_MAX       8    /* FEC modes of a port */
#define INVENTORY_ADDRESS_MAX   46   /* an IPv6 address as text */
#define MAC_TEXT_SIZE           64   /* InfiniBand's have 20 bytes */
#define RATE_LEAF_SIZE          48
#define INVENTORY_WHY_SIZE      512

/* A PCI Express link as it runs and as the device could; -1 = unknown. */
struct pcie_link {
    int current_gen, max_gen;     /* 1..8 */
    int current_width, max_width; /* lanes, 1..32 */
    bool aer;                     /* reports its errors (Advanced Error Reporting) */
};

/* What the port can take, found by probing. */
struct port_caps {
    bool dcb_app, dcb_ets, dcb_pfc, dcb_maxrate, dcb_buffer;
    bool tc;                            /* qdiscs and software filters */
    bool flower_hw;                     /* flow table in the NIC */
    int32_t flower_hw_entries;          /* capacity, -1 = unknown */
    int64_t maxrate_unit_bps;           /* granularity of per-TC max rate; 0 = unknown */
    int ets_tcs;                        /* number of traffic classes, 0 = unknown */
    bool roce_tos;                      /* rdma_cm's default type of service can be set */
    bool roce_cc_notify, roce_cc_react; /* congestion control is switched a priority */
    char dcbx_agent[16]; /* who else manages dcb: "none", "firmware", "lldpad"; "" = unknown */
    uint64_t roce_cc;    /* roce_cc_bit() of each parameter that it has */
    bool pause;          /* pause frames of the whole link can be switched off */
    unsigned coalesce;   /* coalesce_bit() of what of its interrupt moderation can be set */
};

struct port {
    char id[PORT_ID_SIZE];
    char ifname[IFNAME_SIZE];
    char driver[INVENTORY_TEXT_MAX];          /* "" = unknown */
    char product[INVENTORY_TEXT_MAX];         /* "" = unknown */
    char psid[PSID_SIZE];                     /* board id, "" = unknown */
    char firmware[INVENTORY_TEXT_MAX];        /* running, "" = unknown */
    char firmware_stored[INVENTORY_TEXT_MAX]; /* runs after the next activation, "" = unknown */
    char rdma_device[INVENTORY_TEXT_MAX];     /* "" = none */
    bool rdma_software;                       /* rxe: its packets pass qdiscs */
    int rdma_port;                            /* of the RDMA device, from 1; -1 = unknown */
    int gid_index;                            /* of its RoCE v2 address; -1 = unknown */
    char roce_address[INVENTORY_ADDRESS_MAX]; /* the same, when others can reach it; "" = unknown */
    int64_t speed_bps;                        /* -1 = unknown */
    int mtu_bytes;                            /* -1 = unknown */
    bool virtual_function;                    /* its PCIe link is its parent's */
    char physical_function[PORT_ID_SIZE];     /* bus address of its parent, "" = unknown */
    char part_number[INVENTORY_TEXT_MAX];     /* "" = unknown, as the next texts */
    char serial[INVENTORY_TEXT_MAX];
    char mac[MAC_TEXT_SIZE];
    char pci_id[16];                      /* "15b3:101d" */
    char link_state[16];                  /* "up", "down", ... as the kernel's operstate */
    char fec[16];                         /* in use */
    char switch_name[INVENTORY_TEXT_MAX]; /* neighbour, by LLDP */
    char switch_port[INVENTORY_TEXT_MAX];
    int numa_node; /* -1 = unknown, as the next numbers */
    int ptp_index;
    int irq_vectors;
    int sriov_total, sriov_enabled;
    struct pcie_link pcie;
    struct port_caps caps;
    /* Of a virtual function: the port that switches it, and its knob there; "" = none. */
    char rate_port[PORT_ID_SIZE];
    char rate_leaf[RATE_LEAF_SIZE];
    char *params; /* owned; private: see port_has_param() */
};

struct gpu {
    char id[PORT_ID_SIZE];          /* bus address */
    char model[INVENTORY_TEXT_MAX]; /* "" = unknown, as the next three */
    char vendor[INVENTORY_TEXT_MAX];
    char firmware[INVENTORY_TEXT_MAX]; /* VBIOS */
    char driver[INVENTORY_TEXT_MAX];   /* version of its kernel driver */
    int64_t memory_bytes;              /* -1 = unknown */
    int64_t nvlink_bps;                /* active links together, both ways; -1 = unknown */
    int nvlinks, nvlinks_active;       /* -1 = unknown */
    int numa_node;                     /* -1 = unknown */
    char serial[INVENTORY_TEXT_MAX];   /* "" = unknown */
    struct pcie_link pcie;
};

struct cpu {
    bool present; /* the inventory tells of it */
    char model[INVENTORY_TEXT_MAX];
    char vendor[INVENTORY_TEXT_MAX];
    char architecture[INVENTORY_TEXT_MAX]; /* "x86_64", "aarch64" */
    char firmware[INVENTORY_TEXT_MAX];     /* microcode */
    char iommu[16]; /* "smmuv3", "smmuv2", "intel-vtd", "amd-vi", "none"; "" = unknown */
    int sockets, cores, threads; /* -1 = unknown */
};

/* How near a NIC is to a GPU. */
enum path_kind {
    PATH_PIX,  /* one PCIe switch between them */
    PATH_PXB,  /* more than one */
    PATH_PHB,  /* the host bridge */
    PATH_NODE, /* another host bridge of the same NUMA node */
    PATH_SYS,  /* another NUMA node */
};
const char *path_kind_name(enum path_kind kind); /* "pix", ... */
struct device_path {
    char nic[PORT_ID_SIZE], gpu[PORT_ID_SIZE]; /* bus addresses */
    int kind;                                  /* enum path_kind */
};

/* What waits for a boot of the node, as its agent tells. */
struct inventory_reboot {
    char digest[DIGEST_TEXT_MAX]; /* of all that waits; "" = nothing, or the agent does not look */
    int count;                    /* settings; then at least 1 */
    char first[INVENTORY_TEXT_MAX];
    char why[INVENTORY_WHY_SIZE]; /* the node is not rebooted yet; "" = not told */
    bool approved;                /* an operator's approval of just this has reached the agent */
    bool begun; /* one was begun for just this and did not bring it: no other is */
};

struct inventory {
    struct port *ports; /* sorted by id */
    size_t port_count;
    struct gpu *gpus; /* sorted by id */
    size_t gpu_count;
    struct cpu cpu;
    struct device_path *paths; /* in the order of the report */
    size_t path_count;
    char kernel[INVENTORY_TEXT_MAX]; /* release; "" = unknown */
    struct inventory_reboot reboot;
};

/* The inventory's member "reboot"; digest is not "". NULL = no memory. */
json_t *inventory_reboot_to_json(const struct inventory_reboot *reboot);

ERR_MUST_CHECK enum err_code inventory_from_json(const json_t *document, struct inventory **out,
                                                 struct finding_list *findings, struct err *err);
void inventory_free(struct inventory *inventory);
OWN_DEFINE(inventory, struct inventory *, inventory_free)

/* Whether the port's driver has that devlink parameter with a value of that cmode. */
bool port_has_param(const struct port *port, const char *name, const char *cmode);
/* Somebody else manages the port's dcb. */
bool port_has_other_dcbx(const struct port *port);
const struct port *inventory_port_get(const struct inventory *inventory, const char *id);
