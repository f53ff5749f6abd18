/*
 * fleet/compile_link.c - a port's link knobs: pause frames of the whole link, when it
 * interrupts, ARP.
 */
#include <string.h>

#include "base/text.h"
#include "fleet/compile_job.h"
#include "fleet/read.h"

#define NAMES_MAX 128

/* Pause frames for the whole link and for single priorities exclude each other on the wire (IEEE
 * 802.1Q 36.1), and mlx5 does not check it. */
void compile_pause(struct compile *c)
{
    if (!c->site->port->caps.pause)
        return;
    OWN(json) json_t *want = json_object();
    bool whole = write_member(want, "rx", json_false()) && write_member(want, "tx", json_false());
    compile_add(c, &(struct compile_knob){.kind = "link.pause",
                                          .want = whole ? GIVE(want) : NULL,
                                          .enforcement = ENFORCEMENT_NIC});
}

/* A driver that adapts does not keep fixed values: those that give some and do not speak of it
 * mean them. */
static void stop_adapting(struct coalesce *want, unsigned has)
{
    static const struct {
        int adaptive, frames, usecs; /* enum coalesce_id */
    } ways[] = {{COALESCE_ADAPTIVE_RX, COALESCE_RX_FRAMES, COALESCE_RX_USECS},
                {COALESCE_ADAPTIVE_TX, COALESCE_TX_FRAMES, COALESCE_TX_USECS}};
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
        unsigned fixed = coalesce_bit(ways[i].frames) | coalesce_bit(ways[i].usecs);
        if ((want->present & fixed) != 0)
            want->present |= has & coalesce_bit(ways[i].adaptive);
    }
}

void compile_arp(struct compile *c)
{
    const struct arp *want = &c->view->fabric->arp;
    if (want->present != 0)
        compile_add(c, &(struct compile_knob){.kind = "link.arp",
                                              .want = arp_to_json(want),
                                              .enforcement = ENFORCEMENT_KERNEL});
}

void compile_coalesce(struct compile *c)
{
    struct coalesce want = c->view->fabric->coalesce;
    unsigned has = c->site->port->caps.coalesce;
    char lacking[NAMES_MAX] = "", *at = lacking;
    for (int i = 0; i < COALESCE_IDS; i++)
        if ((want.present & ~has & coalesce_bit(i)) != 0)
            at = text_put(text_put(at, at == lacking ? "" : ", "), coalesce_params[i].name);
    if (lacking[0] != '\0')
        compile_leave_out(c, "its interrupt moderation has no %s", lacking);
    want.present &= has;
    stop_adapting(&want, has);
    if (want.present != 0)
        compile_add(c, &(struct compile_knob){.kind = "link.coalesce",
                                              .want = coalesce_to_json(&want),
                                              .enforcement = ENFORCEMENT_NIC});
}
