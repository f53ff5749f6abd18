/*
 * datapath/verbs/bench_work.c - work requests of a measurement, and the measurements of pairs; see
 * bench_private.h.
 */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>

#include "base/duration.h"
#include "base/own.h"
#include "base/text.h"
#include "datapath/verbs/bench_private.h"

#define LOOK_EVERY 256 /* empty polls between two looks at the time */
#define TURN_MS    20

static struct ibv_sge piece(const struct bench_end *end, size_t offset, size_t bytes)
{
    return (struct ibv_sge){.addr = (uint64_t)(uintptr_t)(end->memory + offset),
                            .length = (uint32_t)bytes,
                            .lkey = end->mr->lkey};
}

static enum err_code posted(int rc, struct err *err)
{
    return rc == 0 ? ERR_OK : err_set_errno(err, ERR_IO, rc, "the device takes no work");
}

enum err_code bench_receive(struct bench_end *end, const struct bench_conn *conn, size_t offset,
                            size_t bytes, struct err *err)
{
    struct ibv_sge sge = piece(end, offset, bytes);
    struct ibv_recv_wr work = {.sg_list = &sge, .num_sge = 1}, *bad;
    return posted(ibv_post_recv(conn->id->qp, &work, &bad), err);
}

enum err_code bench_send(struct bench_end *end, const struct bench_conn *conn, size_t offset,
                         size_t bytes, struct err *err)
{
    struct ibv_sge sge = piece(end, offset, bytes);
    struct ibv_send_wr work = {.sg_list = &sge,
                               .num_sge = 1,
                               .opcode = IBV_WR_SEND,
                               .send_flags = IBV_SEND_SIGNALED},
                       *bad;
    return posted(ibv_post_send(conn->id->qp, &work, &bad), err);
}

enum err_code bench_touch(struct bench_end *end, const struct bench_conn *conn,
                          enum ibv_wr_opcode opcode, struct err *err)
{
    struct ibv_sge sge = piece(end, 0, end->bench->bytes);
    struct ibv_send_wr work = {.sg_list = &sge,
                               .num_sge = 1,
                               .opcode = opcode,
                               .send_flags = IBV_SEND_SIGNALED,
                               .wr.rdma = {.remote_addr = conn->peer.address,
                                           .rkey = conn->peer.rkey}},
                       *bad;
    return posted(ibv_post_send(conn->id->qp, &work, &bad), err);
}

/* What fails first says why; what is flushed behind it does not. */
static enum err_code lost(struct ibv_cq *cq, struct ibv_wc bad, struct err *err)
{
    struct ibv_wc done;
    while (bad.status == IBV_WC_WR_FLUSH_ERR && ibv_poll_cq(cq, 1, &done) == 1)
        if (done.status != IBV_WC_SUCCESS)
            bad = done;
    return err_set(err, ERR_UNAVAILABLE, "the peer was lost: %s (vendor's code 0x%x)",
                   ibv_wc_status_str(bad.status), bad.vendor_err);
}

/* *out_found: whether there was anything. */
static enum err_code look(struct bench_end *end, const struct bench_conn *conn, bool *out_found,
                          struct err *err)
{
    struct ibv_wc done[BENCH_DEPTH];
    int n = conn->cq == NULL ? 0 : ibv_poll_cq(conn->cq, BENCH_DEPTH, done);
    if (n < 0)
        return err_set(err, ERR_IO, "the completion queue cannot be read");
    for (int i = 0; i < n; i++) {
        if (done[i].status != IBV_WC_SUCCESS)
            return lost(conn->cq, done[i], err);
        bool is_receive = (done[i].opcode & IBV_WC_RECV) != 0;
        end->received += is_receive;
        end->sent += !is_receive;
    }
    *out_found |= n > 0;
    return ERR_OK;
}

