/*
 * tests/bench/bench_agents.c - many whole agents, each with a simulated node, in one process on one
 * loop, against a real server over real HTTP.
 *
 *   bench_agents --server URL --tokens FILE --nodes N [--ports P] [--state-dir DIR]
 *
 * FILE has one token a line, of nodes n0, n1, ... Prints "ready" once every agent has reported its
 * inventory and waits for a plan; after SIGTERM one line of JSON: for each plan of each agent the
 * time from its arrival to the acknowledgement of its receipt. State folders lie in memory
 * (/dev/shm) unless --state-dir says otherwise: a thousand nodes have a thousand disks.
 */
#include <errno.h>
#include <ftw.h>
#include <inttypes.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/link_http.h"
#include "base/file.h"
#include "base/log.h"
#include "datapath/dp_sim.h"

#define NODES_MAX      20000
#define TOKENS_MAX     (NODES_MAX * 128)
#define SAMPLES_MAX    4000000
#define FILES_PER_NODE 8 /* an event descriptor, a long poll, a request, files being written */

struct fleet;

struct member {
    struct fleet *fleet;
    struct dp *dp;
    struct http_client *client; /* its own: curl looks through all connections of a client */
    struct agent *agent;
    bool inventory_done, waiting, counted;
    int64_t plan_ns; /* when the last plan came; 0 = none open */
};

struct fleet {
    struct loop *loop;
    struct member *members;
    int count, ready;
    int64_t *samples_ns;
    size_t sample_count;
    uint64_t plans;
    char state_dir[256];
    bool own_dir;
};

static int64_t now_ns(void)
{
    struct clock *clock = clock_system();
    return clock->mono_ns(clock);
}

static void become_ready(struct member *member)
{
    if (member->counted || !member->inventory_done || !member->waiting)
        return;
    member->counted = true;
    if (++member->fleet->ready < member->fleet->count)
        return;
    printf("ready\n");
    fflush(stdout);
}

static void on_agent(void *arg, enum agent_event event)
{
    struct member *member = arg;
    struct fleet *fleet = member->fleet;
    switch (event) {
    case AGENT_INVENTORY_DONE:
        member->inventory_done = true;
        become_ready(member);
        break;
    case AGENT_WAITING:
        member->waiting = true;
        become_ready(member);
        break;
    case AGENT_PLAN_RECEIVED:
        fleet->plans++;
        member->plan_ns = now_ns();
        break;
    case AGENT_RECEIPT_DONE:
        if (member->plan_ns != 0 && fleet->sample_count < SAMPLES_MAX)
            fleet->samples_ns[fleet->sample_count++] = now_ns() - member->plan_ns;
        member->plan_ns = 0;
        break;
    }
}

static enum err_code add_member(struct fleet *fleet, int index, const char *server,
                                const char *token, int ports, struct err *err)
{
    struct member *member = &fleet->members[index];
    char node[NAME_SIZE], dir[512];
    snprintf(node, sizeof(node), "n%d", index);
    snprintf(dir, sizeof(dir), "%s/%s", fleet->state_dir, node);
    member->fleet = fleet;
    struct dp_sim_config sim = {.port_count = ports};
    struct link_http_config http = {.server = server, .token = token, .node = node};
    struct agent_config config = {
        .node = node,
        .state_dir = dir,
        .boot_id = "bench",
        .clock = clock_system(),
        .watch = on_agent,
        .watch_arg = member,
    };
    struct link *link = NULL;
    enum err_code code = dp_sim_new(&sim, &member->dp, err);
    if (code == ERR_OK)
        code = http_client_new(fleet->loop, &member->client, err);
    if (code == ERR_OK)
        code = link_http_new(fleet->loop, member->client, &http, &link, err);
    if (code == ERR_OK)
        code = agent_new(fleet->loop, &config, member->dp, link, &member->agent, err);
    if (code == ERR_OK)
        agent_start(member->agent);
    return code;
}

static enum err_code add_members(struct fleet *fleet, const char *server, const char *tokens_path,
                                 int ports, struct err *err)
{
    OWN(str) char *text = NULL;
    size_t len;
    enum err_code code = file_read(tokens_path, TOKENS_MAX, &text, &len, err);
    char *save = NULL, *token = text == NULL ? NULL : strtok_r(text, "\n", &save);
    for (int i = 0; code == ERR_OK && i < fleet->count; i++) {
        if (token == NULL)
            return err_set(err, ERR_INVALID, "%s has only %d tokens", tokens_path, i);
        code = add_member(fleet, i, server, token, ports, err);
        token = strtok_r(NULL, "\n", &save);
    }
    return code;
}

