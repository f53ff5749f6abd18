/*
 * server/health_sweep.c - what the store knows of nodes, read on a reader thread: inventories,
 * marking chains, the profile. What most ports have is counted in one sweep and held against each
 * in the next, so that every report is read once a sweep.
 */
#include <stdlib.h>

#include "base/log.h"
#include "base/text.h"
#include "server/chains.h"
#include "server/health_private.h"
#include "server/scan.h"

#define SWEEP_REST 10 /* a sweep that took t is followed by at least so many times t */

struct sweep {
    struct health_desk *desk;
    struct db_ro *ro;
    struct fabric *fabric;        /* owned */
    struct health_peers *counted; /* owned */
    int64_t start_ns;
    bool moved; /* a port has something new, which is held against the others' by the next sweep */
    enum err_code code;
    struct err err;
};

static void count_ports(struct sweep *sweep, const struct inventory *inventory)
{
    char group[HEALTH_GROUP_MAX], mtu[TEXT_NUMBER_MAX];
    for (size_t i = 0; i < inventory->port_count && sweep->code == ERR_OK; i++) {
        const struct port *port = &inventory->ports[i];
        if (health_rail_of(port, group, mtu))
            sweep->code = health_peers_add(sweep->counted, group, mtu, &sweep->err);
        if (sweep->code == ERR_OK && health_board_of(port, group))
            sweep->code = health_peers_add(sweep->counted, group, port->firmware, &sweep->err);
    }
}

static bool on_node(void *arg, const char *name, const struct inventory *inventory)
{
    struct sweep *sweep = arg;
    struct health_desk *desk = sweep->desk;
    OWN(chain_report) struct chain_report *report = NULL;
    count_ports(sweep, inventory);
    if (sweep->code == ERR_OK)
        sweep->code = chains_of(sweep->ro, name, &report, NULL, &sweep->err);
    if (sweep->code != ERR_OK)
        return false;
    struct health_known known = {
        .inventory = inventory, .fabric = sweep->fabric, .chains = report, .moved = &sweep->moved};
    pthread_mutex_lock(&desk->lock);
    struct health_node *node = health_node_find(desk, name);
    known.peers = desk->peers;
    if (node != NULL)
        sweep->code = health_know(node->health, &known, &sweep->err);
    bool goes_on = !desk->ended && sweep->code == ERR_OK;
    pthread_mutex_unlock(&desk->lock);
    return goes_on;
}

static enum err_code read_nodes(struct db_ro *ro, void *arg, struct err *err)
{
    struct sweep *sweep = arg;
    sweep->ro = ro;
    enum err_code code = scan_fabric(ro, &sweep->fabric, err);
    if (code == ERR_OK)
        code = scan_inventories(ro, "", on_node, sweep, err);
    if (code == ERR_OK && sweep->code != ERR_OK) {
        code = sweep->code;
        *err = sweep->err;
    }
    return code;
}

static void swept(void *arg, enum err_code code, const struct err *err)
{
    struct sweep *sweep = arg;
    struct health_desk *desk = sweep->desk;
    struct clock *clock = desk->app->clock;
    if (code != ERR_OK)
        log_warning("health", "inventories could not be looked at: %s", err->text);
    pthread_mutex_lock(&desk->lock);
    desk->swept_ns = clock->mono_ns(clock);
    desk->sweep_ns = desk->swept_ns - sweep->start_ns;
    if (code == ERR_OK) {
        if (desk->peers == NULL || sweep->moved)
            desk->app->health_poked = true; /* something was not held against the others yet */
        health_peers_free(desk->peers);
        desk->peers = sweep->counted;
        sweep->counted = NULL;
    }
    pthread_mutex_unlock(&desk->lock);
    health_peers_free(sweep->counted);
    fabric_free(sweep->fabric);
    free(sweep);
    health_jobs_begin(desk);
}

static bool is_time(const struct health_desk *desk, int64_t now_ns)
{
    int64_t rest_ns = now_ns - desk->swept_ns;
    if (desk->sweeping || desk->ended)
        return false;
    if (desk->swept_ns == 0)
        return true;
    return rest_ns >= SWEEP_REST * desk->sweep_ns &&
           (desk->app->health_poked || rest_ns >= HEALTH_SWEEP_NS);
}

void health_sweep(struct health_desk *desk)
{
    struct clock *clock = desk->app->clock;
    struct err err = ERR_INIT;
    int64_t now_ns = clock->mono_ns(clock);
    if (!is_time(desk, now_ns))
        return;
    struct sweep *sweep = calloc(1, sizeof(*sweep));
    if (sweep == NULL || health_peers_new(&sweep->counted, NULL) != ERR_OK) {
        free(sweep);
        return; /* the next tick comes */
    }
    sweep->desk = desk;
    sweep->start_ns = now_ns;
    desk->sweeping = true;
    desk->app->health_poked = false;
    pthread_mutex_unlock(&desk->lock);
    enum err_code code = db_read(desk->app->db, read_nodes, swept, sweep, &err);
    if (code != ERR_OK)
        swept(sweep, code, &err);
    pthread_mutex_lock(&desk->lock);
}
