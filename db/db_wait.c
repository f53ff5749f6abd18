/*
 * db/db_wait.c - the blocking forms, for start-up and tests.
 */
#include "db/store.h"

#include <assert.h>

#include "db/db.h"

struct waiting {
    union {
        db_write_fn *write;
        db_read_fn *read;
    };
    void *arg;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool is_done;
    enum err_code code;
    struct err err;
};

static enum err_code write_for_waiter(struct db_tx *tx, void *arg, struct err *err)
{
    struct waiting *waiting = arg;
    return waiting->write(tx, waiting->arg, err);
}

static enum err_code read_for_waiter(struct db_ro *ro, void *arg, struct err *err)
{
    struct waiting *waiting = arg;
    return waiting->read(ro, waiting->arg, err);
}

static void wake(void *arg, enum err_code code, const struct err *err)
{
    struct waiting *waiting = arg;
    pthread_mutex_lock(&waiting->lock);
    waiting->code = code;
    waiting->err = *err;
    waiting->is_done = true;
    pthread_cond_signal(&waiting->changed);
    pthread_mutex_unlock(&waiting->lock);
}

static enum err_code wait_for(struct waiting *waiting, enum err_code code, struct err *err)
{
    if (code == ERR_OK) {
        pthread_mutex_lock(&waiting->lock);
        while (!waiting->is_done)
            pthread_cond_wait(&waiting->changed, &waiting->lock);
        pthread_mutex_unlock(&waiting->lock);
        code = waiting->code;
        if (code != ERR_OK && err != NULL)
            *err = waiting->err;
    }
    pthread_cond_destroy(&waiting->changed);
    pthread_mutex_destroy(&waiting->lock);
    return code;
}

enum err_code db_write_wait(struct db *db, db_write_fn *fn, void *arg, struct err *err)
{
    assert(!pthread_equal(pthread_self(), db->writer_thread));
    struct waiting waiting = {
        .write = fn,
        .arg = arg,
        .lock = PTHREAD_MUTEX_INITIALIZER,
        .changed = PTHREAD_COND_INITIALIZER,
    };
    enum err_code code = db_write(db, write_for_waiter, wake, &waiting, err);
    return wait_for(&waiting, code, err);
}

enum err_code db_read_wait(struct db *db, db_read_fn *fn, void *arg, struct err *err)
{
    struct waiting waiting = {
        .read = fn,
        .arg = arg,
        .lock = PTHREAD_MUTEX_INITIALIZER,
        .changed = PTHREAD_COND_INITIALIZER,
    };
    enum err_code code = db_read(db, read_for_waiter, wake, &waiting, err);
    return wait_for(&waiting, code, err);
}
