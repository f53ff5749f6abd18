/*
 * server/backups.c - see backups.h.
 *
 *   claim -> 202 -> begin: ID.db.part --copied in slices, checked--> ID.db --sum--> ID.json
 *         -> one transaction: end of the operation, audit, event; the oldest goes when it is one
 * too many -> known.        Whatever fails in between: nothing is left.
 */
#include "server/backups.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "db/backup.h"
#include "server/api.h"
#include "server/backup_files.h"

#define REMOVALS_MAX    (2 * BACKUPS_KEPT_MAX) /* waiting for the thread */
#define COPY_SHARE      80                     /* of BACKUP_PROGRESS; the sum is the rest */
#define BACKUP_TEXT_MAX 256

struct backups {
    struct app *app;
    char folder[BACKUP_PATH_MAX - 64];
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t filled;
    struct backup kept[BACKUPS_KEPT_MAX + 1]; /* newest first */
    size_t count;
    char removals[REMOVALS_MAX][BACKUP_ID_SIZE];
    size_t removal_count;
    struct backup_wish wish;
    bool claimed, wanted; /* the place is taken; the thread is to begin */
    bool ends, stopped;
    uint64_t failed;
};

/* What is known ------------------------------------------------------------------------------- */

/* Under the lock, or before there are threads. There is room for one more than are kept. */
static void insert(struct backups *b, const struct backup *backup)
{
    size_t at = 0;
    while (at < b->count && strcmp(b->kept[at].id, backup->id) > 0)
        at++;
    if (b->count == BACKUPS_KEPT_MAX + 1)
        return;
    memmove(&b->kept[at + 1], &b->kept[at], (b->count - at) * sizeof(b->kept[0]));
    b->kept[at] = *backup;
    b->count++;
}

/* Under the lock; b->count = not there. */
static size_t find(const struct backups *b, const char *id)
{
    size_t at = 0;
    while (at < b->count && strcmp(b->kept[at].id, id) != 0)
        at++;
    return at;
}

size_t backups_list(struct backups *b, struct backup out[BACKUPS_KEPT_MAX])
{
    pthread_mutex_lock(&b->lock);
    size_t count = b->count < BACKUPS_KEPT_MAX ? b->count : BACKUPS_KEPT_MAX;
    memcpy(out, b->kept, count * sizeof(out[0]));
    pthread_mutex_unlock(&b->lock);
    return count;
}

bool backups_get(struct backups *b, const char *id, struct backup *out)
{
    pthread_mutex_lock(&b->lock);
    size_t at = find(b, id);
    bool found = at < b->count;
    if (found)
        *out = b->kept[at];
    pthread_mutex_unlock(&b->lock);
    return found;
}

uint64_t backups_failed(struct backups *b)
{
    pthread_mutex_lock(&b->lock);
    uint64_t failed = b->failed;
    pthread_mutex_unlock(&b->lock);
    return failed;
}

void backups_remove(struct backups *b, const char *id)
{
    pthread_mutex_lock(&b->lock);
    size_t at = find(b, id);
    if (at < b->count && b->removal_count < REMOVALS_MAX) {
        memcpy(b->removals[b->removal_count++], b->kept[at].id, BACKUP_ID_SIZE);
        b->count--;
        memmove(&b->kept[at], &b->kept[at + 1], (b->count - at) * sizeof(b->kept[0]));
    }
    pthread_cond_signal(&b->filled);
    pthread_mutex_unlock(&b->lock);
}

enum err_code backups_open(struct backups *b, const char *id, int *out_fd, uint64_t *out_size,
                           struct err *err)
{
    char path[BACKUP_PATH_MAX];
    struct stat stat;
    backup_path(b->folder, id, "db", path);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0 && errno == ENOENT)
        return err_set(err, ERR_NOT_FOUND, "the file of backup %s is lost", id);
    if (fd < 0)
        return err_set_errno(err, ERR_IO, errno, "%s", path);
    if (fstat(fd, &stat) != 0 || stat.st_size == 0) {
        close(fd);
        return err_set_errno(err, ERR_IO, errno, "%s", path);
    }
    *out_fd = fd;
    *out_size = (uint64_t)stat.st_size;
    return ERR_OK;
}

json_t *backup_to_json(const struct backup *backup)
{
    json_t *item = json_pack("{ss, sI, sI, sI, sI, ss, ss}", "id", backup->id, "size_bytes",
                             (json_int_t)backup->size_bytes, "schema", (json_int_t)backup->schema,
                             "generation", (json_int_t)backup->generation, "audit_rows",
                             (json_int_t)backup->audit_rows, "sha256", backup->sha256, "created_by",
                             backup->created_by);
    if (item != NULL)
        api_set_time(item, "created", backup->created_us);
    return item;
}

