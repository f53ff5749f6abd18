/*
 * fleet/health_known.c - see health_known.h.
 */
#include "fleet/health_known.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fleet/firmware.h"

/* Peers --------------------------------------------------------------------------------------- */

struct pair { /* how many of the group have the text; text NULL = how many there are */
    char *group, *text;
    uint32_t count;
    uint32_t most; /* of a group: how many have the text that most have */
};

struct health_peers {
    struct pair *pairs; /* open addressing */
    size_t room, count;
};

enum err_code health_peers_new(struct health_peers **out, struct err *err)
{
    struct health_peers *peers = calloc(1, sizeof(*peers));
    if (peers == NULL)
        return err_nomem(err);
    *out = peers;
    return ERR_OK;
}

void health_peers_free(struct health_peers *peers)
{
    if (peers == NULL)
        return;
    for (size_t i = 0; i < peers->room; i++) {
        free(peers->pairs[i].group);
        free(peers->pairs[i].text);
    }
    free(peers->pairs);
    free(peers);
}

static bool is_pair(const struct pair *pair, const char *group, const char *text)
{
    if (strcmp(pair->group, group) != 0 || (pair->text == NULL) != (text == NULL))
        return false;
    return text == NULL || strcmp(pair->text, text) == 0;
}

static size_t place_of(const struct health_peers *peers, const char *group, const char *text)
{
    uint64_t hash = text_hash(group) * 31 + (text == NULL ? 0 : text_hash(text) + 1);
    size_t at = (size_t)(hash ^ hash >> 32) & (peers->room - 1);
    while (peers->pairs[at].group != NULL && !is_pair(&peers->pairs[at], group, text))
        at = (at + 1) & (peers->room - 1);
    return at;
}

static enum err_code make_room(struct health_peers *peers, struct err *err)
{
    if (2 * (peers->count + 1) < peers->room)
        return ERR_OK;
    struct health_peers old = *peers;
    size_t room = old.room == 0 ? 64 : 2 * old.room;
    struct pair *pairs = calloc(room, sizeof(*pairs));
    if (pairs == NULL)
        return err_nomem(err);
    peers->pairs = pairs;
    peers->room = room;
    for (size_t i = 0; i < old.room; i++)
        if (old.pairs[i].group != NULL)
            pairs[place_of(peers, old.pairs[i].group, old.pairs[i].text)] = old.pairs[i];
    free(old.pairs);
    return ERR_OK;
}

static enum err_code count_pair(struct health_peers *peers, const char *group, const char *text,
                                uint32_t *out_count, struct err *err)
{
    enum err_code code = make_room(peers, err);
    if (code != ERR_OK)
        return code;
    struct pair *pair = &peers->pairs[place_of(peers, group, text)];
    if (pair->group == NULL) {
        *out_count = 0;
        if (peers->count == HEALTH_PEERS_MAX)
            return ERR_OK;
        char *own_group = strdup(group), *own_text = text == NULL ? NULL : strdup(text);
        if (own_group == NULL || (text != NULL && own_text == NULL)) {
            free(own_group);
            free(own_text);
            return err_nomem(err);
        }
        *pair = (struct pair){.group = own_group, .text = own_text};
        peers->count++;
    }
    *out_count = ++pair->count;
    return ERR_OK;
}

enum err_code health_peers_add(struct health_peers *peers, const char *group, const char *text,
                               struct err *err)
{
    uint32_t all, same = 0;
    enum err_code code = count_pair(peers, group, NULL, &all, err);
    if (code == ERR_OK)
        code = count_pair(peers, group, text, &same, err);
    if (code != ERR_OK || peers->room == 0)
        return code;
    struct pair *of_group = &peers->pairs[place_of(peers, group, NULL)];
    if (of_group->group != NULL && same > of_group->most)
        of_group->most = same;
    return ERR_OK;
}

static const struct pair *pair_of(const struct health_peers *peers, const char *group,
                                  const char *text)
{
    const struct pair *pair = peers->room == 0 ? NULL : &peers->pairs[place_of(peers, group, text)];
    return pair == NULL || pair->group == NULL ? NULL : pair;
}

int health_peers_differs(const struct health_peers *peers, const char *group, const char *text)
{
    const struct pair *all = pair_of(peers, group, NULL), *same = pair_of(peers, group, text);
    if (all == NULL || all->count < HEALTH_PEERS_LEAST || 2 * all->most <= all->count)
        return -1;
    return same == NULL || same->count != all->most;
}

