#pragma once
/*
 * server/stellard_options.h - what stellard is told: verb, command line, configuration file.
 */

#include <stdbool.h>

#include "base/options.h"
#include "server/app.h"

#define STELLARD_CONFIG      "/etc/stellar/stellard.json"
#define STELLARD_ADDRESS_MAX 64

enum stellard_verb {
    STELLARD_SERVE = 0,
    STELLARD_BACKUP,       /* --data --out */
    STELLARD_RESTORE,      /* --data --from */
    STELLARD_CHECK,        /* --data */
    STELLARD_NEW_ADMIN,    /* --data: a new admin.token for a server that does not run */
    STELLARD_CHECK_CONFIG, /* everything was read and is right */
    STELLARD_PRINTED,      /* --help, --version, --routes: done */
};

enum tls_mode { TLS_AUTO, TLS_ON, TLS_OFF };

struct stellard_options {
    struct app_config config;
    enum stellard_verb verb;
    const char *out, *from; /* files of backup and restore */
    struct options table;   /* owns what config and the names point into */
    /* private */
    char address[STELLARD_ADDRESS_MAX];
    bool listen_told; /* by the command line or the file */
    enum tls_mode tls;
    const char *names[TLS_GIVEN_MAX + 1];
    size_t name_count;
};

/* Reads `stellard [VERB] [OPTION]...`; sets log level and format. ERR_INVALID, ERR_UNSUPPORTED,
 * ERR_LIMIT, ERR_NOT_FOUND: said in err. */
ERR_MUST_CHECK enum err_code stellard_options_read(int argc, char **argv,
                                                   struct stellard_options *out, struct err *err);
void stellard_options_release(struct stellard_options *options);
