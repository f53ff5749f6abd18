/*
 * fleet/compile_nccl.c - the environment of NCCL on a node (docs: NCCL's "Environment Variables"),
 * as a file that jobs source: exact devices, traffic class, GID, buffer.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "fleet/compile_job.h"
#include "fleet/read.h"

#define FILE_ID      "nccl.env"
#define HCA_TEXT_MAX 2048 /* what the node's side takes */
#define HCA_NAME_MAX (INVENTORY_TEXT_MAX + TEXT_NUMBER_MAX + 1)
#define ECT_0        2 /* RFC 3168 */
#define DSCP_SHIFT   2

/* The devices that NCCL shall use; "=" in front makes names exact. */
struct hcas {
    char text[HCA_TEXT_MAX];
    size_t used;
    bool full;
    int gid_index;      /* of all of them; -1 = unknown, or not the same */
    const char *differ; /* a port with another GID index than those before; NULL = none */
    int first_index, differ_index;
};

static void set(struct compile *c, json_t *object, const char *key, json_t *value)
{
    if (!write_member(object, key, value) && c->code == ERR_OK)
        c->code = err_nomem(c->err);
}

static void set_number(struct compile *c, json_t *object, const char *key, int64_t number)
{
    char text[TEXT_NUMBER_MAX];
    text_put_number(text, number);
    set(c, object, key, json_string(text));
}

/* The whole name stands in the list. */
static bool is_listed(const struct hcas *hcas, const char *name)
{
    size_t len = strlen(name);
    for (const char *at = hcas->text; (at = strstr(at, name)) != NULL; at += len)
        if ((at == hcas->text || at[-1] == ',' || at[-1] == '=') &&
            (at[len] == ',' || at[len] == '\0'))
            return true;
    return false;
}

static void add_name(struct hcas *hcas, const char *name)
{
    if (is_listed(hcas, name))
        return;
    int n = snprintf(hcas->text + hcas->used, sizeof(hcas->text) - hcas->used, "%s%s",
                     hcas->used == 0 ? "=" : ",", name);
    if (n < 0 || (size_t)n >= sizeof(hcas->text) - hcas->used) {
        hcas->text[hcas->used] = '\0';
        hcas->full = true;
        return;
    }
    hcas->used += (size_t)n;
}

static void note_gid(struct hcas *hcas, const struct port *port)
{
    if (hcas->used == 0) {
        hcas->gid_index = hcas->first_index = port->gid_index;
    } else if (port->gid_index != hcas->first_index) {
        hcas->gid_index = -1;
        hcas->differ = port->rdma_device;
        hcas->differ_index = port->gid_index;
    }
}

static void add_port(struct hcas *hcas, const struct port *port)
{
    char name[HCA_NAME_MAX];
    note_gid(hcas, port);
    snprintf(name, sizeof(name), "%s:%d", port->rdma_device,
             port->rdma_port < 1 ? 1 : port->rdma_port);
    add_name(hcas, name);
}

/* RDMA in software counts only on a node that has no other. */
static bool counts(const struct inventory *inventory, const struct port *port)
{
    bool hardware = false;
    for (size_t i = 0; i < inventory->port_count; i++)
        hardware |=
            inventory->ports[i].rdma_device[0] != '\0' && !inventory->ports[i].rdma_software;
    return port->rdma_device[0] != '\0' && !(hardware && port->rdma_software);
}

/* The port of "mlx5_0" or "mlx5_0:1". */
static const struct port *port_of(const struct inventory *inventory, const char *hca)
{
    size_t len = strcspn(hca, ":");
    int64_t number = hca[len] == ':' ? strtol(hca + len + 1, NULL, 10) : 0;
    for (size_t i = 0; i < inventory->port_count; i++) {
        const struct port *port = &inventory->ports[i];
        int has = port->rdma_port < 1 ? 1 : port->rdma_port;
        if (strlen(port->rdma_device) == len && strncmp(port->rdma_device, hca, len) == 0 &&
            (number == 0 || number == has))
            return port;
    }
    return NULL;
}

static void collect_given(struct compile *c, struct hcas *hcas)
{
    const json_t *list = c->view->fabric->nccl.hcas;
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *hca = json_string_value(json_array_get(list, i));
        const struct port *port = port_of(c->node->inventory, hca);
        if (port == NULL) {
            compile_leave_out(c, "it has no RDMA device %s, which the profile's hca_list names",
                              hca);
            continue;
        }
        note_gid(hcas, port);
        add_name(hcas, hca);
    }
}

static void collect(struct compile *c, struct hcas *hcas)
{
    const struct inventory *inventory = c->node->inventory;
    *hcas = (struct hcas){.gid_index = -1, .first_index = -1};
    if (json_array_size(c->view->fabric->nccl.hcas) > 0)
        collect_given(c, hcas);
    else
        for (size_t i = 0; i < inventory->port_count; i++)
            if (counts(inventory, &inventory->ports[i]))
                add_port(hcas, &inventory->ports[i]);
    if (hcas->full)
        compile_leave_out(c, "its RDMA devices do not fit into one variable; the last are left "
                             "out of NCCL_IB_HCA");
}

/* NCCL takes one index for all devices; without one, NCCL 2.21 and later look for the GID of this
 * kind on each device by themselves. */
static void set_gid(struct compile *c, const struct hcas *hcas, json_t *object)
{
    int index = c->view->fabric->nccl.gid_index;
    if (index < 0)
        index = hcas->gid_index;
    if (index >= 0) {
        set_number(c, object, "NCCL_IB_GID_INDEX", index);
        return;
    }
    set(c, object, "NCCL_IB_ROCE_VERSION_NUM", json_string("2"));
    set(c, object, "NCCL_IB_ADDR_FAMILY", json_string("AF_INET"));
    if (hcas->differ != NULL && hcas->first_index >= 0 && hcas->differ_index >= 0)
        compile_leave_out(c,
                          "the RoCE v2 GID has index %d on its first device and %d on %s, and NCCL "
                          "takes one for all: it is left to NCCL (2.21 or later) to find them",
                          hcas->first_index, hcas->differ_index, hcas->differ);
}

/* The profile's byte, or that of RDMA connections that ask for none. */
static int traffic_class(const struct fabric *fabric)
{
    if (fabric->nccl.traffic_class >= 0 || !fabric->has_roce_priority)
        return fabric->nccl.traffic_class;
    return fabric->priorities[fabric->roce_priority].dscps[0] << DSCP_SHIFT | ECT_0;
}

void compile_nccl(struct compile *c)
{
    const struct fabric_nccl *nccl = &c->view->fabric->nccl;
    struct hcas hcas;
    if (!nccl->present)
        return;
    collect(c, &hcas);
    if (hcas.used == 0) {
        compile_leave_out(c, "no RDMA device of it is known, so NCCL gets no environment");
        return;
    }
    OWN(json) json_t *want = json_object();
    int class = traffic_class(c->view->fabric);
    set(c, want, "NCCL_IB_HCA", json_string(hcas.text));
    set_gid(c, &hcas, want);
    if (class >= 0)
        set_number(c, want, "NCCL_IB_TC", class);
    if (nccl->buffer_bytes > 0)
        set_number(c, want, "NCCL_BUFFSIZE", nccl->buffer_bytes);
    if (nccl->socket_ifname[0] != '\0')
        set(c, want, "NCCL_SOCKET_IFNAME", json_string(nccl->socket_ifname));
    compile_add(c, &(struct compile_knob){.kind = "host.file",
                                          .id = FILE_ID,
                                          .want = GIVE(want),
                                          .enforcement = ENFORCEMENT_NONE});
}
