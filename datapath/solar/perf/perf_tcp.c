/*
 * datapath/solar/perf/perf_tcp.c - the same measurements over the kernel's TCP: no delay, and
 * spinning as long as the other transport does before it sleeps.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "datapath/solar/perf/perf.h"
#include "datapath/solar/udp.h"

#define SLEEP_MS 10000

/* False = the other side is gone, or says nothing for SLEEP_MS. */
static bool wait_for(int fd, short events, int64_t spin_ns, int64_t since_ns)
{
    if (perf_now_ns() - since_ns < spin_ns)
        return true;
    struct pollfd p = {.fd = fd, .events = events};
    return poll(&p, 1, SLEEP_MS) > 0;
}

static bool read_all(int fd, uint8_t *data, size_t len, int64_t spin_ns)
{
    int64_t since_ns = perf_now_ns();
    for (size_t at = 0; at < len;) {
        ssize_t n = recv(fd, data + at, len - at, MSG_DONTWAIT);
        if (n > 0)
            at += (size_t)n;
        else if (n == 0 || (errno != EAGAIN && errno != EINTR) ||
                 !wait_for(fd, POLLIN, spin_ns, since_ns))
            return false;
    }
    return true;
}

static bool write_all(int fd, const uint8_t *data, size_t len, int64_t spin_ns)
{
    int64_t since_ns = perf_now_ns();
    for (size_t at = 0; at < len;) {
        ssize_t n = send(fd, data + at, len - at, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (n > 0)
            at += (size_t)n;
        else if ((n < 0 && errno != EAGAIN && errno != EINTR) ||
                 !wait_for(fd, POLLOUT, spin_ns, since_ns))
            return false;
    }
    return true;
}

enum err_code perf_tcp_listen(const struct perf_options *options, uint16_t port, int *out_fd,
                              struct err *err)
{
    struct udp_address own;
    if (udp_address_parse(options->address, port, &own, err) != ERR_OK)
        return err->code;
    int fd = socket(own.u.any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), one = 1;
    if (fd < 0)
        return err_set_errno(err, ERR_IO, errno, "a TCP socket");
    if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) != 0 ||
        bind(fd, &own.u.any, own.len) != 0 || listen(fd, PERF_SENDERS_MAX) != 0) {
        int cause = errno;
        close(fd);
        return err_set_errno(err, ERR_IO, cause, "listening on TCP port %u", port);
    }
    *out_fd = fd;
    return ERR_OK;
}

/* Operations go through as much memory as those of the other transport do, so that caches help both
 * alike. */
static size_t places(const struct perf_request *r)
{
    return r->test == PERF_SEND_LAT ? 1 : r->depth;
}

static uint8_t *make_memory(const struct perf_request *r)
{
    size_t bytes = places(r) * r->size_bytes;
    uint8_t *memory = malloc(bytes);
    if (memory != NULL)
        memset(memory, 1, bytes); /* that its pages are there is not to be measured */
    return memory;
}

/* What a client asked for, to its end. */
static void serve_client(int fd, const struct perf_request *r, uint8_t *memory, int64_t spin_ns)
{
    size_t size = r->size_bytes, turn = 0;
    bool echoes = r->test == PERF_SEND_LAT, reads = r->test == PERF_READ_BW;
    uint64_t total = 0;
    if (!write_all(fd, (const uint8_t *)"", 1, spin_ns)) /* ready */
        return;
    while (!reads && read_all(fd, memory + turn * size, size, spin_ns)) {
        total += size;
        turn = (turn + 1) % places(r);
        if (echoes && !write_all(fd, memory, size, spin_ns))
            return;
    }
    if (!echoes && !reads && !write_all(fd, (const uint8_t *)&total, sizeof(total), spin_ns))
        return; /* it went away without its answer */
    while (reads && write_all(fd, memory + turn * size, size, spin_ns))
        turn = (turn + 1) % places(r);
}

struct session {
    int fd;
    struct perf_request request;
    int64_t spin_ns;
};

static void serve_session(const struct session *s)
{
    uint8_t *memory = make_memory(&s->request);
    if (memory != NULL)
        serve_client(s->fd, &s->request, memory, s->spin_ns);
    free(memory);
    close(s->fd);
}

static void *serve_one_of_many(void *arg)
{
    serve_session(arg);
    free(arg);
    return NULL;
}

/* Clients of a test of many come at a time: each has a thread, which goes with its connection. */
static void serve_aside(const struct session *session)
{
    struct session *own = malloc(sizeof(*own));
    pthread_t thread;
    if (own == NULL) {
        close(session->fd);
        return;
    }
    *own = *session;
    if (pthread_create(&thread, NULL, serve_one_of_many, own) == 0) {
        pthread_detach(thread);
        return;
    }
    close(own->fd);
    free(own);
}