/* The thread ---------------------------------------------------------------------------------- */

/* Without the lock. */
static void run_removals(struct backups *b)
{
    char id[BACKUP_ID_SIZE];
    for (;;) {
        pthread_mutex_lock(&b->lock);
        bool some = b->removal_count > 0;
        if (some)
            memcpy(id, b->removals[--b->removal_count], sizeof(id));
        pthread_mutex_unlock(&b->lock);
        if (!some)
            return;
        backup_unlink(b->folder, id);
    }
}

static bool is_ending(struct backups *b)
{
    pthread_mutex_lock(&b->lock);
    bool ends = b->ends;
    pthread_mutex_unlock(&b->lock);
    return ends;
}

static bool go_on(struct backups *b, int progress)
{
    run_removals(b); /* of a DELETE, whose answer must not wait for the copy */
    return operations_progress(b->app->operations, b->wish.operation, progress) && !is_ending(b);
}

static bool go_on_copying(void *arg, int64_t done, int64_t total)
{
    return go_on(arg, total > 0 ? (int)(done * COPY_SHARE / total) : 0);
}

static bool go_on_adding(void *arg, int permyriad)
{
    return go_on(arg, COPY_SHARE + (BACKUP_PROGRESS - COPY_SHARE) * permyriad / 10000);
}

static enum err_code check_room(struct backups *b, struct err *err)
{
    struct statvfs disk;
    struct db_stats stats;
    db_stats_get(b->app->db, &stats);
    if (statvfs(b->folder, &disk) != 0)
        return err_set_errno(err, ERR_IO, errno, "the room for backups");
    int64_t room = (int64_t)(disk.f_bavail * disk.f_frsize);
    if (room >= stats.file_bytes + stats.log_bytes + BACKUPS_RESERVE_BYTES)
        return ERR_OK;
    return err_set_errno(err, ERR_IO, ENOSPC, "%lld bytes are free, and the store has %lld",
                         (long long)room, (long long)stats.file_bytes);
}

/* The second, its microseconds in hex, and noise: two of one second sort by age too. */
static void name_it(struct backups *b, struct backup *out)
{
    uint16_t noise;
    struct tm tm;
    out->created_us = b->app->clock->wall_us(b->app->clock);
    time_t s = (time_t)(out->created_us / 1000000);
    random_bytes(&noise, sizeof(noise));
    gmtime_r(&s, &tm);
    size_t len = strftime(out->id, sizeof(out->id), "%Y%m%dt%H%M%Sz-", &tm);
    snprintf(out->id + len, sizeof(out->id) - len, "%05x%03x",
             (unsigned)(out->created_us % 1000000), noise & 0xfffu);
    snprintf(out->created_by, sizeof(out->created_by), "%s", b->wish.audit_actor);
}

static enum err_code make_files(struct backups *b, struct backup *out, struct err *err)
{
    char path[BACKUP_PATH_MAX];
    struct store_figures figures;
    const struct copy_watch watch = {.go_on = go_on_copying, .arg = b};
    backup_path(b->folder, out->id, "db", path);
    enum err_code code = check_room(b, err);
    if (code == ERR_OK)
        code = db_backup(b->app->db, path, &watch, &figures, err);
    if (code != ERR_OK)
        return code;
    out->size_bytes = figures.size_bytes;
    out->schema = figures.schema;
    out->generation = figures.generation;
    out->audit_rows = figures.audit_rows;
    code = backup_sum(path, go_on_adding, b, out->sha256, err);
    return code != ERR_OK ? code : backup_describe(b->folder, out, err);
}

/* Its end in the store ------------------------------------------------------------------------ */

struct ending {
    struct backups *b;
    const struct backup *backup; /* NULL = there is none */
    const char *state, *code;    /* of the operation; of its problem when there is no backup */
    char text[BACKUP_TEXT_MAX];
    char oldest[BACKUP_ID_SIZE]; /* that goes; "" = none */
};

