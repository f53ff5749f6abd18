/*
 * datapath/verbs/bench.c - see bench.h: connections of a measurement. Called by the agent's tests
 * on a thread of their own.
 */
#include "datapath/verbs/bench.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/duration.h"
#include "datapath/verbs/address.h"
#include "datapath/verbs/bench_private.h"

#define MAGIC      0x53544256U /* "STBV" */
#define RESOLVE_MS 1000
#define TURN_MS    20 /* that stop is looked at */
#define PAGE_BYTES 4096

int64_t bench_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * NS_PER_S + now.tv_nsec;
}

enum err_code bench_may_go_on(const struct bench_end *end, struct err *err)
{
    if (end->bench->stop != NULL && atomic_load(end->bench->stop))
        return err_set(err, ERR_CONFLICT, "the test was stopped");
    if (bench_now_ns() < end->until_ns)
        return ERR_OK;
    return err_set(err, ERR_UNAVAILABLE, "the time of the test is over%s%s",
                   end->why.text[0] == '\0' ? "" : ": ", end->why.text);
}

static struct sockaddr_storage own_address(const struct bench *bench, uint16_t port)
{
    struct sockaddr_storage address;
    if (!verbs_address(bench->addresses[bench->place], port, &address))
        address.ss_family = AF_UNSPEC;
    return address;
}

/* Once the first connection knows its device. */
static enum err_code make_memory(struct bench_end *end, struct rdma_cm_id *id, struct err *err)
{
    if (end->pd != NULL)
        return end->pd->context == id->verbs
                   ? ERR_OK
                   : err_set(err, ERR_UNSUPPORTED, "the ring leads over two devices");
    const char *name = id->verbs == NULL ? "" : ibv_get_device_name(id->verbs->device);
    if (strcmp(name, end->bench->device) != 0)
        return err_set(err, ERR_UNSUPPORTED, "address %s is of RDMA device '%s', not of '%s'",
                       end->bench->addresses[end->bench->place], name, end->bench->device);
    bool ring = end->bench->kind == BENCH_ALLREDUCE;
    end->memory_bytes = ring ? bench_ring_memory(end->bench) : end->bench->bytes;
    void *memory = NULL;
    if (posix_memalign(&memory, PAGE_BYTES, end->memory_bytes) != 0)
        return err_nomem(err);
    end->memory = memory;
    memset(end->memory, 0x5a, end->memory_bytes);
    end->pd = ibv_alloc_pd(id->verbs);
    end->mr =
        end->pd == NULL
            ? NULL
            : ibv_reg_mr(end->pd, end->memory, end->memory_bytes,
                         IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE);
    if (end->mr != NULL)
        return ERR_OK;
    return err_set_errno(err, ERR_IO, errno, "%s: no protection domain or memory", name);
}

static enum err_code make_pair(struct bench_end *end, struct bench_conn *conn, struct err *err)
{
    enum err_code code = make_memory(end, conn->id, err);
    if (code != ERR_OK)
        return code;
    conn->cq = ibv_create_cq(conn->id->verbs, 4 * BENCH_DEPTH, NULL, NULL, 0);
    if (conn->cq == NULL)
        return err_set_errno(err, ERR_IO, errno, "%s makes no queue", end->bench->device);
    struct ibv_qp_init_attr attr = {
        .send_cq = conn->cq,
        .recv_cq = conn->cq,
        .qp_type = IBV_QPT_RC,
        .cap = {.max_send_wr = 2 * BENCH_DEPTH,
                .max_recv_wr = 2 * BENCH_DEPTH,
                .max_send_sge = 1,
                .max_recv_sge = 1},
    };
    if (rdma_create_qp(conn->id, end->pd, &attr) == 0)
        return ERR_OK;
    return err_set_errno(err, ERR_IO, errno, "%s makes no queue pair", end->bench->device);
}

static struct rdma_conn_param parameters(const struct bench_end *end, struct bench_hello *hello)
{
    *hello = (struct bench_hello){
        .magic = htonl(MAGIC),
        .kind = htonl((uint32_t)end->bench->kind),
        .bytes = htonl((uint32_t)end->bench->bytes),
        .rkey = htonl(end->mr->rkey),
        .address = htobe64((uint64_t)(uintptr_t)end->memory),
    };
    memcpy(hello->secret, end->bench->secret, BENCH_SECRET_BYTES);
    return (struct rdma_conn_param){
        .private_data = hello,
        .private_data_len = sizeof(*hello),
        .responder_resources = BENCH_DEPTH,
        .initiator_depth = BENCH_DEPTH,
        .retry_count = 7,
        .rnr_retry_count = 7, /* again and again: the other end may still be at its last one */
    };
}

