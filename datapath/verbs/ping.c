/*
 * datapath/verbs/ping.c - see ping.h. Called by linux_ping.c on a thread of its own.
 */
#include "datapath/verbs/ping.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rdma/rdma_cma.h>

#include "base/duration.h"
#include "datapath/verbs/address.h"

/* rdma_cm repeats a request by itself after four seconds only: a lost one is made anew. */
#define TRY_MS   500
#define PAUSE_MS 200 /* between two requests to the same peer */
#define TRIES    8   /* to one peer */

#define NOBODYS_PORT 9 /* "discard": no service of RDMA stands there */

struct target {
    struct verbs_ping *peer;
    struct rdma_cm_id *id; /* NULL = between two requests */
    int64_t until_ns;      /* of the request, or of the pause */
    int tries;
};

struct verbs_pinged {
    const struct verbs_ping_from *from;
    struct rdma_event_channel *channel;
    struct target targets[VERBS_PING_MAX];
    size_t count;
    struct rdma_cm_id *ids[VERBS_PING_MAX * TRIES]; /* all that were made: to take one back hangs */
    size_t id_count;
};

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * NS_PER_S + now.tv_nsec;
}

static void end_request(struct target *target, const char *what, int error)
{
    target->id = NULL;
    target->until_ns = now_ns() + PAUSE_MS * NS_PER_MS;
    if (error != 0)
        snprintf(target->peer->why, sizeof(target->peer->why), "%s: %s", what, strerror(error));
    else
        snprintf(target->peer->why, sizeof(target->peer->why), "%s", what);
}

static void begin_request(struct verbs_pinged *round, struct target *target)
{
    struct sockaddr_storage source, peer;
    if (!verbs_address(round->from->address, 0, &source) ||
        !verbs_address(target->peer->address, NOBODYS_PORT, &peer) ||
        source.ss_family != peer.ss_family) {
        end_request(target, "its address is not of the port's family", 0);
        return;
    }
    target->tries++;
    if (rdma_create_id(round->channel, &target->id, target, RDMA_PS_TCP) != 0) {
        end_request(target, "rdma_cm has no room", errno);
        return;
    }
    round->ids[round->id_count++] = target->id;
    target->until_ns = now_ns() + TRY_MS * NS_PER_MS;
    if (rdma_resolve_addr(target->id, (struct sockaddr *)&source, (struct sockaddr *)&peer,
                          TRY_MS) != 0)
        end_request(target, "no way to its address", errno);
}

static void on_address(const struct verbs_pinged *round, struct target *target)
{
    const char *device =
        target->id->verbs == NULL ? "" : ibv_get_device_name(target->id->verbs->device);
    if (strcmp(device, round->from->device) != 0)
        end_request(target, "the way to it leads through another RDMA device", 0);
    else if (rdma_resolve_route(target->id, TRY_MS) != 0)
        end_request(target, "no route to it", errno);
}

static void on_route(struct target *target)
{
    struct rdma_conn_param param;
    memset(&param, 0, sizeof(param));
    param.qp_num = 1; /* nobody gets as far as using it */
    if (rdma_connect(target->id, &param) != 0)
        end_request(target, "it cannot be asked", errno);
}

static void on_event(const struct verbs_pinged *round, struct target *target,
                     enum rdma_cm_event_type event, int status)
{
    int error = status < 0 ? -status : 0;
    switch ((int)event) {
    case RDMA_CM_EVENT_ADDR_RESOLVED:
        on_address(round, target);
        return;
    case RDMA_CM_EVENT_ROUTE_RESOLVED:
        on_route(target);
        return;
    case RDMA_CM_EVENT_REJECTED:
    case RDMA_CM_EVENT_CONNECT_RESPONSE: /* somebody does offer it; left at that */
    case RDMA_CM_EVENT_ESTABLISHED:
        end_request(target, "", 0);
        target->peer->answered = true;
        return;
    case RDMA_CM_EVENT_ADDR_ERROR:
        end_request(target, "its address does not resolve", error);
        return;
    case RDMA_CM_EVENT_DEVICE_REMOVAL:
        end_request(target, "the RDMA device went away", 0);
        return;
    default:
        end_request(target, "no answer", error);
    }
}

