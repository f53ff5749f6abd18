/*
 * fleet/inventory_port.c - see inventory_port.h.
 */
#include "fleet/inventory_port.h"

#include "fleet/shape.h"

#define NUMA_NODE_MAX  1023
#define PTP_INDEX_MAX  4095
#define VECTORS_MAX    65535
#define FUNCTIONS_MAX  65535
#define LANES_MAX      64
#define PRIORITIES_MAX 8
#define DSCPS_MAX      64

#define TEXT(key, size, member)                                                                    \
    {                                                                                              \
        key, SHAPE_TEXT, 0, (int64_t)(size)-1, offsetof(struct port, member), NULL, NULL, false    \
    }
#define SHOWN(key)                                                                                 \
    {                                                                                              \
        key, SHAPE_TEXT, 0, INVENTORY_TEXT_MAX - 1, SHAPE_UNKEPT, NULL, NULL, false                \
    }
#define INT(key, min, max, member)                                                                 \
    {                                                                                              \
        key, SHAPE_INT, min, max, offsetof(struct port, member), NULL, NULL, false                 \
    }
#define COUNT(key, min, max)                                                                       \
    {                                                                                              \
        key, SHAPE_INT, min, max, SHAPE_UNKEPT, NULL, NULL, false                                  \
    }
#define FLAG(key)                                                                                  \
    {                                                                                              \
        key, SHAPE_BOOL, 0, 0, SHAPE_UNKEPT, NULL, NULL, false                                     \
    }
#define OBJECT(key, table)                                                                         \
    {                                                                                              \
        key, SHAPE_OBJECT, 0, 0, SHAPE_UNKEPT, NULL, table, false                                  \
    }
#define OBJECTS(key, max, table)                                                                   \
    {                                                                                              \
        key, SHAPE_OBJECTS, 0, max, SHAPE_UNKEPT, NULL, table, false                               \
    }
#define END                                                                                        \
    {                                                                                              \
        .key = NULL                                                                                \
    }

static const char *const link_states[] = {"up",      "down",       "dormant", "lowerlayerdown",
                                          "testing", "notpresent", NULL};
static const char *const duplexes[] = {"full", "half", NULL};

static const struct shape link_shape[] = {
    {"state", SHAPE_ENUM, 0, sizeof(((struct port *)0)->link_state) - 1,
     offsetof(struct port, link_state), link_states, NULL, false},
    {"duplex", SHAPE_ENUM, 0, 0, SHAPE_UNKEPT, duplexes, NULL, false},
    FLAG("autoneg"),
    COUNT("lanes", 1, LANES_MAX),
    END,
};
static const struct shape fec_shape[] = {
    TEXT("active", sizeof(((struct port *)0)->fec), fec),
    {"configured", SHAPE_TEXTS, 0, INVENTORY_FEC_MAX, SHAPE_UNKEPT, NULL, NULL, false},
    END,
};
static const struct shape ptp_shape[] = {
    INT("index", 0, PTP_INDEX_MAX, ptp_index),
    SHOWN("name"),
    END,
};
static const struct shape affinity_shape[] = {
    SHOWN("cpus"),
    COUNT("vectors", 1, VECTORS_MAX),
    END,
};
static const struct shape irq_shape[] = {
    INT("vectors", 0, VECTORS_MAX, irq_vectors),
    OBJECTS("affinity", INVENTORY_AFFINITY_MAX, affinity_shape),
    FLAG("truncated"),
    END,
};
static const struct shape function_shape[] = {
    COUNT("index", 0, FUNCTIONS_MAX),
    SHOWN("address"),
    SHOWN("driver"),
    END,
};
static const struct shape sriov_shape[] = {
    INT("total", 0, FUNCTIONS_MAX, sriov_total),
    INT("enabled", 0, FUNCTIONS_MAX, sriov_enabled),
    OBJECTS("functions", INVENTORY_FUNCTIONS_MAX, function_shape),
    FLAG("truncated"),
    END,
};
static const struct shape representor_shape[] = {
    SHOWN("ifname"),
    SHOWN("port_name"),
    END,
};
static const struct shape module_shape[] = {
    SHOWN("kind"), SHOWN("vendor"), SHOWN("part_number"), SHOWN("serial"), END,
};
static const char *const tsas[] = {"strict", "cbs", "ets", "vendor", NULL};
static const struct shape told_priority_shape[] = {
    COUNT("priority", 0, PRIORITIES_MAX - 1),
    COUNT("class", 0, PRIORITIES_MAX - 1),
    COUNT("percent", 0, 100),
    {"tsa", SHAPE_ENUM, 0, 0, SHAPE_UNKEPT, tsas, NULL, false},
    FLAG("lossless"),
    END,
};
static const struct shape told_dscp_shape[] = {
    COUNT("dscp", 0, DSCPS_MAX - 1),
    COUNT("priority", 0, PRIORITIES_MAX - 1),
    END,
};
static const struct shape neighbour_shape[] = {
    SHOWN("chassis"),
    TEXT("port", INVENTORY_TEXT_MAX, switch_port),
    SHOWN("port_description"),
    TEXT("system", INVENTORY_TEXT_MAX, switch_name),
    SHOWN("source"),
    OBJECTS("priorities", PRIORITIES_MAX, told_priority_shape),
    OBJECTS("dscps", DSCPS_MAX, told_dscp_shape),
    END,
};
static const struct shape details[] = {
    TEXT("part_number", INVENTORY_TEXT_MAX, part_number),
    TEXT("serial", INVENTORY_TEXT_MAX, serial),
    TEXT("mac", MAC_TEXT_SIZE, mac),
    TEXT("pci_id", sizeof(((struct port *)0)->pci_id), pci_id),
    TEXT("physical_function", PORT_ID_SIZE, physical_function),
    INT("numa_node", 0, NUMA_NODE_MAX, numa_node),
    OBJECT("link", link_shape),
    OBJECT("fec", fec_shape),
    OBJECT("ptp", ptp_shape),
    OBJECT("irq", irq_shape),
    OBJECT("sriov", sriov_shape),
    OBJECTS("representors", INVENTORY_FUNCTIONS_MAX, representor_shape),
    OBJECT("module", module_shape),
    OBJECT("neighbour", neighbour_shape),
    END,
};

void port_details_from_json(struct json_reader *r, struct port *port)
{
    port->numa_node = port->ptp_index = port->irq_vectors = -1;
    port->sriov_total = port->sriov_enabled = -1;
    shape_read(r, details, port);
}