static enum err_code record(struct db_tx *tx, const struct ending *ending, const char *action,
                            const char *id, struct err *err)
{
    const struct backup_wish *wish = &ending->b->wish;
    char subject[BACKUP_ID_SIZE + 16], body[64], sum[SHA256_HEX_SIZE + 16];
    int64_t event;
    bool made = strcmp(action, "backup.create") == 0;
    snprintf(subject, sizeof(subject), "backup/%s", id);
    snprintf(body, sizeof(body), "{\"action\":\"%s\"}", action);
    snprintf(sum, sizeof(sum), "sha256:%s", ending->backup->sha256);
    const struct db_audit row = {.actor = wish->audit_actor,
                                 .action = action,
                                 .subject = subject,
                                 .request_id = wish->request_id,
                                 .reason = wish->reason,
                                 .before = made ? "" : "the oldest of too many",
                                 .after = made ? sum : ""};
    const struct db_event happened = {
        .kind = "backup.changed", .subject = subject, .request_id = wish->request_id, .body = body};
    enum err_code code = audit_add(tx, &row, err);
    return code != ERR_OK ? code : event_add(tx, &happened, &event, err);
}

static json_t *result_of(const struct ending *ending)
{
    if (ending->backup != NULL)
        return json_pack("{so}", "backup", backup_to_json(ending->backup));
    return json_pack("{s{ss, ss}}", "problem", "code", ending->code, "detail", ending->text);
}

static enum err_code store_ending(struct db_tx *tx, void *arg, struct err *err)
{
    struct ending *ending = arg;
    struct effects effects = {NULL, NULL};
    OWN(json) json_t *result = result_of(ending);
    OWN(str) char *text = result == NULL ? NULL : json_canonical(result, NULL);
    const struct db_operation row = {.id = ending->b->wish.operation,
                                     .state = ending->state,
                                     .done = ending->backup != NULL ? BACKUP_PROGRESS : 0,
                                     .result = text};
    enum err_code code = text == NULL ? err_nomem(err) : operation_finish(tx, &row, err);
    if (code == ERR_OK && ending->backup != NULL)
        code = record(tx, ending, "backup.create", ending->backup->id, err);
    if (code == ERR_OK && ending->oldest[0] != '\0')
        code = record(tx, ending, "backup.delete", ending->oldest, err);
    if (code == ERR_OK && ending->oldest[0] != '\0')
        code = effects_add(&effects, EFFECT_BACKUP_REMOVED, ending->oldest, err);
    effects_move(&ending->b->app->effects, &effects);
    return code;
}

static void explain(struct ending *ending, enum err_code code, const struct err *err)
{
    int number = err->sys_errno;
    bool full = number == ENOSPC || number == EDQUOT || number == EFBIG ||
                strstr(err->text, "database or disk is full") != NULL;
    ending->state = "failed";
    if (code == ERR_IO && full) {
        ending->code = "storage-full";
        snprintf(ending->text, sizeof(ending->text),
                 "the disk has no room for a copy of the store; nothing is left of it. Delete "
                 "backups that are not needed, or give the data folder more room");
    } else if (code == ERR_INVALID) {
        ending->code = "store-damaged";
        snprintf(ending->text, sizeof(ending->text),
                 "the copy was made and is not whole, so the store is damaged; the server's log "
                 "says how. Restore the newest backup that is good");
    } else {
        ending->code = "internal";
        snprintf(ending->text, sizeof(ending->text), "the server failed; its log has the reason");
    }
}

static void fail(struct ending *ending, enum err_code code, const struct err *err)
{
    struct backups *b = ending->b;
    ending->backup = NULL;
    ending->oldest[0] = '\0';
    if (is_ending(b)) {
        ending->state = "interrupted";
        ending->code = "stopping";
        snprintf(ending->text, sizeof(ending->text), "the server ended before the copy was made");
    } else if (!operations_progress(b->app->operations, b->wish.operation, 0)) {
        ending->state = "cancelled";
        ending->code = "cancelled";
        snprintf(ending->text, sizeof(ending->text), "the operation was cancelled");
    } else {
        log_error("backups", "operation=%s: %s", b->wish.operation, err->text);
        explain(ending, code, err);
        pthread_mutex_lock(&b->lock);
        b->failed++;
        pthread_mutex_unlock(&b->lock);
    }
}

static void choose_oldest(struct backups *b, char out[BACKUP_ID_SIZE])
{
    pthread_mutex_lock(&b->lock);
    if (b->count >= BACKUPS_KEPT_MAX)
        memcpy(out, b->kept[b->count - 1].id, BACKUP_ID_SIZE);
    pthread_mutex_unlock(&b->lock);
}

