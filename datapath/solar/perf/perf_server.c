/*
 * datapath/solar/perf/perf_server.c - the server: some queue pairs accept at any time, each serves
 * what its client asks for until that is gone; a TCP listener is looked at between.
 */
#include <stdlib.h>
#include <string.h>

#include "datapath/solar/bytes.h"
#include "datapath/solar/perf/perf_end.h"

#define LOOK_NS    INT64_C(1000000)
#define PORT_TRIES 16
#define ANSWER_ID  1
#define REQUEST_AT 0
#define ANSWER_AT  PERF_REQUEST_SIZE

struct client {
    struct solar_qp *qp;
    const struct perf_label *label;
    struct solar_mr *mr;
    uint8_t *memory;
    struct perf_request request;
    bool asked;
};

struct perf_server {
    struct perf_end *end;
    int listener;
    int64_t spin_ns;
    struct client clients[PERF_CLIENTS_MAX];
};

static void drop(struct client *c)
{
    struct err err = ERR_INIT;
    solar_qp_free(c->qp);
    if (solar_mr_free(c->mr, &err) != ERR_OK)
        abort(); /* its queue pair is gone */
    free(c->memory);
    *c = (struct client){.qp = NULL};
}

static enum err_code give_memory(struct perf_server *s, struct client *c, uint64_t bytes,
                                 struct err *err)
{
    if (solar_mr_free(c->mr, err) != ERR_OK)
        return err->code;
    c->mr = NULL;
    free(c->memory);
    c->memory = malloc(bytes);
    if (c->memory == NULL)
        return err_nomem(err);
    memset(c->memory, 1, bytes); /* that its pages are there is not to be measured */
    return solar_mr_new(s->end->pd, c->memory, bytes, SOLAR_REMOTE_WRITE | SOLAR_REMOTE_READ,
                        &c->mr, err);
}

static enum err_code accept_one(struct perf_server *s, struct client *c, struct err *err)
{
    enum err_code code = perf_end_qp(s->end, c->label->label, &c->qp, err);
    if (code == ERR_OK)
        code = give_memory(s, c, 2 * PERF_REQUEST_SIZE, err);
    if (code == ERR_OK)
        code = solar_post(
            c->qp, SOLAR_RECEIVE,
            &(struct solar_work){.mr = c->mr, .offset = REQUEST_AT, .length = PERF_REQUEST_SIZE},
            err);
    if (code == ERR_OK)
        code = solar_qp_accept(c->qp, err);
    return code;
}

/* So that one waits for each client that may come at a time, if there is room. With fewer, one that
 * comes takes the place of another whose third datagram is late. */
static enum err_code accept_label(struct perf_server *s, const struct perf_label *label,
                                  struct err *err)
{
    int waiting = 0;
    for (int i = 0; i < PERF_CLIENTS_MAX; i++) {
        struct client *c = &s->clients[i];
        if (c->qp != NULL && solar_qp_state(c->qp) == SOLAR_FAILED)
            drop(c);
        waiting += c->qp != NULL && c->label == label && solar_qp_state(c->qp) == SOLAR_OPENING;
    }
    for (int i = 0; i < PERF_CLIENTS_MAX && waiting < label->accepting; i++) {
        if (s->clients[i].qp != NULL)
            continue;
        s->clients[i].label = label;
        if (accept_one(s, &s->clients[i], err) != ERR_OK)
            return err->code;
        waiting++;
    }
    return ERR_OK;
}

static enum err_code accept_more(struct perf_server *s, struct err *err)
{
    for (int i = 0; i < s->end->label_count; i++)
        if (accept_label(s, &s->end->labels[i], err) != ERR_OK)
            return err->code;
    return ERR_OK;
}

static struct client *client_of(struct perf_server *s, const struct solar_qp *qp)
{
    for (int i = 0; i < PERF_CLIENTS_MAX; i++)
        if (s->clients[i].qp == qp)
            return &s->clients[i];
    return NULL;
}

static enum err_code expect_ping(struct client *c, struct err *err)
{
    return solar_post(c->qp, SOLAR_RECEIVE,
                      &(struct solar_work){.mr = c->mr, .length = c->request.size_bytes}, err);
}

static enum err_code answer(struct perf_server *s, struct client *c, struct err *err)
{
    if (!perf_request_get(c->memory + REQUEST_AT, &c->request))
        return err_set(err, ERR_INVALID, "a client asks for what this version does not have");
    uint64_t bytes = (uint64_t)c->request.size_bytes * (c->request.depth + 1) + 64;
    if (give_memory(s, c, bytes, err) != ERR_OK)
        return err->code;
    c->asked = true;
    if (c->request.test == PERF_SEND_LAT && expect_ping(c, err) != ERR_OK)
        return err->code;
    bytes_put(c->memory + bytes - 4, solar_mr_key(c->mr), 4);
    return solar_post(
        c->qp, SOLAR_SEND,
        &(struct solar_work){.id = ANSWER_ID, .mr = c->mr, .offset = bytes - 4, .length = 4}, err);
}

static enum err_code on_completion(struct perf_server *s, const struct solar_completion *done,
                                   struct err *err)
{
    struct client *c = client_of(s, done->qp);
    if (c == NULL || done->op != SOLAR_RECEIVE)
        return ERR_OK;
    if (!c->asked)
        return answer(s, c, err);
    if (solar_post(c->qp, SOLAR_SEND,
                   &(struct solar_work){.mr = c->mr, .length = c->request.size_bytes}, err))
        return err->code;
    return expect_ping(c, err);
}

enum err_code perf_server_run(struct perf_server *s, struct err *err)
{
    struct solar_completion done;
    for (;;) {
        if (accept_more(s, err) != ERR_OK)
            return err->code;
        bool any = true;
        for (int i = 0; any && i < 1000; i++) {
            any = solar_progress(s->end->context, LOOK_NS);
            while (solar_cq_poll(s->end->cq, &done, 1) == 1) {
                struct client *c = client_of(s, done.qp);
                struct err own = ERR_INIT;
                if (done.status != ERR_OK || on_completion(s, &done, &own) != ERR_OK) {
                    if (own.code != ERR_OK)
                        fprintf(stderr, "solar-perf: %s\n", own.text);
                    drop(c);
                }
            }
        }
        perf_tcp_serve(s->listener, s->spin_ns);
    }
}

static void release(struct perf_server *s)
{
    perf_end_free(s->end);
    free(s);
}

OWN_DEFINE(server, struct perf_server *, release)

/* Both transports have one port: a free one of UDP's may be another program's of TCP. */
static enum err_code listen_both(struct perf_server *s, const struct perf_options *options,
                                 struct err *err)
{
    enum err_code code = ERR_IO;
    for (int tries = options->port == 0 ? PORT_TRIES : 1; code != ERR_OK && tries > 0; tries--) {
        perf_end_free(s->end);
        s->end = NULL;
        code = perf_end_new(options, options->port, &s->end, err);
        if (code != ERR_OK)
            return code;
        code = perf_tcp_listen(options, perf_server_port(s), &s->listener, err);
    }
    return code;
}

enum err_code perf_server_new(const struct perf_options *options, struct perf_server **out,
                              struct err *err)
{
    OWN(server) struct perf_server *s = calloc(1, sizeof(*s));
    if (s == NULL)
        return err_nomem(err);
    s->spin_ns = options->spin_ns;
    enum err_code code = listen_both(s, options, err);
    if (code == ERR_OK)
        *out = GIVE(s);
    return code;
}

uint16_t perf_server_port(const struct perf_server *s)
{
    return solar_context_port(s->end->context);
}
