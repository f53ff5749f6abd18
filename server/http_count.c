/*
 * server/http_count.c - how many answers of which kind were given, and how long they took.
 */
#include "server/http_core.h"

void http_count(struct request *request)
{
    struct http_server *server = request->server;
    size_t status_class = (size_t)request->status / 100;
    size_t method = request->method < ROUTE_METHOD_COUNT ? (size_t)request->method : HTTP_OTHER;
    if (request->status >= 500)
        atomic_fetch_add_explicit(&server->responses_5xx, 1, memory_order_relaxed);
    else if (request->status >= 400)
        atomic_fetch_add_explicit(&server->responses_4xx, 1, memory_order_relaxed);
    if (request->status == 401)
        atomic_fetch_add_explicit(&server->unauthenticated, 1, memory_order_relaxed);
    if (request->status == 403)
        atomic_fetch_add_explicit(&server->denied, 1, memory_order_relaxed);
    if (status_class < HTTP_CLASSES)
        atomic_fetch_add_explicit(&server->answers[method][status_class], 1, memory_order_relaxed);
    if (request->waits)
        return; /* how long a long poll took says nothing */
    int64_t took_ns = http_now_ns(server) - request->started_ns;
    size_t i = 0;
    for (int64_t most_ns = HTTP_LATENCY_FIRST_NS; i < HTTP_LATENCIES && took_ns > most_ns; i++)
        most_ns *= HTTP_LATENCY_STEP;
    atomic_fetch_add_explicit(&server->latencies[i], 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&server->latency_sum_ns, (uint64_t)took_ns, memory_order_relaxed);
}

void http_counts_get(const struct http_server *server, struct http_stats *out)
{
    for (size_t m = 0; m < HTTP_METHODS; m++)
        for (size_t c = 0; c < HTTP_CLASSES; c++)
            out->answers[m][c] = atomic_load(&server->answers[m][c]);
    for (size_t i = 0; i <= HTTP_LATENCIES; i++)
        out->latencies[i] = atomic_load(&server->latencies[i]);
    out->unauthenticated = atomic_load(&server->unauthenticated);
    out->denied = atomic_load(&server->denied);
    out->latency_sum_ns = atomic_load(&server->latency_sum_ns);
}
