/*
 * agent/peers.c - see peers.h.
 */
#include "agent/peers.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/duration.h"
#include "base/text.h"

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * NS_PER_S + now.tv_nsec;
}

/* One past the last peer of the port that `from` is of. */
static size_t end_of_port(const struct peer_list *peers, size_t from)
{
    size_t end = from + 1;
    while (end < peers->count && strcmp(peers->items[end].port, peers->items[from].port) == 0)
        end++;
    return end;
}

static void note_why(struct peers_heard *out, const struct peer *peer, const char *why)
{
    if (out->why[0] == '\0')
        snprintf(out->why, sizeof(out->why), "%s (%s) through %s: %.160s", peer->node,
                 peer->address, peer->port, why);
}

static void ask_port(struct dp *dp, const struct peer_list *peers, size_t from, size_t end,
                     struct peers_heard *out)
{
    struct dp_peer asked[PEERS_MAX] = {0};
    struct err err = ERR_INIT;
    for (size_t i = from; i < end; i++)
        asked[i - from].address = peers->items[i].address;
    enum err_code code =
        dp_ping(dp, peers->items[from].port, asked, end - from, PEERS_WAIT_MS, &err);
    if (code != ERR_OK) {
        note_why(out, &peers->items[from], err.text);
        return;
    }
    bool any = false;
    for (size_t i = from; i < end; i++) {
        out->answered[i] = asked[i - from].answered;
        any |= out->answered[i];
        if (!out->answered[i])
            note_why(out, &peers->items[i], asked[i - from].why);
    }
    for (size_t i = from; i < end; i++)
        out->ports[i] = any ? PEERS_ANSWERED : PEERS_SILENT;
}

void peers_ask(struct dp *dp, const struct peer_list *peers, struct peers_heard *out)
{
    const int64_t end_ns = now_ns() + PEERS_BUDGET_NS;
    *out = (struct peers_heard){.why = ""};
    for (size_t i = 0, end; i < peers->count; i = end) {
        end = end_of_port(peers, i);
        if (now_ns() + PEERS_WAIT_MS * NS_PER_MS > end_ns) {
            note_why(out, &peers->items[i], "there was no time left to ask");
            return;
        }
        ask_port(dp, peers, i, end, out);
    }
}

void peers_judge(const struct peer_list *peers, const struct peers_heard *before,
                 const struct peers_heard *after, struct receipt_probe *out)
{
    const struct peer *lost = NULL;
    size_t answered = 0;
    for (size_t i = 0; i < peers->count; i++) {
        answered += after->answered[i];
        if (lost == NULL && before->ports[i] == PEERS_ANSWERED && after->ports[i] == PEERS_SILENT)
            lost = &peers->items[i];
    }
    out->ok = lost == NULL && answered > 0;
    out->not_possible = lost == NULL && answered == 0;
    if (peers->count == 0)
        snprintf(out->detail, sizeof(out->detail),
                 "not possible: the plan names no peer; no other node on the rails of this one has "
                 "told a RoCE address");
    else if (lost != NULL)
        snprintf(out->detail, sizeof(out->detail),
                 "peers of %.64s answered over RoCE before the plan and do not after it; the first "
                 "is %s (%s)",
                 lost->port, lost->node, lost->address);
    else if (answered == 0)
        snprintf(out->detail, sizeof(out->detail),
                 "not possible: no peer was heard, before the plan and after it: %.180s",
                 after->why);
    else
        snprintf(out->detail, sizeof(out->detail), "%zu of %zu peers answer over RoCE%s%.150s",
                 answered, peers->count, after->why[0] == '\0' ? "" : "; not ", after->why);
}