/* Ports of one switch are a rail; where no neighbour is known, those of one slot. */
bool health_rail_of(const struct port *port, char group[HEALTH_GROUP_MAX],
                    char mtu[TEXT_NUMBER_MAX])
{
    if (port->rdma_device[0] == '\0' || port->virtual_function || port->mtu_bytes <= 0)
        return false;
    bool has_switch = port->switch_name[0] != '\0';
    snprintf(group, HEALTH_GROUP_MAX, "%s %s", has_switch ? "switch" : "slot",
             has_switch ? port->switch_name : port->id);
    snprintf(mtu, TEXT_NUMBER_MAX, "%d", port->mtu_bytes);
    return true;
}

bool health_board_of(const struct port *port, char group[HEALTH_GROUP_MAX])
{
    if (port->psid[0] == '\0' || port->firmware[0] == '\0' || port->virtual_function)
        return false;
    snprintf(group, HEALTH_GROUP_MAX, "board %s", port->psid);
    return true;
}

/* A node ----------------------------------------------------------------------------------------
 */

struct putting {
    struct health *health;
    const struct health_known *known;
    struct health_subject subject;
    enum err_code code;
    struct err *err;
};

/* A value below 0 is unknown. */
static void put(struct putting *p, const char *input, int64_t value)
{
    if (p->code == ERR_OK && value >= 0)
        p->code = health_server_put(p->health, &p->subject, input, value, p->err);
}

/* What the look before found of a port. */
struct before {
    int64_t gid_index, mtu_bytes, firmware_hash;
};

/* Held against the peers' when it is as before, else from the next look on. */
static void put_differs(struct putting *p, const char *input, bool as_before, const char *group,
                        const char *text)
{
    if (!as_before && p->known->moved != NULL)
        *p->known->moved = true;
    if (as_before && p->known->peers != NULL)
        put(p, input, health_peers_differs(p->known->peers, group, text));
}

static int64_t hash_of(const char *text)
{
    return (int64_t)(text_hash(text) & INT64_MAX >> 1);
}

static void put_firmware(struct putting *p, const struct port *port, const struct before *before)
{
    char group[HEALTH_GROUP_MAX];
    enum firmware_verdict verdict =
        firmware_judge(port->firmware, firmware_minimum(p->known->fabric, port->driver));
    if (p->known->fabric != NULL && verdict != FIRMWARE_UNKNOWN)
        put(p, "firmware_below_minimum", verdict == FIRMWARE_BELOW);
    if (port->firmware[0] != '\0' && port->firmware_stored[0] != '\0')
        put(p, "firmware_staged", firmware_is_staged(port));
    if (!health_board_of(port, group))
        return;
    put_differs(p, "firmware_differs", hash_of(port->firmware) == before->firmware_hash, group,
                port->firmware);
    put(p, "firmware_hash", hash_of(port->firmware));
}

static void put_link(struct putting *p, const struct port *port, const struct before *before)
{
    char group[HEALTH_GROUP_MAX], mtu[TEXT_NUMBER_MAX];
    bool is_up = strcmp(port->link_state, "up") == 0;
    if (port->rdma_device[0] == '\0')
        return;
    if (is_up || strcmp(port->link_state, "down") == 0 ||
        strcmp(port->link_state, "lowerlayerdown") == 0)
        put(p, "is_down", !is_up);
    if (health_rail_of(port, group, mtu)) {
        put_differs(p, "mtu_differs", port->mtu_bytes == before->mtu_bytes, group, mtu);
        put(p, "mtu_bytes", port->mtu_bytes);
    }
    if (port->rdma_port > 0)
        put(p, "gid_missing", port->gid_index < 0 || port->roce_address[0] == '\0');
    if (port->gid_index >= 0 && before->gid_index != HEALTH_NONE)
        put(p, "gid_moved", port->gid_index != before->gid_index);
    put(p, "gid_index", port->gid_index);
}

static void put_chains(struct putting *p, const struct port *port)
{
    const struct chain_report *report = p->known->chains;
    int64_t broken = 0, untrusted = 0, known = 0;
    for (size_t i = 0; report != NULL && i < report->count; i++) {
        const struct chain *chain = &report->chains[i];
        if (strcmp(chain->subject, port->id) != 0 || chain->verdict == CHAIN_UNKNOWN)
            continue;
        known++;
        broken += chain->verdict == CHAIN_BROKEN;
        untrusted += chain->verdict == CHAIN_BROKEN && chain->at == CHAIN_PRIORITY;
    }
    if (known == 0)
        return;
    put(p, "chains_broken", broken);
    put(p, "dscp_not_trusted", untrusted);
}

