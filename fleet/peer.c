/*
 * fleet/peer.c - see peer.h. Called by the compiler and by plan.c.
 */
#include "fleet/peer.h"

#include <string.h>

#include "base/text.h"
#include "fleet/read.h"
#include "fleet/view.h"

static bool is_v6(const char *address)
{
    return strchr(address, ':') != NULL;
}

bool peer_is_on_rail(const struct port *a, const struct port *b)
{
    if (a->switch_name[0] != '\0' && b->switch_name[0] != '\0')
        return strcmp(a->switch_name, b->switch_name) == 0;
    return strcmp(a->id, b->id) == 0;
}

static bool can_answer(const struct port *from, const struct port *to)
{
    return to->roce_address[0] != '\0' && strcmp(to->link_state, "down") != 0 &&
           is_v6(from->roce_address) == is_v6(to->roce_address) &&
           strcmp(from->roce_address, to->roce_address) != 0 && peer_is_on_rail(from, to);
}

static const struct port *find_on(const struct view_node *node, const struct port *from)
{
    for (size_t i = 0; node->inventory != NULL && i < node->inventory->port_count; i++)
        if (can_answer(from, &node->inventory->ports[i]))
            return &node->inventory->ports[i];
    return NULL;
}

static void choose_of(const struct view *view, size_t self, const struct port *from,
                      struct peer_list *out)
{
    size_t found = 0;
    for (size_t i = 1; i < view->node_count && i <= PEERS_LOOK_MAX; i++) {
        const struct view_node *node = &view->nodes[(self + i) % view->node_count];
        const struct port *to = find_on(node, from);
        if (to == NULL)
            continue;
        struct peer *peer = &out->items[out->count++];
        text_copy(peer->port, sizeof(peer->port), from->id);
        text_copy(peer->node, sizeof(peer->node), node->name);
        text_copy(peer->address, sizeof(peer->address), to->roce_address);
        if (++found == PEERS_A_PORT_MAX || out->count == PEERS_MAX)
            return;
    }
}

void peers_choose(const struct view *view, const struct view_node *node, struct peer_list *out)
{
    const struct inventory *inventory = node->inventory;
    const struct view_node *self = view_node_get(view, node->name);
    out->count = 0;
    for (size_t i = 0; self != NULL && inventory != NULL && i < inventory->port_count; i++)
        if (inventory->ports[i].roce_address[0] != '\0' && out->count < PEERS_MAX)
            choose_of(view, (size_t)(self - view->nodes), &inventory->ports[i], out);
}

json_t *peers_to_json(const struct peer_list *peers)
{
    OWN(json) json_t *array = json_array();
    for (size_t i = 0; i < peers->count; i++) {
        const struct peer *peer = &peers->items[i];
        json_t *object = json_object();
        if (json_array_append_new(array, object) != 0 || !write_text(object, "port", peer->port) ||
            !write_text(object, "node", peer->node) ||
            !write_text(object, "address", peer->address))
            return NULL;
    }
    return GIVE(array);
}

static void peer_from_json(struct json_reader *r, struct peer *out)
{
    read_text(r, "port", true, 1, out->port, sizeof(out->port));
    read_name(r, "node", true, out->node);
    read_address(r, "address", out->address, sizeof(out->address));
    json_reader_end(r);
}

void peers_from_json(struct json_reader *r, struct peer_list *out)
{
    const json_t *peers = NULL;
    out->count = 0;
    if (!json_reader_array(r, "peers", false, PEERS_MAX, &peers))
        return;
    for (size_t i = 0; i < json_array_size(peers); i++) {
        struct json_reader element;
        json_reader_element(r, "peers", i, json_array_get(peers, i), &element);
        out->items[i] = (struct peer){.port = ""};
        peer_from_json(&element, &out->items[i]);
        out->count++;
    }
}
