/*
 * datapath/solar/perf/perf_reduce.c - all-reduce over processes of this host, each with a context
 * of its own: every process has numbers, and in the end every one has the sums of all. What is
 * written goes into a place of its own at the peer, which is told by the immediate of which step it
 * is.
 *
 *   ring     2 (n - 1) steps: n - 1 parts are added up on their way round, then go round as they
 * are halving  2 log2 n steps: with the process whose number differs in one bit, half of the rest
 * each time, added up; then the same back, twice as much each time
 *
 * The sums are checked at the end of a round: numbers are counted modulo 2^32, so that they can be
 * summed over and over.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/own.h"
#include "datapath/solar/perf/perf.h"

#define LINKS_MAX  5 /* of a process: log2 of PERF_SENDERS_MAX, and at least 2 */
#define STEPS_MAX  (2 * PERF_SENDERS_MAX)
#define EPOCH      1
#define DEPTH      16
#define CONNECT_NS INT64_C(10000000000)
#define WAIT_NS    INT64_C(1000000)
#define STUCK_NS   INT64_C(30000000000)

/* What the processes tell each other. */
struct rank {
    atomic_int port;
    atomic_uint data_key, scratch_key; /* regions */
    atomic_int iterations;             /* that it has ended */
    struct err err;
};

struct reduce {
    atomic_int opened, failed, last; /* last: iterations of the round, once it is known */
    struct rank ranks[PERF_SENDERS_MAX];
    struct perf_result result; /* of rank 0 */
};

/* One process. */
struct worker {
    const struct perf_options *options;
    struct reduce *shared;
    int rank, count, link_count, step_count;
    struct solar_context *context;
    struct solar_pd *pd;
    struct solar_cq *cq;
    struct solar_mr *data_mr, *scratch_mr;
    uint32_t *data, *scratch;
    size_t numbers;
    struct solar_qp *links[LINKS_MAX];
    int peers[LINKS_MAX];
    uint32_t iteration;
    uint32_t arrived[STEPS_MAX]; /* the iteration in which a step's bytes came last */
    int posted, done;            /* writes */
};

static void unmap(struct reduce *shared)
{
    if (shared != NULL)
        munmap(shared, sizeof(*shared));
}

OWN_DEFINE(reduce, struct reduce *, unmap)

static int log2_of(int n)
{
    int bits = 0;
    while (1 << bits < n)
        bits++;
    return bits;
}

/* Opening ------------------------------------------------------------------------------------- */

static void end(struct worker *w)
{
    struct err err = ERR_INIT;
    for (int i = 0; i < w->link_count; i++)
        solar_qp_free(w->links[i]);
    if (solar_mr_free(w->data_mr, &err) || solar_mr_free(w->scratch_mr, &err))
        abort(); /* their queue pairs are gone */
    solar_cq_free(w->cq);
    solar_pd_free(w->pd);
    solar_context_free(w->context);
    free(w->data);
    free(w->scratch);
}

static enum err_code make_memory(struct worker *w, struct err *err)
{
    size_t bytes = w->numbers * sizeof(*w->data);
    w->data = malloc(bytes);
    w->scratch = malloc(bytes);
    if (w->data == NULL || w->scratch == NULL)
        return err_nomem(err);
    for (size_t i = 0; i < w->numbers; i++)
        w->data[i] = (uint32_t)(w->rank + 1) * (uint32_t)(i + 1);
    memset(w->scratch, 0, bytes);
    enum err_code code = solar_mr_new(w->pd, w->data, bytes, SOLAR_REMOTE_WRITE, &w->data_mr, err);
    return code != ERR_OK
               ? code
               : solar_mr_new(w->pd, w->scratch, bytes, SOLAR_REMOTE_WRITE, &w->scratch_mr, err);
}

static enum err_code make_context(struct worker *w, struct err *err)
{
    const struct perf_options *o = w->options;
    const struct solar_config config = {.address = o->address,
                                        .paths = o->paths,
                                        .payload_max = o->payload_max,
                                        .line_bps = o->line_bps,
                                        .spin_ns = o->spin_ns};
    enum err_code code = solar_context_new(&config, &w->context, err);
    for (int i = 0; code == ERR_OK && i < LINKS_MAX; i++)
        code = solar_key_set(w->context, (uint32_t)i + 1, EPOCH, o->key, err);
    if (code == ERR_OK)
        code = solar_pd_new(w->context, &w->pd, err);
    if (code == ERR_OK)
        code = solar_cq_new(w->context, 4 * LINKS_MAX * DEPTH, &w->cq, err);
    return code == ERR_OK ? make_memory(w, err) : code;
}