static void take_events(const struct verbs_pinged *round)
{
    struct rdma_cm_event *event;
    while (rdma_get_cm_event(round->channel, &event) == 0) {
        struct target *target = event->id->context;
        bool is_current = event->id == target->id; /* an earlier request may be answered late */
        enum rdma_cm_event_type type = event->event;
        int status = event->status;
        rdma_ack_cm_event(event); /* an id with an event that is not acknowledged cannot go */
        if (is_current)
            on_event(round, target, type, status);
    }
}

/* What is due, and when to look again at the latest; false: all have answered. */
static bool advance(struct verbs_pinged *round, int64_t *until_ns)
{
    bool open = false;
    for (size_t i = 0; i < round->count; i++) {
        struct target *target = &round->targets[i];
        if (target->peer->answered)
            continue;
        open = true;
        if (target->id != NULL && now_ns() >= target->until_ns)
            end_request(target, "no answer", 0);
        else if (target->id == NULL && now_ns() >= target->until_ns && target->tries < TRIES)
            begin_request(round, target);
        if (target->id == NULL && target->tries == TRIES)
            continue; /* the others may still be heard */
        *until_ns = target->until_ns < *until_ns ? target->until_ns : *until_ns;
    }
    return open;
}

static void run(struct verbs_pinged *round, int wait_ms)
{
    const int64_t end_ns = now_ns() + wait_ms * NS_PER_MS;
    for (int64_t until_ns = end_ns; now_ns() < end_ns && advance(round, &until_ns);
         until_ns = end_ns) {
        int64_t left_ns = until_ns - now_ns();
        (void)poll(&(struct pollfd){.fd = round->channel->fd, .events = POLLIN}, 1,
                   left_ns <= 0 ? 0 : (int)(left_ns / NS_PER_MS) + 1);
        take_events(round);
    }
}

void verbs_ping_end(struct verbs_pinged *pinged)
{
    if (pinged == NULL)
        return;
    for (size_t i = 0; i < pinged->id_count; i++)
        rdma_destroy_id(pinged->ids[i]);
    rdma_destroy_event_channel(pinged->channel);
    free(pinged);
}

enum err_code verbs_ping(const struct verbs_ping_from *from, struct verbs_ping *peers, size_t count,
                         int wait_ms, struct verbs_pinged **out, struct err *err)
{
    if (count > VERBS_PING_MAX)
        return err_set(err, ERR_LIMIT, "at most %d peers are asked at a time", VERBS_PING_MAX);
    struct verbs_pinged *round = calloc(1, sizeof(*round));
    if (round == NULL)
        return err_nomem(err);
    round->from = from;
    round->count = count;
    errno = 0;
    round->channel = rdma_create_event_channel();
    if (round->channel == NULL) {
        int error = errno;
        free(round);
        return err_set_errno(err, ERR_UNSUPPORTED, error,
                             "this kernel shows no rdma_cm; load the module rdma_ucm");
    }
    int flags = fcntl(round->channel->fd, F_GETFL);
    if (flags < 0 || fcntl(round->channel->fd, F_SETFL, flags | O_NONBLOCK) != 0) {
        int error = errno;
        verbs_ping_end(round);
        return err_set_errno(err, ERR_IO, error, "rdma_cm's events cannot be waited for");
    }
    for (size_t i = 0; i < count; i++) {
        peers[i].answered = false;
        snprintf(peers[i].why, sizeof(peers[i].why), "no answer");
        round->targets[i].peer = &peers[i];
    }
    run(round, wait_ms);
    round->from = NULL; /* the caller's, as peers are: not looked at any more */
    *out = round;
    return ERR_OK;
}
