#pragma once
/*
 * datapath/solar_node.h - the agent's side of the folder that it shares with libsolar
 * (solar/control.h): reads what processes report, divides each port's line among them.
 *
 * All that a process wrote is hostile: files are opened without following links or waiting, read
 * with bounds, decoded; their label is that of the folder they stand in. A process that died (its
 * lock is gone) leaves nothing: its file is removed. Who reports nothing gets no share and is not
 * counted, and who lies gets at most what its label is entitled to (solar/share.h).
 *
 * One thread at a time; never blocks but on the folder's file system.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/own.h"
#include "datapath/solar/report.h"

#define SOLAR_FOLDER         "/run/stellar/solar" /* below the root */
#define SOLAR_NODE_PORTS_MAX 128
#define SOLAR_NODE_JOBS_MAX  256 /* folders that are looked at */
#define SOLAR_NODE_FILES_MAX 64  /* of a job */
#define SOLAR_NODE_LEFT_S    2   /* a file without a lock is removed when it is so old */

/* Each report of a process that lives, once; returns how many. */
typedef void solar_report_fn(void *arg, uint32_t label, const struct report *report);
size_t solar_reports(const char *folder, solar_report_fn *tell, void *arg);

/* Labels of the jobs that have a folder, at most `room`; returns how many. */
size_t solar_node_jobs(const char *folder, uint32_t *out, size_t room);

struct solar_node;
/* ERR_LIMIT (the name is too long), ERR_NOMEM. The folder need not be there. */
ERR_MUST_CHECK enum err_code solar_node_new(const char *folder, struct solar_node **out,
                                            struct err *err);
void solar_node_free(struct solar_node *node);
OWN_DEFINE(solar_node, struct solar_node *, solar_node_free)

/* Looks once and publishes the shares of ports that processes send on; how many report. */
size_t solar_node_look(struct solar_node *node, int64_t now_ns);
