/*
 * datapath/solar/perf/perf_report.c - results as text, as lines of JSON, or as CSV: the rounds as
 * they come, then the medians and how the two transports compare.
 */
#include <stdlib.h>
#include <string.h>

#include "datapath/solar/perf/perf.h"

static bool is_latency(const struct perf_options *o)
{
    return o->test == PERF_SEND_LAT || o->test == PERF_ALLREDUCE;
}

static double gbps(const struct perf_result *r)
{
    return r->ns > 0 ? (double)r->bytes * 8 / (double)r->ns : 0;
}

/* Of one core. */
static double cpu_percent(const struct perf_result *r)
{
    return r->ns > 0 ? (double)r->cpu_ns * 100 / (double)r->ns : 0;
}

static double us(int64_t ns)
{
    return (double)ns / 1000;
}

void perf_report_begin(const struct perf_options *o, FILE *out)
{
    if (o->format == PERF_CSV) {
        fputs("test,round,transport,size_bytes,operations,ns,bytes,gbps,min_us,p50_us,p99_us,"
              "p999_us,max_us,cpu_percent,sent_packets,resent_packets,spurious_packets,fairness,"
              "difference_percent\n",
              out);
    } else if (o->format == PERF_TEXT) {
        fprintf(out, "%s, %u bytes, %d paths\n", perf_test_name(o->test), o->size_bytes, o->paths);
        fputs(o->test == PERF_ALLREDUCE
                  ? "round  transport  an all-reduce, us:  min      p50      p99    p99.9      max "
                    "  times\n"
              : is_latency(o) ? "round  transport  half round trip, us: min      p50      p99    "
                                "p99.9      max   pings\n"
                              : "round  transport    Gbit/s   CPU %  operations   sent again   for "
                                "nothing",
              out);
        fputs(o->test == PERF_INCAST    ? "   fairness\n"
              : o->test == PERF_TENANTS ? "   difference\n"
              : is_latency(o)           ? ""
                                        : "\n",
              out);
    }
    fflush(out);
}

static void put_text(const struct perf_options *o, const char *round, const struct perf_result *r,
                     FILE *out)
{
    const char *name = r->tcp ? "tcp" : "solar";
    if (is_latency(o))
        fprintf(out, "%6s  %-9s                     %9.2f%9.2f%9.2f%9.2f%9.2f%8lld\n", round, name,
                us(r->min_ns), us(r->p50_ns), us(r->p99_ns), us(r->p999_ns), us(r->max_ns),
                (long long)r->operations);
    else
        fprintf(out, "%6s  %-9s%9.2f%8.1f%12lld%13llu%14llu", round, name, gbps(r), cpu_percent(r),
                (long long)r->operations, (unsigned long long)r->resent_packets,
                (unsigned long long)r->spurious_packets);
    if (o->test == PERF_INCAST)
        fprintf(out, "%11.4f", r->fairness);
    if (o->test == PERF_TENANTS)
        fprintf(out, "%11.2f %%", r->difference_percent);
    if (!is_latency(o))
        fputc('\n', out);
}

static void put_json(const struct perf_options *o, const char *round, const struct perf_result *r,
                     FILE *out)
{
    fprintf(out,
            "{\"test\":\"%s\",\"round\":\"%s\",\"transport\":\"%s\",\"size_bytes\":%u,"
            "\"operations\":%lld,\"ns\":%lld,\"bytes\":%lld,\"gbps\":%.4f,\"cpu_percent\":%.2f,"
            "\"sent_packets\":%llu,\"resent_packets\":%llu,\"spurious_packets\":%llu",
            perf_test_name(o->test), round, r->tcp ? "tcp" : "solar", o->size_bytes,
            (long long)r->operations, (long long)r->ns, (long long)r->bytes, gbps(r),
            cpu_percent(r), (unsigned long long)r->sent_packets,
            (unsigned long long)r->resent_packets, (unsigned long long)r->spurious_packets);
    if (o->test == PERF_INCAST)
        fprintf(out, ",\"fairness\":%.4f", r->fairness);
    if (o->test == PERF_TENANTS)
        fprintf(out, ",\"difference_percent\":%.2f", r->difference_percent);
    if (is_latency(o))
        fprintf(out,
                ",\"min_us\":%.3f,\"p50_us\":%.3f,\"p99_us\":%.3f,\"p999_us\":%.3f,\"max_us\":%.3f",
                us(r->min_ns), us(r->p50_ns), us(r->p99_ns), us(r->p999_ns), us(r->max_ns));
    fputs("}\n", out);
}

