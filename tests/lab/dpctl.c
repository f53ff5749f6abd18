/*
 * tests/lab/dpctl.c - the Linux provider by hand, for lab jobs: what the agent does, without
 * server, journal and timers. Needs root for changes.
 *
 *   dpctl [--devices a,b] [--root DIR] COMMAND
 *     inventory                 what the node is made of
 *     observe [PLAN]            state as JSON; of a plan's knobs, or of all
 *     steps PLAN                what would be done
 *     check PLAN                whether it could be done; changes nothing
 *     apply PLAN                does it; on the first failure takes back what was done
 *     apply-timed PLAN          and says how long it took from the plan in memory, as JSON
 *     watch-inventory SECONDS   the same for the inventory
 *     neighbours SECONDS        who is at the other end of each port, as JSON, whenever that
 * changes watch SECONDS             ends with 0 when the kernel announces a change, 3 when not
 *     times N                   N observations of all knobs: median time and CPU of one, as JSON
 *
 * PLAN is a file with {"knobs":[{"kind","subject","id"?,"want","strict"?},...]}; "-" = standard
 * input. Exit code: 0 done, 1 failed (and taken back), 2 usage, 4 failed and not all was taken
 * back.
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "agent/undo.h"
#include "base/file.h"
#include "base/json.h"
#include "datapath/counters.h"
#include "datapath/dp_linux.h"
#include "datapath/lldp_listen.h"

#define DEVICES_MAX 16
#define PLAN_MAX    (16 * 1024 * 1024)
#define TIMES_MAX   1000

#define NEIGHBOURS_LOOK_MS 300

static int fail(const char *what, const struct err *err)
{
    printf("%s: %s: %s\n", what, err_code_name(err->code), err->text);
    return 1;
}

static int print(json_t *value)
{
    char *text = value == NULL ? NULL : json_dumps(value, JSON_INDENT(2) | JSON_SORT_KEYS);
    json_decref(value);
    if (text == NULL)
        return 1;
    puts(text);
    free(text);
    return 0;
}

static enum err_code add_knob(struct plan *plan, const json_t *element, struct err *err)
{
    const char *kind = json_string_value(json_object_get(element, "kind"));
    const char *subject = json_string_value(json_object_get(element, "subject"));
    const char *id = json_string_value(json_object_get(element, "id"));
    struct plan_knob knob = {
        .kind = kind == NULL ? NULL : knob_kind_get(kind),
        .strict = json_is_true(json_object_get(element, "strict")),
    };
    if (knob.kind == NULL || subject == NULL)
        return err_set(err, ERR_INVALID, "a knob has no known kind or no subject");
    snprintf(knob.subject, sizeof(knob.subject), "%s", subject);
    snprintf(knob.id, sizeof(knob.id), "%s", id == NULL ? "" : id);
    knob.want = json_incref(json_object_get(element, "want"));
    return plan_add(plan, &knob, err);
}

static enum err_code read_plan(const char *path, struct plan **out, struct err *err)
{
    OWN(str) char *text = NULL;
    OWN(json) json_t *document = NULL;
    OWN(plan) struct plan *plan = NULL;
    size_t len;
    enum err_code code =
        file_read(strcmp(path, "-") == 0 ? "/dev/stdin" : path, PLAN_MAX, &text, &len, err);
    if (code == ERR_OK)
        code = json_parse_limit(text, len, PLAN_MAX, false, &document, err);
    if (code == ERR_OK)
        code = plan_new("lab", 1, &plan, err);
    const json_t *knobs = json_object_get(document, "knobs");
    for (size_t i = 0; code == ERR_OK && i < json_array_size(knobs); i++)
        code = add_knob(plan, json_array_get(knobs, i), err);
    if (code == ERR_OK)
        code = plan_seal(plan, err);
    if (code == ERR_OK)
        *out = GIVE(plan);
    return code;
}

/* As the agent does: what is not as it was gets a second round. */
static int undo(struct dp *dp, const struct plan_steps *steps, size_t begun)
{
    OWN(plan) struct plan *view = NULL;
    struct err err = ERR_INIT;
    enum err_code code = undo_view("lab", steps, &view, &err);
    if (code == ERR_OK) {
        const struct undo back = {.dp = dp, .view = view, .steps = steps, .count = begun};
        code = undo_run(&back, &err);
    }
    if (code != ERR_OK)
        fail("undo", &err);
    puts(code == ERR_OK ? "all was taken back" : "not all was taken back");
    return code == ERR_OK ? 1 : 4;
}

static int run_steps(struct dp *dp, const struct plan_steps *steps, bool change)
{
    struct err err = ERR_INIT;
    struct dp_progress did;
    for (size_t i = 0; i < steps->count; i++)
        if (dp_check(dp, &steps->items[i], &err))
            return fail("check", &err);
    for (size_t i = 0; change && i < steps->count; i += did.begun) {
        enum err_code code = dp_apply_run(dp, &steps->items[i], steps->count - i, &did, &err);
        for (size_t k = i; k < i + did.failed; k++) {
            char text[256];
            plan_step_describe(&steps->items[k], text, sizeof(text));
            puts(text);
        }
        if (code != ERR_OK) {
            fail("apply", &err);
            return undo(dp, steps, i + did.begun);
        }
    }
    return 0;
}