enum err_code bench_await(struct bench_end *end, int sent, int received, struct err *err)
{
    unsigned empty = 0;
    bool left = false;
    enum err_code code = ERR_OK;
    while (code == ERR_OK && (end->sent < sent || end->received < received)) {
        bool found = false;
        code = look(end, &end->to, &found, err);
        if (code == ERR_OK)
            code = look(end, &end->from, &found, err);
        if (code != ERR_OK || found || ++empty % LOOK_EVERY != 0)
            continue;
        if (left) /* before the polls that found nothing more of it */
            return err_set(err, ERR_UNAVAILABLE, "the peer was lost: it left");
        code = bench_listen(end, 0, err);
        left = end->to.gone || end->from.gone;
        sched_yield(); /* a device that a processor plays needs it */
    }
    if (code != ERR_OK)
        return code;
    end->sent -= sent;
    end->received -= received;
    return ERR_OK;
}

/* Pairs ---------------------------------------------------------------------------------------- */

/* There and back; the receive for the next answer stands before it is asked for. */
static enum err_code ask_once(struct bench_end *end, bool last, struct err *err)
{
    const struct bench *bench = end->bench;
    enum err_code code = bench_send(end, &end->to, 0, bench->bytes, err);
    if (code == ERR_OK)
        code = bench_await(end, 1, 1, err);
    if (code == ERR_OK && !last)
        code = bench_receive(end, &end->to, 0, bench->bytes, err);
    return code;
}

static enum err_code ask_latency(struct bench_end *end, struct bench_result *out, struct err *err)
{
    int count = end->bench->iterations;
    int64_t *times = calloc((size_t)count, sizeof(*times));
    if (times == NULL)
        return err_nomem(err);
    enum err_code code = ERR_OK;
    for (int i = 0; code == ERR_OK && i < count; i++) {
        int64_t begin_ns = bench_now_ns();
        code = ask_once(end, i == count - 1, err);
        times[i] = bench_now_ns() - begin_ns;
    }
    if (code == ERR_OK)
        bench_latency(times, (size_t)count, out);
    free(times);
    return code;
}

static enum err_code answer_latency(struct bench_end *end, struct err *err)
{
    const struct bench *bench = end->bench;
    enum err_code code = ERR_OK;
    for (int i = 0; code == ERR_OK && i < bench->iterations; i++) {
        code = bench_await(end, i > 0, 1, err);
        if (code == ERR_OK && i + 1 < bench->iterations)
            code = bench_receive(end, &end->from, 0, bench->bytes, err);
        if (code == ERR_OK)
            code = bench_send(end, &end->from, 0, bench->bytes, err);
    }
    return code;
}

/* BENCH_DEPTH on their way, as long as there are more to do. */
static enum err_code ask_rate(struct bench_end *end, struct bench_result *out, struct err *err)
{
    const struct bench *bench = end->bench;
    enum ibv_wr_opcode opcode = bench->kind == BENCH_READ_BW ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE;
    enum err_code code = ERR_OK;
    int begun = 0, ended = 0;
    int64_t begin_ns = bench_now_ns();
    while (code == ERR_OK && ended < bench->iterations) {
        if (begun < bench->iterations && begun - ended < BENCH_DEPTH) {
            code = bench_touch(end, &end->to, opcode, err);
            begun++;
            continue;
        }
        code = bench_await(end, 1, 0, err);
        ended++;
    }
    int64_t time_ns = bench_now_ns() - begin_ns;
    if (code == ERR_OK && time_ns > 0)
        out->rate_bps =
            (int64_t)((double)bench->bytes * bench->iterations * 8 * NS_PER_S / (double)time_ns);
    return code;
}

/* Nothing to do but to be there until the other end leaves. */
static enum err_code serve_rate(struct bench_end *end, struct err *err)
{
    enum err_code code = ERR_OK;
    while (code == ERR_OK && !end->from.gone)
        code = bench_listen(end, TURN_MS, err);
    return code;
}

enum err_code bench_run(struct bench_end *end, struct bench_result *out, struct err *err)
{
    bool asks = end->bench->place == 0;
    if (end->bench->kind == BENCH_SEND_LAT)
        return asks ? ask_latency(end, out, err) : answer_latency(end, err);
    return asks ? ask_rate(end, out, err) : serve_rate(end, err);
}
