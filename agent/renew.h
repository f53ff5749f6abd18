#pragma once
/*
 * agent/renew.h - the next certificate in time: at two thirds of the life of the one in use, with a
 * new key. The old one counts at the server until the new one is used for the first time, so a
 * crash at any point leaves one that works.
 */

#include "agent/identity.h"
#include "base/http_client.h"
#include "base/loop.h"

#define RENEW_RETRY_NS (3600 * NS_PER_S) /* jittered */

struct renew;

struct renew_config {
    const char *server, *node, *state_dir;                     /* borrowed */
    const char *ca_file;                                       /* borrowed */
    struct identity identity;                                  /* in use */
    void (*fresh)(void *arg, const struct identity *identity); /* use this one from now on */
    void *arg;
};

/* loop and client are borrowed. */
ERR_MUST_CHECK enum err_code renew_new(struct loop *loop, struct http_client *client,
                                       const struct renew_config *config, struct renew **out,
                                       struct err *err);
void renew_free(struct renew *renew);
OWN_DEFINE(renew, struct renew *, renew_free)

/* Without waiting for the time. */
void renew_now(struct renew *renew);