/* In constant time: whoever asks must learn nothing from how long it took. */
static bool has_secret(const struct bench_end *end, const struct bench_hello *hello)
{
    unsigned differ = 0;
    for (size_t i = 0; i < BENCH_SECRET_BYTES; i++)
        differ |= (unsigned)(hello->secret[i] ^ end->bench->secret[i]);
    return differ == 0;
}

/* Whether the request comes from the end before ours. */
static bool is_previous(const struct bench_end *end, struct rdma_cm_id *id)
{
    const struct bench *bench = end->bench;
    const struct sockaddr *from = rdma_get_peer_addr(id);
    struct sockaddr_storage wanted;
    int before = (bench->place + bench->count - 1) % bench->count;
    if (!verbs_address(bench->addresses[before], 0, &wanted) || from->sa_family != wanted.ss_family)
        return false;
    if (from->sa_family == AF_INET)
        return ((const struct sockaddr_in *)(const void *)from)->sin_addr.s_addr ==
               ((const struct sockaddr_in *)(const void *)&wanted)->sin_addr.s_addr;
    return memcmp(&((const struct sockaddr_in6 *)(const void *)from)->sin6_addr,
                  &((const struct sockaddr_in6 *)(const void *)&wanted)->sin6_addr,
                  sizeof(struct in6_addr)) == 0;
}

/* Hostile: anybody can connect. */
static bool take_hello(const struct bench_end *end, const struct rdma_cm_event *event,
                       struct bench_conn *conn)
{
    const struct rdma_conn_param *param = &event->param.conn;
    struct bench_hello hello;
    if (param->private_data == NULL || param->private_data_len < sizeof(hello))
        return false;
    memcpy(&hello, param->private_data, sizeof(hello));
    conn->peer = (struct bench_hello){.magic = ntohl(hello.magic),
                                      .kind = ntohl(hello.kind),
                                      .bytes = ntohl(hello.bytes),
                                      .rkey = ntohl(hello.rkey),
                                      .address = be64toh(hello.address)};
    return has_secret(end, &hello) && conn->peer.magic == MAGIC &&
           conn->peer.kind == (uint32_t)end->bench->kind && conn->peer.bytes == end->bench->bytes;
}

/* What must stand before the other end may send. */
static enum err_code prepare(struct bench_end *end, struct bench_conn *conn, struct err *err)
{
    enum err_code code = ERR_OK;
    if (end->bench->kind == BENCH_ALLREDUCE)
        return conn == &end->from ? bench_ring_prepare(end, err) : ERR_OK;
    if (end->bench->kind == BENCH_SEND_LAT)
        code = bench_receive(end, conn, 0, end->bench->bytes, err);
    return code;
}

static enum err_code accept_request(struct bench_end *end, const struct rdma_cm_event *event,
                                    struct err *err)
{
    struct bench_hello hello;
    if (end->from.id != NULL || !is_previous(end, event->id) ||
        !take_hello(end, event, &end->from)) {
        rdma_reject(event->id, NULL, 0);
        return ERR_OK; /* a stranger; whoever is meant may still come */
    }
    end->from.id = event->id;
    enum err_code code = make_pair(end, &end->from, err);
    if (code == ERR_OK)
        code = prepare(end, &end->from, err);
    if (code != ERR_OK)
        return code;
    struct rdma_conn_param param = parameters(end, &hello);
    return rdma_accept(event->id, &param) == 0
               ? ERR_OK
               : err_set_errno(err, ERR_IO, errno, "the connection was not taken");
}

static void ask_again(struct bench_end *end, const char *what)
{
    (void)err_set(&end->why, ERR_UNAVAILABLE, "%s: %s",
                  end->bench->addresses[(end->bench->place + 1) % end->bench->count], what);
    end->again_ns = bench_now_ns() + BENCH_LISTEN_NS;
}