/* Afterwards the node must be what the plan wants, by the digests that the agent compares. */
static int verify(struct dp *dp, const struct plan *plan)
{
    OWN_STATE struct state state;
    state_init(&state);
    struct err err = ERR_INIT;
    char observed[DIGEST_TEXT_MAX];
    if (dp_observe(dp, plan, &state, &err) || plan_observed_digest(plan, &state, observed, &err))
        return fail("observe", &err);
    bool same = strcmp(observed, plan->digest) == 0;
    puts(same ? "in sync" : "NOT IN SYNC");
    return same ? 0 : 1;
}

static double ms_of(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static int with_plan(struct dp *dp, const char *command, const char *path)
{
    OWN(plan) struct plan *plan = NULL;
    OWN_STATE struct state state;
    OWN_STEPS struct plan_steps steps = {0};
    struct err err = ERR_INIT;
    state_init(&state);
    if (read_plan(path, &plan, &err))
        return fail("plan", &err);
    double wall = ms_of(CLOCK_MONOTONIC), cpu = ms_of(CLOCK_PROCESS_CPUTIME_ID);
    if (dp_observe(dp, plan, &state, &err))
        return fail("observe", &err);
    if (strcmp(command, "observe") == 0)
        return print(state_to_json(&state));
    if (plan_diff(plan, &state, &steps, &err))
        return fail("diff", &err);
    if (strcmp(command, "steps") == 0)
        return print(plan_steps_to_json(&steps));
    bool timed = strcmp(command, "apply-timed") == 0;
    bool change = timed || strcmp(command, "apply") == 0;
    int rc = run_steps(dp, &steps, change);
    if (rc == 0 && change)
        rc = verify(dp, plan);
    if (timed) /* from the plan in memory, as the agent has it, to the node in sync */
        printf("{\"ms\":%.2f,\"cpu_ms\":%.2f}\n", ms_of(CLOCK_MONOTONIC) - wall,
               ms_of(CLOCK_PROCESS_CPUTIME_ID) - cpu);
    return rc;
}

static int watch(struct dp *dp, int seconds)
{
    struct pollfd pfd = {.fd = dp_event_fd(dp), .events = POLLIN};
    struct err err = ERR_INIT;
    bool changed = false;
    puts("watching");
    fflush(stdout);
    while (!changed && poll(&pfd, 1, seconds * 1000) > 0)
        if (dp_drain(dp, &changed, &err))
            return fail("drain", &err);
    puts(changed ? "changed" : "quiet");
    return changed ? 0 : 3;
}

/* The same for the inventory, which is taken first: ends when another one follows an announcement.
 */
static int watch_inventory(struct dp *dp, int seconds)
{
    struct pollfd pfd = {.fd = dp_event_fd(dp), .events = POLLIN};
    struct err err = ERR_INIT;
    bool changed;
    OWN(json) json_t *before = NULL;
    if (dp_inventory(dp, &before, &err))
        return fail("inventory", &err);
    puts("watching");
    fflush(stdout);
    while (poll(&pfd, 1, seconds * 1000) > 0) {
        OWN(json) json_t *after = NULL;
        if (dp_drain(dp, &changed, &err))
            return fail("drain", &err);
        if (!dp_inventory_stale(dp))
            continue;
        if (dp_inventory(dp, &after, &err))
            return fail("inventory", &err);
        if (json_equal(before, after))
            continue;
        puts("changed");
        return 0;
    }
    puts("quiet");
    return 3;
}

/* {"IFNAME": {...}, ...}; owned. */
static json_t *neighbours_of(const json_t *inventory)
{
    json_t *all = json_object();
    size_t i;
    json_t *port;
    json_array_foreach(json_object_get(inventory, "ports"), i, port)
    {
        json_t *neighbour = json_object_get(port, "neighbour");
        if (neighbour != NULL)
            json_object_set(all, json_string_value(json_object_get(port, "ifname")), neighbour);
    }
    return all;
}

static int neighbours(struct dp *dp, int seconds)
{
    struct clock *clock = clock_system();
    int64_t until_ns = clock->mono_ns(clock) + seconds * INT64_C(1000000000);
    struct pollfd pfd = {.fd = dp_event_fd(dp), .events = POLLIN};
    OWN(json) json_t *last = NULL;
    struct err err = ERR_INIT;
    bool changed;
    while (clock->mono_ns(clock) < until_ns) {
        OWN(json) json_t *inventory = NULL;
        if (dp_inventory(dp, &inventory, &err))
            return fail("inventory", &err);
        OWN(json) json_t *now = neighbours_of(inventory);
        if (last == NULL || !json_equal(now, last)) {
            OWN(str) char *text = json_canonical(now, NULL);
            puts(text == NULL ? "" : text);
            fflush(stdout);
            json_decref(last);
            last = GIVE(now);
        }
        if (poll(&pfd, 1, NEIGHBOURS_LOOK_MS) > 0 && dp_drain(dp, &changed, &err))
            return fail("drain", &err);
    }
    return 0;
}

static int compare_times(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static int times(struct dp *dp, int count)
{
    double wall[TIMES_MAX], cpu = ms_of(CLOCK_PROCESS_CPUTIME_ID);
    size_t knobs = 0;
    if (count < 1 || count > TIMES_MAX)
        return 2;
    for (int i = 0; i < count; i++) {
        OWN_STATE struct state state;
        struct err err = ERR_INIT;
        double begin = ms_of(CLOCK_MONOTONIC);
        state_init(&state);
        if (dp_observe(dp, NULL, &state, &err))
            return fail("observe", &err);
        wall[i] = ms_of(CLOCK_MONOTONIC) - begin;
        knobs = state.knob_count;
    }
    cpu = ms_of(CLOCK_PROCESS_CPUTIME_ID) - cpu;
    qsort(wall, (size_t)count, sizeof(wall[0]), compare_times);
    printf("{\"knobs\":%zu,\"ms\":%.2f,\"cpu_ms\":%.2f}\n", knobs, wall[count / 2], cpu / count);
    return 0;
}

/* One look at the counters: kind, device, number, pid, label, name, value, a line each. */
struct counters_row {
    char text[PORT_ID_SIZE + 96];
};

static void on_row(void *arg, enum telemetry_kind kind, const char *device,
                   const struct telemetry_subject *subject)
{
    struct counters_row *row = arg;
    snprintf(row->text, sizeof(row->text), "%s %s %u %u %u", telemetry_kind_name(kind), device,
             subject->number, subject->pid, subject->label);
}

static void on_value(void *arg, const struct telemetry_name *name, int64_t value)
{
    if (value != TELEMETRY_ABSENT)
        printf("%s %s %lld\n", ((struct counters_row *)arg)->text, name->text, (long long)value);
}

static int show_counters(void)
{
    struct err err = ERR_INIT;
    OWN(counters) struct counters *counters = NULL;
    struct counters_row row = {""};
    const struct counters_sink sink = {&row, on_row, on_value};
    const struct counters_linux_config config = {.root = NULL};
    if (counters_linux_new(&config, &counters, &err) ||
        counters->ops->read(counters, 0, &sink, &err))
        return fail("counters", &err);
    return 0;
}

static int run(struct dp *dp, int argc, char **argv)
{
    struct err err = ERR_INIT;
    const char *command = argc > 0 ? argv[0] : "";
    if (strcmp(command, "counters") == 0 && argc == 1)
        return show_counters();
    if (strcmp(command, "inventory") == 0) {
        json_t *inventory = NULL;
        return dp_inventory(dp, &inventory, &err) ? fail("inventory", &err) : print(inventory);
    }
    if (strcmp(command, "observe") == 0 && argc == 1) {
        OWN_STATE struct state state;
        state_init(&state);
        return dp_observe(dp, NULL, &state, &err) ? fail("observe", &err)
                                                  : print(state_to_json(&state));
    }
    if (strcmp(command, "watch") == 0 && argc == 2)
        return watch(dp, atoi(argv[1]));
    if (strcmp(command, "watch-inventory") == 0 && argc == 2)
        return watch_inventory(dp, atoi(argv[1]));
    if (strcmp(command, "neighbours") == 0 && argc == 2)
        return neighbours(dp, atoi(argv[1]));
    if (strcmp(command, "times") == 0 && argc == 2)
        return times(dp, atoi(argv[1]));
    static const char *const commands[] = {"observe", "steps", "check", "apply", "apply-timed"};
    for (size_t i = 0; argc == 2 && i < sizeof(commands) / sizeof(commands[0]); i++)
        if (strcmp(command, commands[i]) == 0)
            return with_plan(dp, command, argv[1]);
    fprintf(stderr,
            "usage: dpctl [--devices a,b] [--root DIR] inventory | counters | observe [PLAN] | "
            "steps PLAN | check PLAN | apply PLAN | apply-timed PLAN | watch SECONDS | "
            "watch-inventory SECONDS | neighbours SECONDS | times N\n");
    return 2;
}

int main(int argc, char **argv)
{
    const char *names[DEVICES_MAX + 1] = {NULL};
    struct dp_linux_config config = {0};
    int at = 1;
    for (; at + 1 < argc && strncmp(argv[at], "--", 2) == 0; at += 2) {
        if (strcmp(argv[at], "--root") == 0)
            config.root = argv[at + 1];
        if (strcmp(argv[at], "--devices") != 0)
            continue;
        size_t count = 0;
        for (char *name = strtok(argv[at + 1], ","); name != NULL && count < DEVICES_MAX;
             name = strtok(NULL, ","))
            names[count++] = name;
        config.devices = names;
    }
    struct err err = ERR_INIT;
    OWN(dp) struct dp *dp = NULL;
    if (lldp_listen_open(clock_system(), &config.lldp, &err))
        fprintf(stderr, "neighbours stay unknown: %s\n", err.text);
    if (dp_linux_new(&config, &dp, &err))
        return fail("dpctl", &err);
    return run(dp, argc - at, argv + at);
}