static void put_csv(const struct perf_options *o, const char *round, const struct perf_result *r,
                    FILE *out)
{
    fprintf(
        out,
        "%s,%s,%s,%u,%lld,%lld,%lld,%.4f,%.3f,%.3f,%.3f,%.3f,%.3f,%.2f,%llu,%llu,%llu,%.4f,%.2f\n",
        perf_test_name(o->test), round, r->tcp ? "tcp" : "solar", o->size_bytes,
        (long long)r->operations, (long long)r->ns, (long long)r->bytes, gbps(r), us(r->min_ns),
        us(r->p50_ns), us(r->p99_ns), us(r->p999_ns), us(r->max_ns), cpu_percent(r),
        (unsigned long long)r->sent_packets, (unsigned long long)r->resent_packets,
        (unsigned long long)r->spurious_packets, r->fairness, r->difference_percent);
}

static void (*const puts_of[])(const struct perf_options *, const char *,
                               const struct perf_result *, FILE *) = {
    [PERF_TEXT] = put_text, [PERF_JSON] = put_json, [PERF_CSV] = put_csv};

void perf_report_round(const struct perf_options *o, int round, const struct perf_result *r,
                       FILE *out)
{
    char text[16];
    snprintf(text, sizeof(text), "%d", round);
    puts_of[o->format](o, text, r, out);
    fflush(out);
}

/* What rounds are sorted by: the median round is reported whole, so that its numbers belong
 * together. */
static double measure(const struct perf_options *o, const struct perf_result *r)
{
    switch (o->test) {
    case PERF_SEND_LAT:
    case PERF_ALLREDUCE:
        return (double)r->p50_ns;
    case PERF_CPU:
        return cpu_percent(r);
    case PERF_TENANTS:
        return r->difference_percent;
    case PERF_WRITE_BW:
    case PERF_READ_BW:
    case PERF_INCAST:
        break;
    }
    return gbps(r);
}

static const struct perf_result *median(const struct perf_options *o,
                                        const struct perf_result *results, int count, bool tcp)
{
    int of = 0;
    for (int i = 0; i < count; i++)
        of += results[i].tcp == tcp;
    for (int i = 0; i < count; i++) {
        int below = 0, same = 0;
        double own = measure(o, &results[i]);
        for (int j = 0; j < count; j++) {
            if (results[j].tcp != tcp)
                continue;
            below += measure(o, &results[j]) < own;
            same += measure(o, &results[j]) <= own;
        }
        if (results[i].tcp == tcp && below <= of / 2 && of / 2 < same)
            return &results[i];
    }
    return NULL;
}

void perf_report_end(const struct perf_options *o, const struct perf_result *results, int count,
                     FILE *out)
{
    const struct perf_result *solar = median(o, results, count, false);
    const struct perf_result *tcp = median(o, results, count, true);
    if (solar != NULL)
        puts_of[o->format](o, "median", solar, out);
    if (tcp != NULL)
        puts_of[o->format](o, "median", tcp, out);
    if (solar == NULL || tcp == NULL || o->format != PERF_TEXT)
        return;
    if (is_latency(o) && solar->p50_ns > 0 && solar->p99_ns > 0)
        fprintf(out, "tcp takes %.2f times as long at p50, %.2f times at p99\n",
                (double)tcp->p50_ns / (double)solar->p50_ns,
                (double)tcp->p99_ns / (double)solar->p99_ns);
    else if (o->test == PERF_CPU && cpu_percent(tcp) > 0)
        fprintf(out, "solar takes %.2f times the CPU of tcp\n",
                cpu_percent(solar) / cpu_percent(tcp));
    else if (gbps(tcp) > 0)
        fprintf(out, "solar carries %.2f times what tcp does\n", gbps(solar) / gbps(tcp));
}
