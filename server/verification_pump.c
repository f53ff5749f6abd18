/*
 * server/verification_pump.c - the work of verifications between other writes, one a write: tests
 * whose time is over, and what may begin then; see verifications.h.
 */
#include "base/log.h"
#include "server/verifications.h"

static enum err_code advance(struct app *app, struct db_tx *tx, const struct verification *v,
                             struct err *err)
{
    struct verification_change change;
    verification_change_init(&change, app);
    enum err_code code = verification_copy(v, &change.copy, err);
    if (code == ERR_OK)
        code = verification_change_store(&change, tx, "", err);
    if (code == ERR_OK)
        verification_change_settle(&change);
    verification_change_release(&change);
    return code;
}

static enum err_code pump(struct db_tx *tx, void *arg, struct err *err)
{
    struct app *app = arg;
    struct world *world = app->world;
    world->verifications_due = false;
    for (size_t i = 0; i < world->verification_count; i++) {
        const struct verification *v = world->verifications[i];
        if (verification_is_due(v, app->clock->mono_ns(app->clock)))
            return advance(app, tx, v, err); /* sets verifications_due: there may be more */
    }
    return ERR_OK;
}

static void pumped(void *arg, enum err_code code, const struct err *err)
{
    struct app *app = arg;
    app->verifications_queued = false;
    if (code == ERR_OK) {
        verifications_poke(app);
        return;
    }
    app->world->verifications_due = true; /* with the next tick or commit, not at once */
    log_error("verifications", "not carried on, will be tried again: %s", err->text);
}

void verifications_look(struct app *app)
{
    struct world *world = app->world;
    int64_t now_ns = app->clock->mono_ns(app->clock);
    for (size_t i = 0; i < world->verification_count; i++)
        world->verifications_due |= verification_is_due(world->verifications[i], now_ns);
    verifications_poke(app);
}

void verifications_poke(struct app *app)
{
    struct world *world = app->world;
    if (app->ticker == NULL || !world->verifications_due || app->verifications_queued)
        return;
    app->verifications_queued = db_write(app->db, pump, pumped, app, NULL) == ERR_OK;
}