static void make(struct backups *b)
{
    struct backup backup = {.created_us = 0};
    struct err err = ERR_INIT;
    struct ending ending = {.b = b, .backup = &backup, .state = "succeeded"};
    name_it(b, &backup);
    enum err_code code = make_files(b, &backup, &err);
    if (code == ERR_OK && !operations_commit(b->app->operations, b->wish.operation))
        code = err_set(&err, ERR_UNAVAILABLE, "cancelled");
    if (code == ERR_OK) {
        choose_oldest(b, ending.oldest);
        code = db_write_wait(b->app->db, store_ending, &ending, &err);
    }
    if (code == ERR_OK) {
        pthread_mutex_lock(&b->lock);
        insert(b, &backup);
        pthread_mutex_unlock(&b->lock);
        log_info("backups", "made %s: %lld bytes, generation %lld", backup.id,
                 (long long)backup.size_bytes, (long long)backup.generation);
    } else {
        backup_unlink(b->folder, backup.id);
        fail(&ending, code, &err);
        code = db_write_wait(b->app->db, store_ending, &ending, &err);
        if (code != ERR_OK)
            log_error("backups", "operation=%s ended, but that is not stored: %s",
                      b->wish.operation, err.text);
    }
    operations_end(b->app->operations, b->wish.operation, code == ERR_OK);
}

static void *run(void *arg)
{
    struct backups *b = arg;
    pthread_mutex_lock(&b->lock);
    while (!b->ends) {
        if (b->removal_count > 0) {
            pthread_mutex_unlock(&b->lock);
            run_removals(b);
            pthread_mutex_lock(&b->lock);
        } else if (b->wanted) {
            b->wanted = false;
            pthread_mutex_unlock(&b->lock);
            make(b);
            pthread_mutex_lock(&b->lock);
            b->claimed = false;
        } else {
            pthread_cond_wait(&b->filled, &b->lock);
        }
    }
    pthread_mutex_unlock(&b->lock);
    return NULL;
}

/* Any thread ---------------------------------------------------------------------------------- */

bool backups_claim(struct backups *b)
{
    pthread_mutex_lock(&b->lock);
    bool free = !b->claimed && !b->ends;
    b->claimed |= free;
    pthread_mutex_unlock(&b->lock);
    return free;
}

void backups_unclaim(struct backups *b)
{
    pthread_mutex_lock(&b->lock);
    b->claimed = false;
    pthread_mutex_unlock(&b->lock);
}

void backups_begin(struct backups *b, const struct backup_wish *wish)
{
    pthread_mutex_lock(&b->lock);
    b->wish = *wish;
    b->wanted = true;
    pthread_cond_signal(&b->filled);
    pthread_mutex_unlock(&b->lock);
}

/* One too many: of a crash between a new one and the removal of the oldest. */
static void on_found(void *arg, const struct backup *backup)
{
    struct backups *b = arg;
    insert(b, backup);
    if (b->count <= BACKUPS_KEPT_MAX || b->removal_count == REMOVALS_MAX)
        return;
    b->count--;
    memcpy(b->removals[b->removal_count++], b->kept[b->count].id, BACKUP_ID_SIZE);
    log_info("backups", "removing %s: at most %d are kept", b->kept[b->count].id, BACKUPS_KEPT_MAX);
}

enum err_code backups_new(struct app *app, const char *data_dir, struct backups **out,
                          struct err *err)
{
    struct backups *b = calloc(1, sizeof(*b));
    if (b == NULL)
        return err_nomem(err);
    b->app = app;
    snprintf(b->folder, sizeof(b->folder), "%s/backups", data_dir);
    pthread_mutex_init(&b->lock, NULL);
    pthread_cond_init(&b->filled, NULL);
    enum err_code code = file_mkdirs(b->folder, 0700, err);
    if (code == ERR_OK)
        code = backup_scan(b->folder, on_found, b, err);
    int failed = code == ERR_OK ? pthread_create(&b->thread, NULL, run, b) : 0;
    if (failed != 0)
        code = err_set_errno(err, ERR_IO, failed, "a thread for backups");
    if (code != ERR_OK) {
        pthread_cond_destroy(&b->filled);
        pthread_mutex_destroy(&b->lock);
        free(b);
        return code;
    }
    *out = b;
    return ERR_OK;
}

void backups_stop(struct backups *b)
{
    if (b == NULL || b->stopped)
        return;
    pthread_mutex_lock(&b->lock);
    b->ends = true;
    pthread_cond_signal(&b->filled);
    pthread_mutex_unlock(&b->lock);
    pthread_join(b->thread, NULL);
    b->stopped = true;
}

void backups_free(struct backups *b)
{
    if (b == NULL)
        return;
    backups_stop(b);
    run_removals(b); /* what the store's last commits removed */
    pthread_cond_destroy(&b->filled);
    pthread_mutex_destroy(&b->lock);
    free(b);
}
