/*
 * datapath/sys/roce_tos_aside.c - see roce_tos_aside.h. Called by knob_roce_tos.c and
 * linux_caps.c.
 */
#include "datapath/sys/roce_tos_aside.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "datapath/sys/sys.h"

#define DEVICE_SIZE 64

/* What the other thread works with: all of it its own. */
struct job {
    char root[SYS_PATH_MAX], device[DEVICE_SIZE];
    uint32_t port;
    bool set;
    struct roce_tos value; /* wanted, or read */
    enum err_code code;
    struct err err;
};

static void job_run(void *arg)
{
    struct job *job = arg;
    job->code = job->set ? roce_tos_set(job->root, job->device, job->port, &job->value, &job->err)
                         : roce_tos_get(job->root, job->device, job->port, &job->value, &job->err);
}

static enum err_code job_new(const struct roce_tos_port *at, const struct roce_tos *want,
                             struct job **out, struct err *err)
{
    if (strlen(at->root) >= SYS_PATH_MAX || strlen(at->device) >= DEVICE_SIZE)
        return err_set(err, ERR_LIMIT, "the path of a root folder or a device's name is too long");
    struct job *job = calloc(1, sizeof(*job));
    if (job == NULL)
        return err_nomem(err);
    text_copy(job->root, sizeof(job->root), at->root);
    text_copy(job->device, sizeof(job->device), at->device);
    job->port = at->port;
    job->set = want != NULL;
    job->err = (struct err)ERR_INIT;
    if (want != NULL)
        job->value = *want;
    *out = job;
    return ERR_OK;
}

enum err_code roce_tos_ask(struct aside *aside, const struct roce_tos_port *at,
                           const struct roce_tos *want, struct roce_tos *is, int wait_ms,
                           struct err *err)
{
    struct job *job = NULL;
    char key[ASIDE_KEY_SIZE];
    enum err_code code = job_new(at, want, &job, err);
    if (code != ERR_OK)
        return code;
    snprintf(key, sizeof(key), "type of service of %.63s", at->device);
    const struct aside_job aside_job = {.run = job_run, .release = free, .arg = job};
    code = aside_run(aside, key, &aside_job, wait_ms, err);
    if (code != ERR_OK)
        return code;
    code = job->code;
    if (code != ERR_OK && err != NULL)
        *err = job->err;
    if (code == ERR_OK && want == NULL) {
        *is = job->value;
        roce_tos_seen(at->root, at->device, at->port);
    }
    free(job);
    return code;
}