static void put_priorities(struct putting *p, const struct port *port)
{
    const struct fabric *fabric = p->known->fabric;
    struct health_subject of_port = p->subject;
    if (fabric == NULL || port->rdma_device[0] == '\0')
        return;
    p->subject.kind = TELEMETRY_PRIORITY;
    for (uint32_t i = 0; i < PRIORITY_COUNT; i++) {
        p->subject.number = i;
        put(p, "is_lossless", fabric->priorities[i].lossless);
        put(p, "is_unplanned",
            i != 0 && !fabric->priorities[i].used &&
                !(fabric->has_cnp && fabric->cnp_priority == (int)i));
    }
    p->subject = of_port;
}

/* More of them than the limit: which port they are on stays unknown. */
static void put_wire(struct putting *p, const struct port *port, const char *device,
                     uint32_t number)
{
    struct err full = ERR_INIT;
    if (health_rdma_port(p->health, device, number, port->id, &full) == ERR_NOMEM)
        p->code = err_nomem(p->err);
}

/* Whose queue pairs are on the port's interface. */
static void put_solar(struct putting *p, const struct port *port)
{
    char device[sizeof("solar/") + IFNAME_SIZE];
    if (port->ifname[0] == '\0' || p->code != ERR_OK)
        return;
    snprintf(device, sizeof(device), "solar/%s", port->ifname);
    put_wire(p, port, device, 0);
}

static void put_rdma(struct putting *p, const struct port *port)
{
    struct health_subject of_port = p->subject;
    if (port->rdma_device[0] == '\0' || port->rdma_port < 1 || p->code != ERR_OK)
        return;
    p->subject =
        (struct health_subject){.kind = TELEMETRY_RDMA, .number = (uint32_t)port->rdma_port};
    text_copy(p->subject.device, sizeof(p->subject.device), port->rdma_device);
    if (p->known->fabric != NULL)
        put(p, "ecn_configured", p->known->fabric->has_ecn);
    put_wire(p, port, port->rdma_device, (uint32_t)port->rdma_port);
    p->subject = of_port;
}

static void put_port(struct putting *p, const struct port *port, const struct before *before)
{
    put_firmware(p, port, before);
    put_link(p, port, before);
    put_chains(p, port);
    if (!port->virtual_function && port->rdma_device[0] != '\0')
        put(p, "link_share_percent",
            health_pcie_share(port->pcie.current_gen, port->pcie.current_width, port->pcie.max_gen,
                              port->pcie.max_width));
    put_priorities(p, port);
    put_rdma(p, port);
    put_solar(p, port);
}

enum err_code health_know(struct health *health, const struct health_known *known, struct err *err)
{
    static const int replaced[] = {TELEMETRY_PORT, TELEMETRY_PRIORITY, TELEMETRY_RDMA};
    const struct inventory *inventory = known->inventory;
    struct putting p = {.health = health, .known = known, .err = err};
    struct before before[INVENTORY_PORTS_MAX];
    for (size_t i = 0; i < inventory->port_count; i++) {
        p.subject = (struct health_subject){.kind = TELEMETRY_PORT};
        text_copy(p.subject.device, sizeof(p.subject.device), inventory->ports[i].id);
        before[i].gid_index = health_fact(health, &p.subject, "gid_index");
        before[i].mtu_bytes = health_fact(health, &p.subject, "mtu_bytes");
        before[i].firmware_hash = health_fact(health, &p.subject, "firmware_hash");
    }
    for (size_t i = 0; i < sizeof(replaced) / sizeof(replaced[0]); i++)
        health_server_begin(health, replaced[i]);
    health_rdma_clear(health);
    for (size_t i = 0; i < inventory->port_count; i++) {
        p.subject = (struct health_subject){.kind = TELEMETRY_PORT};
        text_copy(p.subject.device, sizeof(p.subject.device), inventory->ports[i].id);
        put_port(&p, &inventory->ports[i], &before[i]);
    }
    p.subject = (struct health_subject){.kind = TELEMETRY_NODE};
    const struct fabric *fabric = known->fabric;
    if (fabric != NULL && fabric->has_cnp && fabric->cnp_priority >= 0 &&
        fabric->cnp_priority < PRIORITY_COUNT)
        put(&p, "cnp_lossless", fabric->priorities[fabric->cnp_priority].lossless);
    return p.code;
}
