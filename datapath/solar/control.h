#pragma once
/*
 * datapath/solar/control.h - the library's side of the agent's folder: takes what the page (page.h)
 * and the shares (share.h) say into the arbiter, the marks and the congestion control of a context,
 * and tells the agent what the context does (report.h). Nothing in the folder can stop the context:
 * what is not there, not whole or not sensible changes nothing.
 *
 *   FOLDER/PORT.page, PORT.shares        written by the agent, read by everybody
 *   FOLDER/jobs/LABEL/                   made by who starts the job, for its group (mode 3730)
 *   FOLDER/jobs/LABEL/key                written by the agent, read by the job (keyring.h)
 *   FOLDER/jobs/LABEL/PROCESS.report     ours; a lock on it says that this process lives
 *
 * Private to the library; one thread, that of the context.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "datapath/solar/cc.h"
#include "datapath/solar/udp.h"

#define CONTROL_PERIOD_NS  INT64_C(5000000)    /* between looks for something new */
#define CONTROL_REPORT_NS  INT64_C(10000000)   /* between reports */
#define CONTROL_RETRY_NS   INT64_C(1000000000) /* between looks for files that are not there */
#define CONTROL_STALE_NS   INT64_C(1000000000) /* shares that are older do not count */
#define CONTROL_LABELS_MAX 256                 /* of a context: as many as the arbiter has */
#define CONTROL_FOLDER_MAX 192
#define CONTROL_FILES_MAX  1024 /* of a folder that are looked at */

struct solar_context;
struct control;

/* With the context's config. ERR_INVALID: the folder's name is too long, or no interface has the
 * address; ERR_NOMEM. A folder that is not there is no error: it may come. */
ERR_MUST_CHECK enum err_code control_new(struct solar_context *context,
                                         const struct udp_address *own, struct control **out,
                                         struct err *err);
void control_free(struct control *control);

/* Does what is due; cheap when nothing is. */
void control_look(struct control *control, int64_t now_ns);
int64_t control_next_ns(const struct control *control);
/* The context uses the label from now on. */
void control_add(struct control *control, uint32_t label);
/* Of the agent's key that queue pairs of the label are opened under now; 0 = it gave none. */
uint64_t control_epoch(struct control *control, uint32_t label);
/* Does the page say what it gets? */
bool control_has(const struct control *control, uint32_t label);
/* What the page says of a label's congestion control. */
void control_tune(const struct control *control, uint32_t label, struct cc_params *params);
