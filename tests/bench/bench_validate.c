/*
 * bench_validate.c - parse, check and rule a policy, on one core, beside jansson's bare parse of
 * the same bytes in the same run.
 *
 *   bench_validate SECONDS     prints {"small_bytes",...} with documents per second for a policy of
 * about 1 KiB and for one of 1,000 jobs
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <jansson.h>

#include "base/json.h"
#include "fleet/policy.h"
#include "fleet/rules.h"

static double now_s(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/* A policy of `jobs` jobs that all rules accept. */
static char *make_policy(int jobs)
{
    char *text = malloc((size_t)jobs * 160 + 64);
    size_t at = (size_t)sprintf(text, "{\"qos_policy\":{");
    for (int i = 0; i < jobs; i++)
        at += (size_t)sprintf(text + at,
                              "%s\"job_%04d\":{\"priority\":%d,\"bw_limit\":\"60.5%%\","
                              "\"demand\":\"75%%\",\"latency_class\":\"throughput\"}",
                              i > 0 ? "," : "", i, i % 8);
    sprintf(text + at, "}}");
    return text;
}

static void validate(const char *text, size_t len)
{
    struct err err = ERR_INIT;
    OWN(json) json_t *document = NULL;
    if (json_parse(text, len, &document, &err)) {
        fprintf(stderr, "bench_validate: %s\n", err.text);
        exit(1);
    }
    OWN_FINDINGS struct finding_list findings;
    finding_list_init(&findings);
    OWN(policy) struct policy *policy = NULL;
    if (policy_from_json(document, &policy, &findings, &err)) {
        fprintf(stderr, "bench_validate: %s\n", err.text);
        exit(1);
    }
    struct view_tenant tenant = {.name = "t", .policy = policy};
    struct view view = {.tenants = &tenant, .tenant_count = 1};
    struct change change = {.kind = CHANGE_POLICY, .tenant = "t"};
    rules_check(&view, &change, &findings);
    if (finding_list_has_errors(&findings)) {
        fprintf(stderr, "bench_validate: refused: %s\n", findings.items[0].message);
        exit(1);
    }
}

static void parse_only(const char *text, size_t len)
{
    json_error_t error;
    json_t *value = json_loadb(text, len, JSON_REJECT_DUPLICATES, &error);
    if (value == NULL)
        exit(1);
    json_decref(value);
}

static double rate(void (*fn)(const char *, size_t), const char *text, double seconds)
{
    size_t len = strlen(text);
    double start = now_s();
    long n = 0;
    do {
        fn(text, len);
        n++;
    } while (now_s() - start < seconds);
    return (double)n / (now_s() - start);
}

int main(int argc, char **argv)
{
    double seconds = argc > 1 ? atof(argv[1]) : 2;
    char *small = make_policy(11), *large = make_policy(1000);
    double small_ours = rate(validate, small, seconds),
           small_peer = rate(parse_only, small, seconds);
    double large_ours = rate(validate, large, seconds),
           large_peer = rate(parse_only, large, seconds);
    printf("{\"small_bytes\":%zu,\"small_per_s\":%.1f,\"small_parse_per_s\":%.1f,"
           "\"large_bytes\":%zu,\"large_per_s\":%.1f,\"large_parse_per_s\":%.1f}\n",
           strlen(small), small_ours, small_peer, strlen(large), large_ours, large_peer);
    free(small);
    free(large);
    return 0;
}