/* The queue pair goes before its queue and its id. */
static void drop(struct bench_conn *conn)
{
    if (conn->id == NULL)
        return;
    if (conn->id->qp != NULL)
        rdma_destroy_qp(conn->id);
    if (conn->cq != NULL)
        ibv_destroy_cq(conn->cq);
    rdma_destroy_id(conn->id);
    *conn = (struct bench_conn){.id = NULL};
}

static enum err_code ask(struct bench_end *end, struct err *err)
{
    const struct bench *bench = end->bench;
    struct sockaddr_storage source = own_address(bench, 0), peer;
    const char *address = bench->addresses[(bench->place + 1) % bench->count];
    drop(&end->to);
    end->again_ns = 0;
    if (!verbs_address(address, bench->service, &peer) || peer.ss_family != source.ss_family)
        return err_set(err, ERR_UNSUPPORTED, "%s is no address of our family", address);
    if (rdma_create_id(end->channel, &end->to.id, &end->to, RDMA_PS_TCP) != 0) {
        end->to.id = NULL;
        return err_set_errno(err, ERR_IO, errno, "rdma_cm has no room");
    }
    if (rdma_resolve_addr(end->to.id, (struct sockaddr *)&source, (struct sockaddr *)&peer,
                          RESOLVE_MS) != 0)
        ask_again(end, strerror(errno));
    return ERR_OK;
}

static enum err_code on_route(struct bench_end *end, struct err *err)
{
    struct bench_hello hello;
    enum err_code code = make_pair(end, &end->to, err);
    if (code == ERR_OK)
        code = prepare(end, &end->to, err);
    if (code != ERR_OK)
        return code;
    struct rdma_conn_param param = parameters(end, &hello);
    if (rdma_connect(end->to.id, &param) != 0)
        ask_again(end, strerror(errno));
    return ERR_OK;
}

/* Of the connection that we ask for, until it is there. */
static enum err_code on_asked(struct bench_end *end, const struct rdma_cm_event *event,
                              struct err *err)
{
    switch ((int)event->event) {
    case RDMA_CM_EVENT_ADDR_RESOLVED:
        if (rdma_resolve_route(end->to.id, RESOLVE_MS) != 0)
            ask_again(end, strerror(errno));
        return ERR_OK;
    case RDMA_CM_EVENT_ROUTE_RESOLVED:
        return on_route(end, err);
    case RDMA_CM_EVENT_ESTABLISHED:
        end->to.ready = take_hello(end, event, &end->to);
        end->why = (struct err)ERR_INIT; /* of attempts before */
        return end->to.ready ? ERR_OK
                             : err_set(err, ERR_IO, "somebody else answers at the peer's port");
    default:
        ask_again(end, event->status < 0 ? strerror(-event->status) : "it does not listen");
        return ERR_OK;
    }
}

static enum err_code on_event(struct bench_end *end, const struct rdma_cm_event *event,
                              struct err *err)
{
    struct bench_conn *conn = event->id == end->to.id     ? &end->to
                              : event->id == end->from.id ? &end->from
                                                          : NULL;
    if (event->event == RDMA_CM_EVENT_CONNECT_REQUEST)
        return accept_request(end, event, err);
    if (conn == NULL)
        return ERR_OK;
    if (event->event == RDMA_CM_EVENT_DEVICE_REMOVAL)
        return err_set(err, ERR_UNAVAILABLE, "the RDMA device went away");
    if (event->event == RDMA_CM_EVENT_DISCONNECTED) {
        conn->gone = true;
        return ERR_OK;
    }
    if (event->event == RDMA_CM_EVENT_TIMEWAIT_EXIT)
        return ERR_OK;
    if (conn == &end->to)
        return conn->ready ? ERR_OK : on_asked(end, event, err);
    conn->ready |= event->event == RDMA_CM_EVENT_ESTABLISHED;
    if (!conn->ready)
        return err_set(err, ERR_UNAVAILABLE, "the peer's connection came to nothing");
    return ERR_OK;
}

enum err_code bench_listen(struct bench_end *end, int wait_ms, struct err *err)
{
    struct rdma_cm_event *event;
    enum err_code code = bench_may_go_on(end, err);
    if (code == ERR_OK)
        (void)poll(&(struct pollfd){.fd = end->channel->fd, .events = POLLIN}, 1, wait_ms);
    while (code == ERR_OK && rdma_get_cm_event(end->channel, &event) == 0) {
        struct rdma_cm_id *stranger =
            event->event == RDMA_CM_EVENT_CONNECT_REQUEST ? event->id : NULL;
        /* Its private data goes with it: looked at before it is acknowledged. */
        code = on_event(end, event, err);
        rdma_ack_cm_event(event);
        if (stranger != NULL && stranger != end->from.id)
            rdma_destroy_id(stranger);
    }
    return code;
}

