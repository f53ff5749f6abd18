/*
 * datapath/knob_roce_cc.c - roce.cc: congestion control of RoCE in the NIC, through the back-end of
 * its vendor.
 *
 * Its files ask the NIC's firmware, which may never answer: they are read and written aside, and a
 * NIC that does not come back costs a pass LINUX_FILES_MS once, and until then nothing.
 */
#include "datapath/linux.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "datapath/sys/roce_cc.h"
#include "datapath/sys/sys.h"

/* What the other thread works with: all of it its own. */
struct job {
    struct roce_cc_where where; /* points to the texts below */
    char root[SYS_PATH_MAX], driver[64], device[64], ifname[IFNAME_SIZE], rdma[RDMA_NAME_SIZE];
    const struct roce_cc_backend *backend;
    bool set;
    struct roce_cc want, is;
    enum err_code code;
    struct err err;
};

static void job_run(void *arg)
{
    struct job *job = arg;
    job->code = roce_cc_find(&job->where, &job->backend, &job->err);
    if (job->code == ERR_OK)
        job->code = job->set ? roce_cc_set(job->backend, &job->where, &job->want, &job->err)
                             : roce_cc_get(job->backend, &job->where, &job->is, &job->err);
}

static enum err_code job_new(struct dp_linux *dp, const struct dp_port *port, struct job **out,
                             struct err *err)
{
    struct linux_rdma rdma = {.device = ""};
    struct roce_cc_where where;
    /* A port without an RDMA device can still have a back-end: some are keyed by netdev or
     * function. */
    enum err_code code = linux_rdma_of(port, &rdma, err);
    if (code != ERR_OK && code != ERR_UNSUPPORTED)
        return code;
    linux_cc_where(dp, port, &rdma, &where);
    roce_cc_watch(&where);
    struct job *job = calloc(1, sizeof(*job));
    if (job == NULL)
        return err_nomem(err);
    job->err = (struct err)ERR_INIT;
    if (strlen(where.root) >= sizeof(job->root)) {
        free(job);
        return err_set(err, ERR_LIMIT, "the root folder's path is too long");
    }
    text_copy(job->root, sizeof(job->root), where.root);
    text_copy(job->driver, sizeof(job->driver), where.driver);
    text_copy(job->device, sizeof(job->device), where.device);
    text_copy(job->ifname, sizeof(job->ifname), where.ifname);
    text_copy(job->rdma, sizeof(job->rdma), where.rdma);
    job->where = (struct roce_cc_where){.root = job->root,
                                        .driver = job->driver,
                                        .device = job->device,
                                        .ifname = job->ifname,
                                        .rdma = job->rdma,
                                        .rdma_port = where.rdma_port};
    *out = job;
    return ERR_OK;
}

/* want NULL: reads. *is, *backend: what was read and from where, unless want was set. */
static enum err_code ask(struct dp_linux *dp, const struct dp_port *port,
                         const struct roce_cc *want, struct roce_cc *is,
                         const struct roce_cc_backend **backend, struct err *err)
{
    struct job *job = NULL;
    char key[ASIDE_KEY_SIZE];
    enum err_code code = job_new(dp, port, &job, err);
    if (code != ERR_OK)
        return code;
    job->set = want != NULL;
    if (want != NULL)
        job->want = *want;
    snprintf(key, sizeof(key), "congestion control of %s", port->ifname);
    const struct aside_job aside = {.run = job_run, .release = free, .arg = job};
    code = aside_run(dp->aside, key, &aside, LINUX_FILES_MS, err);
    if (code != ERR_OK)
        return code;
    code = job->code;
    if (code != ERR_OK && err != NULL)
        *err = job->err;
    if (code == ERR_OK && want == NULL) {
        *is = job->is;
        *backend = job->backend;
    }
    free(job);
    return code;
}

static enum err_code observe(struct dp_linux *dp, const struct dp_port *port, const char *id,
                             struct state *out, struct err *err)
{
    (void)id;
    struct roce_cc is;
    const struct roce_cc_backend *backend;
    enum err_code code = ask(dp, port, NULL, &is, &backend, err);
    if (code != ERR_OK)
        return code;
    return linux_observed(out, "roce.cc", port, "", roce_cc_to_json(&is), KNOB_OWNER_UNKNOWN, err);
}

static enum err_code check(struct dp_linux *dp, const struct dp_port *port,
                           const struct plan_step *step, struct err *err)
{
    struct roce_cc want, is;
    const struct roce_cc_backend *backend;
    enum err_code code = roce_cc_from_json(step->to, &want, err);
    if (code == ERR_OK)
        code = ask(dp, port, NULL, &is, &backend, err);
    return code != ERR_OK ? code : roce_cc_check(backend, &is, &want, err);
}

static enum err_code apply(struct dp_linux *dp, const struct dp_port *port,
                           const struct plan_step *step, struct err *err)
{
    struct roce_cc want;
    enum err_code code = roce_cc_from_json(step->to, &want, err);
    return code != ERR_OK ? code : ask(dp, port, &want, NULL, NULL, err);
}

/* The device has many parameters; the plan speaks of some. */
static bool same(const json_t *live, const json_t *want)
{
    struct roce_cc is, wanted;
    return roce_cc_from_json(live, &is, NULL) == ERR_OK &&
           roce_cc_from_json(want, &wanted, NULL) == ERR_OK && roce_cc_covers(&is, &wanted);
}

const struct linux_knob knob_roce_cc = {
    .kind = "roce.cc",
    .observe = observe,
    .check = check,
    .apply = apply,
    .same = same,
};
