#pragma once
/*
 * agent/solar_keys.h - gives the keys of a job to its processes: asks the server for those of the
 * jobs that run on this node (GET /v1/agent/solar-keys) and writes each into its job's folder
 * (datapath/solar/keyring.h), which is there as long as somebody runs the job here.
 *
 * Nothing is asked while no job has a folder. A folder that is new, or has no key yet, is asked for
 * soon, all of them every SOLAR_KEYS_EVERY_S. A server that is away, or that has no such route,
 * changes nothing; a job that is not of this node any more loses its file. Keys are in no log and
 * no state folder.
 *
 * On the loop; its file system is a memory.
 */

#include "agent/link.h"
#include "base/http_client.h"
#include "base/loop.h"
#include "base/own.h"

#define SOLAR_KEYS_LOOK_S  1   /* between looks at which jobs have a folder */
#define SOLAR_KEYS_EVERY_S 600 /* a fraction of the time that a key counts */
#define SOLAR_KEYS_AGAIN_S 15  /* while one has no key */

struct solar_keys_config {
    const char *root;        /* of the files; NULL = "" */
    const char *node;        /* for log lines; copied */
    const struct link *link; /* of link_http; borrowed */
};

struct solar_keys;
/* loop and client are borrowed. ERR_NOMEM, ERR_LIMIT (the root's name is too long). */
ERR_MUST_CHECK enum err_code solar_keys_new(struct loop *loop, struct http_client *client,
                                            const struct solar_keys_config *config,
                                            struct solar_keys **out, struct err *err);
void solar_keys_free(struct solar_keys *keys);
OWN_DEFINE(solar_keys, struct solar_keys *, solar_keys_free)

/* Writes what an answer's body says into the folders of the jobs, and takes away what it does not
 * say; *out_left is how many folders have no key now. ERR_INVALID: the body, which is hostile, is
 * not right, and nothing was changed; an error of one folder is logged by the caller and the others
 * get theirs. */
ERR_MUST_CHECK enum err_code solar_keys_take(const char *folder, const char *body, size_t len,
                                             size_t *out_left, struct err *err);