static enum err_code open_channel(struct bench_end *end, struct err *err)
{
    errno = 0;
    end->channel = rdma_create_event_channel();
    if (end->channel == NULL)
        return err_set_errno(err, ERR_UNSUPPORTED, errno,
                             "this kernel shows no rdma_cm; load the module rdma_ucm");
    int flags = fcntl(end->channel->fd, F_GETFL);
    if (flags < 0 || fcntl(end->channel->fd, F_SETFL, flags | O_NONBLOCK) != 0)
        return err_set_errno(err, ERR_IO, errno, "rdma_cm's events cannot be waited for");
    if (!end->wants_from)
        return ERR_OK;
    struct sockaddr_storage own = own_address(end->bench, end->bench->service);
    if (rdma_create_id(end->channel, &end->listener, NULL, RDMA_PS_TCP) != 0 ||
        rdma_bind_addr(end->listener, (struct sockaddr *)&own) != 0 ||
        rdma_listen(end->listener, BENCH_ENDS_MAX) != 0)
        return err_set_errno(err, ERR_UNSUPPORTED, errno, "cannot listen at %s over RDMA",
                             end->bench->addresses[end->bench->place]);
    return ERR_OK;
}

enum err_code bench_connect(struct bench_end *end, struct err *err)
{
    enum err_code code = open_channel(end, err);
    if (code == ERR_OK && end->wants_to)
        code = ask(end, err);
    while (code == ERR_OK &&
           ((end->wants_to && !end->to.ready) || (end->wants_from && !end->from.ready))) {
        if (end->again_ns != 0 && bench_now_ns() >= end->again_ns)
            code = ask(end, err);
        if (code == ERR_OK)
            code = bench_listen(end, TURN_MS, err);
    }
    return code;
}

/* Whoever has all leaves its next end, which sees it; its own last acknowledgement may be lost, so
 * it stays for its previous end until that leaves, too. */
static void part(struct bench_end *end)
{
    struct err ignored = ERR_INIT;
    int64_t linger_ns = bench_now_ns() + BENCH_LINGER_NS;
    end->until_ns = linger_ns < end->until_ns ? linger_ns : end->until_ns;
    if (end->wants_to)
        rdma_disconnect(end->to.id);
    while (end->wants_from && !end->from.gone && bench_listen(end, TURN_MS, &ignored) == ERR_OK)
        ;
}

static void bench_close(struct bench_end *end)
{
    drop(&end->to);
    drop(&end->from);
    if (end->listener != NULL)
        rdma_destroy_id(end->listener);
    if (end->mr != NULL)
        ibv_dereg_mr(end->mr);
    if (end->pd != NULL)
        ibv_dealloc_pd(end->pd);
    if (end->channel != NULL)
        rdma_destroy_event_channel(end->channel);
    free(end->memory);
}

enum err_code verbs_bench(const struct bench *bench, struct bench_result *out, struct err *err)
{
    bool ring = bench->kind == BENCH_ALLREDUCE;
    *out = (struct bench_result)BENCH_RESULT_NONE;
    if (bench->count < 2 || bench->count > BENCH_ENDS_MAX || (!ring && bench->count != 2) ||
        bench->place < 0 || bench->place >= bench->count || bench->bytes < 1 ||
        bench->iterations < 1)
        return err_set(err, ERR_INVALID, "no such test");
    struct bench_end end = {.bench = bench,
                            .until_ns = bench_now_ns() + bench->wait_ns,
                            .wants_to = ring || bench->place == 0,
                            .wants_from = ring || bench->place == 1,
                            .why = ERR_INIT};
    struct bench_result result = BENCH_RESULT_NONE;
    enum err_code code = bench_connect(&end, err);
    if (code == ERR_OK)
        code = ring ? bench_ring_run(&end, &result, err) : bench_run(&end, &result, err);
    if (code == ERR_OK)
        part(&end);
    bench_close(&end);
    if (code == ERR_OK)
        *out = result;
    out->corrupt = result.corrupt;
    return code;
}
