#pragma once
/*
 * server/solar_keys.h - the keys under which the processes of a job open queue pairs of Solar-RDMA.
 *
 * None is stored. A key follows from the server's secret (DATA/solar.key, made at the first start,
 * random, for its owner alone) by HMAC-SHA-256 over tenant, job, label and epoch, so that who knows
 * one knows no other. Epochs are numbers of SOLAR_KEY_PERIOD_S of the clock: a job's key changes by
 * itself. A node is told the present epoch's, which is first and which queue pairs are opened
 * under, the one before and the one after: nodes that ask at different times, or whose server was
 * away, still have one in common. Queue pairs that are open go on under keys of their own.
 *
 * Who has had a key has it until its epoch is over: a node that a job has left knows keys of at
 * most the next epoch. The secret is in no backup; without its file a new one is made, and the
 * nodes have the new keys when they next ask.
 */

#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "base/err.h"
#include "base/mac.h"
#include "fleet/view.h"

#define SOLAR_KEY_PERIOD_S INT64_C(21600)
#define SOLAR_KEY_EPOCHS   3
#define SOLAR_KEY_JOBS_MAX 256 /* of a node: as many as a control page has */

/* Makes the file when it is not there. ERR_DENIED: others can read it; ERR_INVALID; ERR_IO. */
ERR_MUST_CHECK enum err_code solar_secret_open(const char *data_dir,
                                               unsigned char out[MAC_KEY_SIZE], struct err *err);

/* Pure. */
int64_t solar_epoch_at(int64_t wall_us);
void solar_job_key(const unsigned char secret[MAC_KEY_SIZE], const struct placement *placement,
                   int64_t epoch, unsigned char out[MAC_KEY_SIZE]);

/* {"keys": [{"label", "epochs": [{"epoch", "key"}]}], "truncated"}: of each job that has a policy
 * and is placed on the node, by label; past SOLAR_KEY_JOBS_MAX the newest labels are left out. */
ERR_MUST_CHECK enum err_code solar_keys_to_json(const unsigned char secret[MAC_KEY_SIZE],
                                                const struct view *view,
                                                const struct view_node *node, int64_t wall_us,
                                                json_t **out, struct err *err);