/* A label a link, so that who accepts knows who comes: of the ring 1 is to the next one, 2 from the
 * one before; of halving, i + 1 is to the one whose number differs in bit i. */
static bool connects(const struct worker *w, int link)
{
    return w->options->ring ? link == 0 : (w->rank >> link & 1) == 0;
}

static enum err_code open_link(struct worker *w, int link, struct err *err)
{
    uint32_t label = w->options->ring ? 1 : (uint32_t)link + 1;
    const struct solar_qp_config config = {.label = label,
                                           .epoch = EPOCH,
                                           .send_cq = w->cq,
                                           .receive_cq = w->cq,
                                           .send_depth = DEPTH,
                                           .receive_depth = DEPTH};
    enum err_code code = solar_qp_new(w->pd, &config, &w->links[link], err);
    if (code != ERR_OK)
        return code;
    w->link_count++;
    if (!connects(w, link))
        return solar_qp_accept(w->links[link], err);
    return solar_qp_connect(w->links[link], w->options->address,
                            (uint16_t)atomic_load(&w->shared->ranks[w->peers[link]].port),
                            CONNECT_NS, err);
}

/* All processes come here before one goes on; meanwhile each answers its peers. */
static enum err_code meet(struct worker *w, atomic_int *counter, int wanted, struct err *err)
{
    int64_t from_ns = perf_now_ns();
    while (atomic_load(counter) < wanted) {
        if (atomic_load(&w->shared->failed) || perf_now_ns() - from_ns > STUCK_NS)
            return err_set(err, ERR_UNAVAILABLE, "another process of the all-reduce failed");
        solar_progress(w->context, WAIT_NS / 10);
    }
    return ERR_OK;
}

static enum err_code open_all(struct worker *w, struct err *err)
{
    struct rank *own = &w->shared->ranks[w->rank];
    int links = w->options->ring ? 2 : log2_of(w->count);
    atomic_store(&own->port, solar_context_port(w->context));
    atomic_store(&own->data_key, solar_mr_key(w->data_mr));
    atomic_store(&own->scratch_key, solar_mr_key(w->scratch_mr));
    atomic_fetch_add(&w->shared->opened, 1);
    enum err_code code = meet(w, &w->shared->opened, w->count, err);
    for (int i = 0; code == ERR_OK && i < links; i++) {
        w->peers[i] = !w->options->ring ? w->rank ^ 1 << i
                      : i == 0          ? (w->rank + 1) % w->count
                                        : (w->rank + w->count - 1) % w->count;
        code = open_link(w, i, err);
    }
    for (int i = 0; code == ERR_OK && i < links; i++)
        code = solar_qp_wait(w->links[i], CONNECT_NS, err);
    atomic_fetch_add(&w->shared->opened, 1);
    return code == ERR_OK ? meet(w, &w->shared->opened, 2 * w->count, err) : code;
}

/* Steps --------------------------------------------------------------------------------------- */

static enum err_code take(struct worker *w, struct err *err)
{
    struct solar_completion c;
    while (solar_cq_poll(w->cq, &c, 1) == 1) {
        if (c.status != ERR_OK) {
            *err = *solar_qp_error(c.qp);
            return c.status;
        }
        if (c.has_immediate && c.op == SOLAR_WRITE_IMMEDIATE && c.id == 0)
            w->arrived[c.immediate % STEPS_MAX] = c.immediate / STEPS_MAX;
        else
            w->done++;
    }
    return ERR_OK;
}

static enum err_code await(struct worker *w, int step, struct err *err)
{
    int64_t from_ns = perf_now_ns();
    while (step < 0 ? w->done < w->posted : w->arrived[step] != w->iteration) {
        enum err_code code = take(w, err);
        if (code != ERR_OK)
            return code;
        if (atomic_load(&w->shared->failed) || perf_now_ns() - from_ns > STUCK_NS)
            return err_set(err, ERR_UNAVAILABLE, "step %d of the all-reduce does not come", step);
        if (step < 0 ? w->done < w->posted : w->arrived[step] != w->iteration)
            solar_progress(w->context, WAIT_NS);
    }
    return ERR_OK;
}