static int compare_samples(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static double quantile_ms(const struct fleet *fleet, double q)
{
    if (fleet->sample_count == 0)
        return 0;
    size_t at = (size_t)(q * (double)(fleet->sample_count - 1));
    return (double)fleet->samples_ns[at] / 1e6;
}

static double seconds(const struct timeval *time)
{
    return (double)time->tv_sec + (double)time->tv_usec / 1e6;
}

static void print_stats(struct fleet *fleet)
{
    struct agent_stats sum = {0};
    struct rusage usage;
    for (int i = 0; i < fleet->count; i++) {
        const struct agent_stats *one = agent_stats(fleet->members[i].agent);
        for (size_t k = 0; k < sizeof(sum.results) / sizeof(sum.results[0]); k++)
            sum.results[k] += one->results[k];
        sum.receipts_done += one->receipts_done;
    }
    qsort(fleet->samples_ns, fleet->sample_count, sizeof(*fleet->samples_ns), compare_samples);
    getrusage(RUSAGE_SELF, &usage);
    printf("{\"agents\":%d,\"plans\":%" PRIu64 ",\"receipts\":%" PRIu64, fleet->count, fleet->plans,
           sum.receipts_done);
    for (int result = 0; result < RECEIPT_RESULT_COUNT; result++)
        printf(",\"%s\":%" PRIu64, receipt_result_name((enum receipt_result)result),
               sum.results[result]);
    if (fleet->sample_count > 0)
        printf(",\"receipt_ms\":{\"p50\":%.2f,\"p99\":%.2f,\"max\":%.2f}", quantile_ms(fleet, 0.5),
               quantile_ms(fleet, 0.99), quantile_ms(fleet, 1));
    printf(",\"user_s\":%.2f,\"system_s\":%.2f,\"rss_mib\":%.1f}\n", seconds(&usage.ru_utime),
           seconds(&usage.ru_stime), (double)usage.ru_maxrss / 1024);
}

static int remove_entry(const char *path, const struct stat *info, int kind, struct FTW *ftw)
{
    (void)info;
    (void)kind;
    (void)ftw;
    return remove(path);
}

static void fleet_release(struct fleet *fleet)
{
    for (int i = 0; fleet->members != NULL && i < fleet->count; i++) {
        agent_free(fleet->members[i].agent);
        http_client_free(fleet->members[i].client);
        dp_free(fleet->members[i].dp);
    }
    free(fleet->members);
    free(fleet->samples_ns);
    loop_free(fleet->loop);
    if (fleet->own_dir)
        nftw(fleet->state_dir, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

static void on_stop(void *arg)
{
    loop_stop(arg);
}

static enum err_code fleet_init(struct fleet *fleet, const char *state_dir, struct err *err)
{
    if (state_dir != NULL) {
        snprintf(fleet->state_dir, sizeof(fleet->state_dir), "%s", state_dir);
    } else {
        snprintf(fleet->state_dir, sizeof(fleet->state_dir), "%s/stellar-bench-XXXXXX",
                 access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
        if (mkdtemp(fleet->state_dir) == NULL)
            return err_set_errno(err, ERR_IO, errno, "cannot make a state folder");
        fleet->own_dir = true;
    }
    struct rlimit files;
    rlim_t wanted = (rlim_t)fleet->count * FILES_PER_NODE;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < wanted) {
        files.rlim_cur = wanted < files.rlim_max ? wanted : files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
    }
    fleet->members = calloc((size_t)fleet->count, sizeof(*fleet->members));
    fleet->samples_ns = calloc(SAMPLES_MAX, sizeof(*fleet->samples_ns));
    if (fleet->members == NULL || fleet->samples_ns == NULL)
        return err_nomem(err);
    enum err_code code = loop_new(&fleet->loop, err);
    if (code == ERR_OK)
        code = loop_signal_add(fleet->loop, SIGTERM, on_stop, fleet->loop, err);
    if (code == ERR_OK)
        code = loop_signal_add(fleet->loop, SIGINT, on_stop, fleet->loop, err);
    return code;
}

static int usage(void)
{
    fprintf(stderr, "Usage: bench_agents --server URL --tokens FILE --nodes N [--ports P] "
                    "[--state-dir DIR]\n");
    return 2;
}

int main(int argc, char **argv)
{
    const char *server = NULL, *tokens = NULL, *state_dir = NULL;
    struct fleet fleet = {0};
    struct err err = ERR_INIT;
    int ports = 2;
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--server") == 0)
            server = argv[i + 1];
        else if (strcmp(argv[i], "--tokens") == 0)
            tokens = argv[i + 1];
        else if (strcmp(argv[i], "--nodes") == 0)
            fleet.count = atoi(argv[i + 1]);
        else if (strcmp(argv[i], "--ports") == 0)
            ports = atoi(argv[i + 1]);
        else if (strcmp(argv[i], "--state-dir") == 0)
            state_dir = argv[i + 1];
        else
            return usage();
    }
    if (argc % 2 == 0 || server == NULL || tokens == NULL || fleet.count < 1 ||
        fleet.count > NODES_MAX)
        return usage();
    signal(SIGPIPE, SIG_IGN);
    /* The small pieces of a thousand agents in one heap: to merge them all for each buffer of the
     * HTTP library took a quarter of this process' time, and of no single agent's. */
    mallopt(M_MXFAST, 0);
    log_set_level(LOG_LEVEL_WARNING);
    enum err_code code = fleet_init(&fleet, state_dir, &err);
    if (code == ERR_OK)
        code = add_members(&fleet, server, tokens, ports, &err);
    if (code == ERR_OK)
        code = loop_run(fleet.loop, &err);
    if (code == ERR_OK)
        print_stats(&fleet);
    else
        fprintf(stderr, "bench_agents: %s\n", err.text);
    fleet_release(&fleet);
    return code == ERR_OK ? 0 : 1;
}