void perf_tcp_serve(int listener, int64_t spin_ns)
{
    int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC), one = 1;
    if (fd < 0)
        return;
    uint8_t text[PERF_REQUEST_SIZE];
    struct session session = {.fd = fd, .spin_ns = spin_ns};
    if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)) == 0 &&
        read_all(fd, text, sizeof(text), 0) && perf_request_get(text, &session.request))
        (session.request.test == PERF_INCAST || session.request.test == PERF_TENANTS
             ? serve_aside
             : serve_session)(&session);
    else
        close(fd);
}

static struct perf_request request_of(const struct perf_options *o)
{
    return (struct perf_request){
        .test = o->test, .size_bytes = o->size_bytes, .depth = (uint32_t)o->depth};
}

static enum err_code broke(struct err *err)
{
    return err_set_errno(err, ERR_IO, errno, "the TCP connection broke");
}

/* All processes of a round begin together. One that does not come is found by who started it. */
static void wait_for_others(struct perf_gate *gate)
{
    const struct timespec moment = {.tv_nsec = 100000};
    int64_t from_ns = perf_now_ns();
    atomic_fetch_add(&gate->ready, 1);
    while (atomic_load(&gate->ready) < gate->count &&
           perf_now_ns() - from_ns < SLEEP_MS * INT64_C(1000000))
        nanosleep(&moment, NULL);
}

static bool goes_on(const struct perf_options *o, const struct perf_result *r, int64_t took_ns)
{
    if (o->test == PERF_SEND_LAT && r->operations >= PERF_SAMPLES_MAX)
        return false;
    return o->volume_bytes > 0 ? r->operations * o->size_bytes < o->volume_bytes
                               : took_ns < o->round_ns;
}

static enum err_code measure(int fd, const struct perf_options *o, uint8_t *memory,
                             int64_t *samples, struct perf_result *r, struct err *err)
{
    const struct perf_request request = request_of(o);
    uint8_t text[PERF_REQUEST_SIZE], ready;
    perf_request_put(&request, text);
    if (!write_all(fd, text, sizeof(text), o->spin_ns) || !read_all(fd, &ready, 1, o->spin_ns))
        return broke(err);
    if (o->gate != NULL)
        wait_for_others(o->gate);
    int64_t cpu_ns = perf_cpu_ns(o);
    int64_t begin_ns = perf_now_ns(), from_ns = begin_ns, now_ns = begin_ns;
    bool pings = o->test == PERF_SEND_LAT, reads = o->test == PERF_READ_BW;
    for (; goes_on(o, r, now_ns - begin_ns); from_ns = now_ns) {
        uint8_t *at = memory + (size_t)r->operations % places(&request) * o->size_bytes;
        if ((!reads && !write_all(fd, at, o->size_bytes, o->spin_ns)) ||
            ((pings || reads) && !read_all(fd, at, o->size_bytes, o->spin_ns)))
            return broke(err);
        now_ns = perf_now_ns();
        if (pings)
            samples[r->operations] = now_ns - from_ns;
        r->operations++;
    }
    uint64_t total = 0;
    if (!pings && !reads &&
        (shutdown(fd, SHUT_WR) != 0 || !read_all(fd, (uint8_t *)&total, sizeof(total), o->spin_ns)))
        return broke(err);
    r->ns = perf_now_ns() - begin_ns;
    r->cpu_ns = perf_cpu_ns(o) - cpu_ns;
    r->bytes = pings ? 0 : r->operations * o->size_bytes;
    if (pings)
        perf_times(samples, r->operations, r);
    return ERR_OK;
}

enum err_code perf_tcp_run(const struct perf_options *o, int64_t *samples, struct perf_result *out,
                           struct err *err)
{
    struct udp_address to;
    if (udp_address_parse(perf_peer(o), o->port, &to, err) != ERR_OK)
        return err->code;
    int fd = socket(to.u.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;
    if (fd < 0)
        return err_set_errno(err, ERR_IO, errno, "a TCP socket");
    uint64_t rate = (uint64_t)(o->test == PERF_CPU ? o->rate_bps : o->limit_bps) / 8;
    const struct perf_request request = request_of(o);
    uint8_t *memory = make_memory(&request);
    struct perf_result r = {.tcp = true};
    enum err_code code = ERR_OK;
    if (memory == NULL)
        code = err_nomem(err);
    else if (connect(fd, &to.u.any, to.len) != 0 ||
             setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)) != 0 ||
             (rate > 0 && setsockopt(fd, SOL_SOCKET, SO_MAX_PACING_RATE, &rate, sizeof(rate)) != 0))
        code = err_set_errno(err, ERR_IO, errno, "connecting to TCP port %u", o->port);
    else
        code = measure(fd, o, memory, samples, &r, err);
    close(fd);
    free(memory);
    if (code == ERR_OK)
        *out = r;
    return code;
}
