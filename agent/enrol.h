#pragma once
/*
 * agent/enrol.h - how the agent gets its first certificate: a join token, which also carries the
 * SHA-256 of the server's authority.
 *
 *   1. key     STATE_DIR/enrol.key is made, or found from an attempt that did not end
 *   2. pin     GET /v1/ca from whoever answers; another hash than the token's ends it here
 *   3. trust   STATE_DIR/ca.crt; from now on only who it has signed is spoken to
 *   4. spend   POST /v1/agent/enrol: the token and a signing request for the key
 *   5. keep    STATE_DIR/identity-N.pem, then STATE_DIR/joined (the token's hash); the key goes
 *
 * After a crash between 4 and 5 the same token works again with the same key. A token that is in
 * `joined` was spent: it is not looked at again, so that it may stay in the command line.
 */

#include "agent/identity.h"

struct enrol_config {
    const char *server; /* "https://host:port" */
    const char *node;
    const char *state_dir;
    const char *token;     /* "sj_..." */
    const char *server_ca; /* file; who signs the server's certificate, NULL = its own authority */
};

/* The file that says who may sign the server's certificate. */
ERR_MUST_CHECK enum err_code enrol_ca_path(const char *state_dir, const char *server_ca,
                                           char out[KEEP_PATH_MAX], struct err *err);

/* Blocks for some seconds at most. ERR_INVALID: no join token; ERR_DENIED: the server is another
 * one, or refuses the token; ERR_UNAVAILABLE: try again. Never logs the token. */
ERR_MUST_CHECK enum err_code enrol_join(const struct enrol_config *config, struct identity *out,
                                        struct err *err);

/* What the server answers to a signing request, by its status: the certificate, malloc'ed; body is
 * hostile. */
ERR_MUST_CHECK enum err_code enrol_read_answer(long status, const char *body, size_t len,
                                               char **out_cert_pem, struct err *err);
