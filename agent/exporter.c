/*
 * agent/exporter.c - see exporter.h: the newest look, and the page that is made of it.
 */
#include "agent/exporter_private.h"

#include <stdlib.h>
#include <string.h>

#include "agent/exporter_text.h"

enum err_code exporter_new(const struct exporter_config *config, struct exporter **out,
                           struct err *err)
{
    struct exporter *exporter = calloc(1, sizeof(*exporter));
    if (exporter == NULL)
        return err_nomem(err);
    exporter->clock = config->clock;
    snprintf(exporter->node, sizeof(exporter->node), "%s", config->node);
    pthread_mutex_init(&exporter->lock, NULL);
    telemetry_batch_init(&exporter->look);
    enum err_code code = exporter_listen(exporter, config->address, err);
    if (code != ERR_OK) {
        exporter_free(exporter);
        return code;
    }
    *out = exporter;
    return ERR_OK;
}

void exporter_free(struct exporter *exporter)
{
    if (exporter == NULL)
        return;
    exporter_stop(exporter);
    telemetry_batch_release(&exporter->look);
    pthread_mutex_destroy(&exporter->lock);
    free(exporter);
}

void exporter_put(struct exporter *exporter, const struct telemetry_batch *batch, size_t sample)
{
    pthread_mutex_lock(&exporter->lock);
    if (telemetry_batch_sample(batch, sample, &exporter->look, NULL) != ERR_OK)
        telemetry_batch_clear(&exporter->look); /* for want of memory: nothing is known */
    exporter->looks++;
    pthread_mutex_unlock(&exporter->lock);
}

static void put_own(const struct exporter *exporter, FILE *out)
{
    fputs("# HELP stellar_agent_info The agent that serves this.\n"
          "# TYPE stellar_agent_info gauge\n",
          out);
    fprintf(out, "stellar_agent_info{node=\"%s\",version=\"" STELLAR_VERSION "\"} 1\n",
            exporter->node);
    fputs("# HELP stellar_agent_looks_total Looks at the node's counters.\n"
          "# TYPE stellar_agent_looks_total counter\n",
          out);
    fprintf(out, "stellar_agent_looks_total{node=\"%s\"} %llu\n", exporter->node,
            (unsigned long long)exporter->looks);
    if (exporter->look.sample_count == 0)
        return;
    fputs("# HELP stellar_agent_last_look_timestamp_seconds When it looked last.\n"
          "# TYPE stellar_agent_last_look_timestamp_seconds gauge\n",
          out);
    fprintf(out, "stellar_agent_last_look_timestamp_seconds{node=\"%s\"} %.3f\n", exporter->node,
            (double)exporter->look.start_us / 1e6);
}

enum err_code exporter_page(struct exporter *exporter, char **out, size_t *out_len, struct err *err)
{
    char *text = NULL;
    size_t len = 0;
    FILE *file = open_memstream(&text, &len);
    if (file == NULL)
        return err_nomem(err);
    pthread_mutex_lock(&exporter->lock);
    put_own(exporter, file);
    int64_t age_us = exporter->clock->wall_us(exporter->clock) - exporter->look.start_us;
    enum err_code code = ERR_OK;
    if (exporter->look.sample_count == 1 && age_us <= EXPORTER_STALE_MS * INT64_C(1000))
        code = exporter_text(&exporter->look, exporter->node, file, err);
    pthread_mutex_unlock(&exporter->lock);
    bool good = ferror(file) == 0;
    good = fclose(file) == 0 && good;
    if (code == ERR_OK && !good)
        code = err_nomem(err);
    if (code != ERR_OK) {
        free(text);
        return code;
    }
    *out = text;
    *out_len = len;
    return ERR_OK;
}
