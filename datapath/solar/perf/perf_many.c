/*
 * datapath/solar/perf/perf_many.c - a round of several clients at a time, each a process of its own
 * as on the hosts of a job: incast (all send to the server for the length of a round) and tenants
 * (two tenants with as many bytes each, in five flows and in two).
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

#define TENANT_FLOWS  (PERF_TENANT_A + PERF_TENANT_B)
#define LIMIT_PERCENT 60 /* of the line, of each tenant under PERF_POLICY_LIMIT */

/* Shared by the processes; each writes its own place before it ends. */
struct many {
    struct perf_gate gate;
    struct perf_result results[PERF_SENDERS_MAX];
    struct err errs[PERF_SENDERS_MAX];
};

static void unmap(struct many *many)
{
    if (many != NULL)
        munmap(many, sizeof(*many));
}

OWN_DEFINE(many, struct many *, unmap)

/* What flow i of the tenants has to carry, and what holds for it. As one process knows nothing of
 * the others, a tenant's part is divided among its flows here; on a node its agent does that. */
static void be_tenant(struct perf_options *o, int i)
{
    int flows = i < PERF_TENANT_A ? PERF_TENANT_A : PERF_TENANT_B;
    int others = TENANT_FLOWS - flows;
    /* Two tenants with half of the line each take the length of a round. In whole operations, of
     * which both numbers of flows have as many each: both tenants carry the same to the byte. */
    double each = (double)o->rate_bps / 8e9 * (double)o->round_ns / 2 / (double)o->size_bytes;
    int64_t shares = (int64_t)(each / (PERF_TENANT_A * PERF_TENANT_B)) + 1;
    o->volume_bytes = shares * others * o->size_bytes;
    if (o->policy == PERF_POLICY_WEIGHT)
        o->weight = others;
    else if (o->policy == PERF_POLICY_LIMIT)
        o->limit_bps = o->rate_bps / 100 * LIMIT_PERCENT / flows;
}

static int run_one(const struct perf_options *options, int i, bool tcp, struct many *many)
{
    struct perf_options own = *options;
    own.gate = &many->gate;
    if (i > 0)
        own.server_pid = 0; /* its CPU is counted once */
    if (options->test == PERF_TENANTS)
        be_tenant(&own, i);
    return (tcp ? perf_tcp_run : perf_solar_run)(&own, NULL, &many->results[i], &many->errs[i]) ==
                   ERR_OK
               ? 0
               : 1;
}

/* Waits for all; the first error of one is the round's. */
static enum err_code collect(const pid_t *pids, int count, const struct many *many, struct err *err)
{
    enum err_code code = ERR_OK;
    for (int i = 0; i < count; i++) {
        int status;
        if (waitpid(pids[i], &status, 0) != pids[i])
            status = -1;
        if (status == 0 || code != ERR_OK)
            continue;
        if (many->errs[i].code != ERR_OK) {
            *err = many->errs[i];
            code = err->code;
        } else {
            code = err_set(err, ERR_IO, "the process of sender %d of %d was ended", i + 1, count);
        }
    }
    return code;
}

static double jain(const struct perf_result *results, int count)
{
    double sum = 0, squares = 0;
    for (int i = 0; i < count; i++) {
        double rate = (double)results[i].bytes / (double)results[i].ns;
        sum += rate;
        squares += rate * rate;
    }
    return squares > 0 ? sum * sum / (squares * count) : 0;
}

/* By how much the tenant that was ready later took longer. */
static double difference(const struct perf_result *results)
{
    int64_t a = 0, b = 0;
    for (int i = 0; i < TENANT_FLOWS; i++) {
        int64_t *of = i < PERF_TENANT_A ? &a : &b;
        *of = results[i].ns > *of ? results[i].ns : *of;
    }
    int64_t first = a < b ? a : b, last = a < b ? b : a;
    return first > 0 ? (double)(last - first) * 100 / (double)first : 0;
}

static struct perf_result total(const struct perf_options *o, bool tcp,
                                const struct perf_result *results, int count)
{
    struct perf_result sum = {.tcp = tcp};
    for (int i = 0; i < count; i++) {
        const struct perf_result *r = &results[i];
        sum.operations += r->operations;
        sum.bytes += r->bytes;
        sum.ns = r->ns > sum.ns ? r->ns : sum.ns;
        sum.cpu_ns += r->cpu_ns;
        sum.sent_packets += r->sent_packets;
        sum.resent_packets += r->resent_packets;
        sum.spurious_packets += r->spurious_packets;
    }
    if (o->test == PERF_TENANTS)
        sum.difference_percent = difference(results);
    else
        sum.fairness = jain(results, count);
    return sum;
}

enum err_code perf_many_run(const struct perf_options *options, bool tcp, struct perf_result *out,
                            struct err *err)
{
    int count = options->test == PERF_TENANTS ? TENANT_FLOWS : options->senders, started = 0;
    OWN(many)
    struct many *many =
        mmap(NULL, sizeof(*many), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (many == MAP_FAILED) {
        many = NULL;
        return err_nomem(err);
    }
    many->gate.count = count;
    pid_t pids[PERF_SENDERS_MAX], parent = getpid();
    for (; started < count; started++) {
        pids[started] = fork();
        if (pids[started] < 0)
            break;
        if (pids[started] == 0)
            _exit(prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() == parent
                      ? run_one(options, started, tcp, many)
                      : 1);
    }
    for (int i = 0; started < count && i < started; i++)
        kill(pids[i], SIGKILL);
    enum err_code code = collect(pids, started, many, err);
    if (started < count)
        return err_set(err, ERR_LIMIT, "a process for sender %d of %d", started + 1, count);
    if (code == ERR_OK)
        *out = total(options, tcp, many->results, count);
    return code;
}