/* Of the own numbers, to the peer's numbers, or its scratch at `at`. */
static enum err_code put(struct worker *w, int link, int step, size_t from, size_t count,
                         bool to_data, size_t at, struct err *err)
{
    struct rank *peer = &w->shared->ranks[w->peers[link]];
    const struct solar_work work = {.id = 1,
                                    .mr = w->data_mr,
                                    .offset = from * sizeof(uint32_t),
                                    .length = (uint32_t)(count * sizeof(uint32_t)),
                                    .remote_key =
                                        atomic_load(to_data ? &peer->data_key : &peer->scratch_key),
                                    .remote_offset = at * sizeof(uint32_t),
                                    .immediate = w->iteration * STEPS_MAX + (uint32_t)step,
                                    .tensor = 1};
    w->posted++;
    return solar_post(w->links[link], SOLAR_WRITE_IMMEDIATE, &work, err);
}

static void add(struct worker *w, size_t at, size_t scratch_at, size_t count)
{
    for (size_t i = 0; i < count; i++)
        w->data[at + i] += w->scratch[scratch_at + i];
}

static enum err_code ring(struct worker *w, struct err *err)
{
    int n = w->count;
    size_t part = w->numbers / (size_t)n;
    enum err_code code = ERR_OK;
    for (int step = 0; code == ERR_OK && step < 2 * (n - 1); step++) {
        bool gathers = step >= n - 1;
        size_t from = (size_t)((w->rank - step + 2 * n) % n) * part;
        size_t to = (size_t)((w->rank - step - 1 + 2 * n) % n) * part;
        if (gathers) {
            from = (size_t)((w->rank + 1 - (step - n + 1) + 2 * n) % n) * part;
            to = 0;
        }
        code = put(w, 0, step, from, part, gathers, from, err);
        if (code == ERR_OK)
            code = await(w, step, err);
        if (code == ERR_OK && !gathers)
            add(w, to, to, part);
    }
    return code;
}

static enum err_code halve(struct worker *w, struct err *err)
{
    int bits = log2_of(w->count);
    size_t begin = 0, size = w->numbers, at = 0; /* of what is left to this process */
    enum err_code code = ERR_OK;
    for (int i = 0; code == ERR_OK && i < bits; i++) {
        size /= 2;
        bool upper = (w->rank >> i & 1) != 0;
        size_t mine = begin + (upper ? size : 0), its = begin + (upper ? 0 : size);
        code = put(w, i, i, its, size, false, at, err);
        if (code == ERR_OK)
            code = await(w, i, err);
        if (code == ERR_OK)
            add(w, mine, at, size);
        begin = mine;
        at += size;
    }
    for (int i = bits - 1; code == ERR_OK && i >= 0; i--) {
        int step = 2 * bits - 1 - i;
        code = put(w, i, step, begin, size, true, begin, err);
        if (code == ERR_OK)
            code = await(w, step, err);
        begin -= (w->rank >> i & 1) != 0 ? size : 0;
        size *= 2;
    }
    return code;
}

/* Rounds -------------------------------------------------------------------------------------- */

/* After k times: each number is its first sum, times the number of processes for each further time.
 */
static enum err_code check(const struct worker *w, struct err *err)
{
    uint32_t sum = 0;
    for (int rank = 0; rank < w->count; rank++)
        sum += (uint32_t)rank + 1;
    for (uint32_t i = 1; i < w->iteration; i++)
        sum *= (uint32_t)w->count;
    for (size_t i = 0; i < w->numbers; i++)
        if (w->data[i] != sum * (uint32_t)(i + 1))
            return err_set(err, ERR_IO, "process %d: number %zu is %u after %u times, not %u",
                           w->rank, i, w->data[i], w->iteration, sum * (uint32_t)(i + 1));
    return ERR_OK;
}

/* Rank 0 says when it is over, before the others can begin one more. */
static void say_last(struct worker *w, int64_t begin_ns)
{
    int done = (int)w->iteration;
    if (w->rank == 0 && done > 0 &&
        (perf_now_ns() - begin_ns >= w->options->round_ns || done >= PERF_SAMPLES_MAX))
        atomic_store(&w->shared->last, done);
}

