#pragma once
/*
 * agent/exporter_private.h - what exporter.c (the page) and exporter_http.c (who serves it) share.
 */

#include <pthread.h>
#include <stdint.h>

#include "agent/exporter.h"
#include "fleet/name.h"

struct MHD_Daemon;

struct exporter {
    char node[NAME_SIZE];
    struct clock *clock;
    struct MHD_Daemon *daemon; /* NULL = does not serve */
    unsigned port;
    pthread_mutex_t lock;        /* of what follows */
    struct telemetry_batch look; /* of one sample; without any: none yet */
    uint64_t looks;
};

/* exporter_http.c */
ERR_MUST_CHECK enum err_code exporter_listen(struct exporter *exporter, const char *address,
                                             struct err *err);
void exporter_stop(struct exporter *exporter);
