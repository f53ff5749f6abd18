/*
 * datapath/dp.c - the forwards of the provider contract; see dp.h.
 */
#include "datapath/dp.h"

enum err_code dp_inventory(struct dp *dp, json_t **out, struct err *err)
{
    return dp->ops->inventory(dp, out, err);
}

enum err_code dp_observe(struct dp *dp, const struct plan *plan, struct state *out, struct err *err)
{
    return dp->ops->observe(dp, plan, out, err);
}

enum err_code dp_check(struct dp *dp, const struct plan_step *step, struct err *err)
{
    return dp->ops->check(dp, step, err);
}

enum err_code dp_apply(struct dp *dp, const struct plan_step *step, struct err *err)
{
    return dp->ops->apply(dp, step, err);
}

enum err_code dp_apply_run(struct dp *dp, const struct plan_step *steps, size_t count,
                           struct dp_progress *out, struct err *err)
{
    if (dp->ops->apply_run != NULL)
        return dp->ops->apply_run(dp, steps, count, out, err);
    enum err_code code = dp_apply(dp, &steps[0], err);
    *out = (struct dp_progress){.begun = 1, .failed = code == ERR_OK ? 1 : 0};
    return code;
}

enum err_code dp_link(struct dp *dp, const char *subject, bool *out_up, struct err *err)
{
    return dp->ops->link(dp, subject, out_up, err);
}

enum err_code dp_ping(struct dp *dp, const char *subject, struct dp_peer *peers, size_t count,
                      int wait_ms, struct err *err)
{
    if (dp->ops->ping == NULL)
        return err_set(err, ERR_UNSUPPORTED, "peers cannot be asked by %s", dp->ops->name);
    return dp->ops->ping(dp, subject, peers, count, wait_ms, err);
}

int dp_event_fd(struct dp *dp)
{
    return dp->ops->event_fd(dp);
}

enum err_code dp_drain(struct dp *dp, bool *out_changed, struct err *err)
{
    return dp->ops->drain(dp, out_changed, err);
}

bool dp_inventory_stale(const struct dp *dp)
{
    return dp->ops->inventory_stale != NULL && dp->ops->inventory_stale(dp);
}

void dp_writer(struct dp *dp, const char *kind, const char *subject, char out[DP_WRITER_SIZE])
{
    out[0] = '\0';
    if (dp->ops->writer != NULL)
        dp->ops->writer(dp, kind, subject, out);
}

void dp_free(struct dp *dp)
{
    if (dp != NULL)
        dp->ops->free(dp);
}