static enum err_code repeat(struct worker *w, int64_t *samples, struct perf_result *r,
                            struct err *err)
{
    int64_t begin_ns = perf_now_ns(), count = 0;
    enum err_code code = ERR_OK;
    for (;;) {
        say_last(w, begin_ns);
        /* All have ended the one before: its places are free, and what rank 0 said is known. */
        atomic_fetch_add(&w->shared->ranks[0].iterations, 1);
        code = meet(w, &w->shared->ranks[0].iterations, (int)(w->iteration + 1) * w->count, err);
        int last = atomic_load(&w->shared->last);
        if (code != ERR_OK || last != 0)
            break;
        w->iteration++;
        int64_t from_ns = perf_now_ns();
        code = (w->options->ring ? ring : halve)(w, err);
        if (code == ERR_OK)
            code = await(w, -1, err);
        if (code != ERR_OK)
            break;
        if (w->rank == 0)
            samples[count++] = 2 * (perf_now_ns() - from_ns); /* perf_times() halves round trips */
    }
    r->operations = count;
    r->bytes = count * (int64_t)(w->numbers * sizeof(uint32_t));
    r->ns = perf_now_ns() - begin_ns;
    if (w->rank == 0)
        perf_times(samples, count, r);
    return code == ERR_OK ? check(w, err) : code;
}

static enum err_code work(const struct perf_options *o, struct reduce *shared, int rank,
                          int64_t *samples, struct err *err)
{
    struct worker w = {.options = o, .shared = shared, .rank = rank, .count = o->senders};
    size_t unit = sizeof(uint32_t) * (size_t)o->senders;
    w.numbers = (o->size_bytes + unit - 1) / unit * (size_t)o->senders;
    struct perf_result r = {.tcp = false};
    enum err_code code = make_context(&w, err);
    if (code == ERR_OK)
        code = open_all(&w, err);
    if (code == ERR_OK)
        code = repeat(&w, samples, &r, err);
    for (int i = 0; i < w.link_count && rank == 0; i++) {
        struct solar_qp_stats stats;
        solar_qp_stats(w.links[i], &stats);
        r.sent_packets += stats.sent_packets;
        r.resent_packets += stats.resent_packets;
        r.spurious_packets += stats.spurious_packets;
    }
    if (code != ERR_OK)
        atomic_store(&shared->failed, 1);
    if (code == ERR_OK && rank == 0)
        shared->result = r;
    end(&w);
    return code;
}

static enum err_code collect(const pid_t *pids, int count, struct reduce *shared, struct err *err)
{
    enum err_code code = ERR_OK;
    for (int i = 0; i < count; i++) {
        int status;
        if (waitpid(pids[i], &status, 0) != pids[i])
            status = -1;
        if (status == 0)
            continue;
        atomic_store(&shared->failed, 1); /* those that wait for it end too */
        const struct err *own = &shared->ranks[i].err;
        /* Who only waited for another says less than that one does. */
        if (own->code != ERR_OK && (code == ERR_OK || err->code == ERR_UNAVAILABLE)) {
            *err = *own;
            code = own->code;
        } else if (own->code == ERR_OK && code == ERR_OK) {
            code = err_set(err, ERR_IO, "process %d of %d was ended", i, count);
        }
    }
    return code;
}

enum err_code perf_reduce_run(const struct perf_options *o, int64_t *samples,
                              struct perf_result *out, struct err *err)
{
    if (o->senders < 2 || (!o->ring && 1 << log2_of(o->senders) != o->senders))
        return err_set(err, ERR_INVALID,
                       "allreduce by halving has 2, 4, 8, 16 or 32 --senders, by ring at least 2");
    OWN(reduce)
    struct reduce *shared =
        mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) {
        shared = NULL;
        return err_nomem(err);
    }
    pid_t pids[PERF_SENDERS_MAX], parent = getpid();
    int started = 0;
    for (; started < o->senders; started++) {
        pids[started] = fork();
        if (pids[started] < 0)
            break;
        if (pids[started] == 0)
            _exit(prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() == parent &&
                          work(o, shared, started, samples, &shared->ranks[started].err) == ERR_OK
                      ? 0
                      : 1);
    }
    for (int i = 0; started < o->senders && i < started; i++)
        kill(pids[i], SIGKILL);
    enum err_code code = collect(pids, started, shared, err);
    if (started < o->senders)
        return err_set(err, ERR_LIMIT, "a process %d of %d", started + 1, o->senders);
    if (code == ERR_OK)
        *out = shared->result;
    return code;
}
