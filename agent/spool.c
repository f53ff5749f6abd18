/*
 * agent/spool.c - see spool.h.
 */
#include "agent/spool.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/keep.h"
#include "base/file.h"
#include "base/log.h"
#include "fleet/telemetry.h"

#define FOLDER        "telemetry"
#define NUMBER_DIGITS 20

struct spool_file {
    uint64_t number; /* its name; growing */
    size_t len;
    int64_t times_us[2];
    char *data; /* owned; NULL = it is in its file */
};

struct spool {
    pthread_mutex_t lock;
    char dir[KEEP_PATH_MAX];
    struct spool_file files[SPOOL_FILES_MAX];
    size_t count, bytes, in_memory;
    uint64_t next;
    bool is_denied;    /* said so */
    bool first_is_out; /* spool_first() gave it */
};

static bool file_path(const struct spool *spool, uint64_t number, char out[KEEP_PATH_MAX])
{
    int n = snprintf(out, KEEP_PATH_MAX, "%s/%020" PRIu64, spool->dir, number);
    return n > 0 && n < KEEP_PATH_MAX;
}

static void remove_file(const struct spool *spool, uint64_t number)
{
    char path[KEEP_PATH_MAX];
    if (file_path(spool, number, path))
        unlink(path);
}

static void forget(struct spool *spool, size_t i)
{
    struct spool_file *file = &spool->files[i];
    if (file->data == NULL)
        remove_file(spool, file->number);
    else
        spool->in_memory--;
    free(file->data);
    spool->bytes -= file->len;
    spool->count--;
    memmove(&spool->files[i], &spool->files[i + 1], (spool->count - i) * sizeof(spool->files[0]));
}

/* What was left: the times stand in the batch itself. */
static bool read_left(const struct spool *spool, struct telemetry_batch *batch,
                      struct spool_file *file)
{
    char path[KEEP_PATH_MAX];
    OWN(str) char *data = NULL;
    if (!file_path(spool, file->number, path) ||
        file_read_regular(path, TELEMETRY_BODY_MAX, &data, &file->len, NULL) != ERR_OK ||
        telemetry_decode((const uint8_t *)data, file->len, batch, NULL) != ERR_OK ||
        batch->sample_count == 0)
        return false;
    file->times_us[0] = batch->start_us;
    file->times_us[1] = telemetry_time_us(batch, batch->sample_count - 1);
    return true;
}

static int by_number(const void *a, const void *b)
{
    const struct spool_file *x = a, *y = b;
    return (x->number > y->number) - (x->number < y->number);
}

static bool is_number(const char *name, uint64_t *out)
{
    if (strlen(name) != NUMBER_DIGITS || strspn(name, "0123456789") != NUMBER_DIGITS)
        return false;
    *out = strtoull(name, NULL, 10); /* UINT64_MAX when it is more */
    return true;
}

static void load(struct spool *spool)
{
    struct telemetry_batch batch;
    DIR *dir = opendir(spool->dir);
    telemetry_batch_init(&batch);
    for (struct dirent *entry; dir != NULL && (entry = readdir(dir)) != NULL;) {
        struct spool_file file = {.number = 0};
        if (!is_number(entry->d_name, &file.number))
            continue; /* not ours */
        if (file.number > SPOOL_NUMBER_MAX || spool->count == SPOOL_FILES_MAX ||
            !read_left(spool, &batch, &file)) {
            unlinkat(dirfd(dir), entry->d_name, 0);
            continue;
        }
        spool->bytes += file.len;
        spool->files[spool->count++] = file;
    }
    if (dir != NULL)
        closedir(dir);
    telemetry_batch_release(&batch);
    qsort(spool->files, spool->count, sizeof(spool->files[0]), by_number);
    spool->next = spool->count == 0 ? 1 : spool->files[spool->count - 1].number + 1;
}

static void say_denied(struct spool *spool, const struct err *why)
{
    if (!spool->is_denied)
        log_warning("agent", "%s: only the last %d batches of telemetry are kept, in memory",
                    why->text, SPOOL_MEMORY_MAX);
    spool->is_denied = true;
}

enum err_code spool_new(const char *state_dir, struct spool **out, struct err *err)
{
    struct spool *spool = calloc(1, sizeof(*spool));
    if (spool == NULL)
        return err_nomem(err);
    pthread_mutex_init(&spool->lock, NULL);
    struct err why = ERR_INIT;
    enum err_code code = keep_path(state_dir, FOLDER, spool->dir, err);
    if (code != ERR_OK) {
        spool_free(spool);
        return code;
    }
    if (file_mkdirs(spool->dir, 0700, &why) != ERR_OK)
        say_denied(spool, &why);
    load(spool);
    *out = spool;
    return ERR_OK;
}

void spool_free(struct spool *spool)
{
    if (spool == NULL)
        return;
    for (size_t i = 0; i < spool->count; i++)
        free(spool->files[i].data);
    pthread_mutex_destroy(&spool->lock);
    free(spool);
}

int64_t spool_last_us(struct spool *spool)
{
    pthread_mutex_lock(&spool->lock);
    int64_t last_us = spool->count == 0 ? 0 : spool->files[spool->count - 1].times_us[1];
    pthread_mutex_unlock(&spool->lock);
    return last_us;
}

/* Not durable: what a loss of power leaves half is removed at the next start. */
static enum err_code write_file(const char *path, const uint8_t *data, size_t len, struct err *err)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0 && errno == EEXIST)
        return err_set(err, ERR_CONFLICT, "something is at %s", path);
    ssize_t n = fd < 0 ? -1 : write(fd, data, len);
    int why = n < 0 ? errno : ENOSPC; /* a write that came short */
    if (fd >= 0)
        close(fd);
    if (n == (ssize_t)len)
        return ERR_OK;
    if (fd >= 0)
        unlink(path);
    return err_set_errno(err, ERR_IO, why, "cannot write %s", path);
}

/* Under the next number at which nothing is: what could not be removed at the start (a folder), or
 * somebody put there. */
static enum err_code write_next(struct spool *spool, const uint8_t *data, size_t len,
                                struct err *err)
{
    char path[KEEP_PATH_MAX];
    enum err_code code = spool->is_denied ? file_mkdirs(spool->dir, 0700, err) : ERR_OK;
    if (code != ERR_OK)
        return code;
    code = ERR_CONFLICT;
    for (int tries = 0; tries < SPOOL_FILES_MAX && code == ERR_CONFLICT; tries++) {
        spool->next += tries == 0 ? 0 : 1;
        if (!file_path(spool, spool->next, path))
            return err_set(err, ERR_LIMIT, "the state folder's path is too long");
        code = write_file(path, data, len, err);
    }
    return code;
}

static void lose(struct spool *spool, size_t i, struct spool_lost *lost)
{
    const struct spool_file *file = &spool->files[i];
    if (lost->from_us == 0)
        lost->from_us = file->times_us[0];
    lost->to_us = file->times_us[1];
    forget(spool, i);
}

/* The first one may be on its way: it would come to the server after those behind it. */
static void make_way(struct spool *spool, size_t len, struct spool_lost *lost)
{
    size_t oldest = spool->first_is_out ? 1 : 0;
    while (spool->count > oldest &&
           (spool->count == SPOOL_FILES_MAX || spool->bytes + len > SPOOL_BYTES_MAX))
        lose(spool, oldest, lost);
}

/* Those in memory stand in the list where their time is, as the others do. */
static enum err_code keep_in_memory(struct spool *spool, const uint8_t *data, size_t len,
                                    struct spool_file *out, struct spool_lost *lost,
                                    struct err *err)
{
    size_t oldest = spool->first_is_out ? 1 : 0;
    while (oldest < spool->count && spool->files[oldest].data == NULL)
        oldest++;
    if (spool->in_memory >= SPOOL_MEMORY_MAX && oldest < spool->count)
        lose(spool, oldest, lost);
    out->data = malloc(len + 1);
    if (out->data == NULL)
        return err_nomem(err);
    memcpy(out->data, data, len);
    out->data[len] = '\0';
    spool->in_memory++;
    return ERR_OK;
}

static enum err_code add(struct spool *spool, const uint8_t *data, size_t len,
                         struct spool_file *file, struct spool_lost *lost, struct err *err)
{
    struct err why = ERR_INIT;
    enum err_code code = write_next(spool, data, len, &why);
    if (code == ERR_OK) {
        spool->is_denied = false;
    } else {
        say_denied(spool, &why);
        code = keep_in_memory(spool, data, len, file, lost, err);
    }
    return code;
}

enum err_code spool_add(struct spool *spool, const uint8_t *data, size_t len,
                        const int64_t times_us[2], struct spool_lost *out_lost, struct err *err)
{
    *out_lost = (struct spool_lost){0};
    pthread_mutex_lock(&spool->lock);
    make_way(spool, len, out_lost);
    struct spool_file file = {.len = len, .times_us = {times_us[0], times_us[1]}};
    enum err_code code = add(spool, data, len, &file, out_lost, err);
    if (code == ERR_OK) {
        file.number = spool->next++;
        spool->bytes += len;
        spool->files[spool->count++] = file;
    }
    pthread_mutex_unlock(&spool->lock);
    return code;
}

static enum err_code read_first(const struct spool *spool, char **out, size_t *out_len)
{
    char path[KEEP_PATH_MAX];
    const struct spool_file *file = &spool->files[0];
    if (file->data != NULL) {
        *out = malloc(file->len + 1);
        *out_len = file->len;
        if (*out == NULL)
            return ERR_NOMEM;
        memcpy(*out, file->data, file->len + 1);
        return ERR_OK;
    }
    return file_path(spool, file->number, path)
               ? file_read_regular(path, TELEMETRY_BODY_MAX, out, out_len, NULL)
               : ERR_LIMIT;
}

bool spool_first(struct spool *spool, char **out, size_t *out_len)
{
    bool found = false;
    pthread_mutex_lock(&spool->lock);
    spool->first_is_out = false;
    while (!found && spool->count > 0) {
        enum err_code code = read_first(spool, out, out_len);
        found = code == ERR_OK;
        if (!found && code != ERR_NOT_FOUND && code != ERR_LIMIT && code != ERR_INVALID)
            break; /* for want of memory or a descriptor: it is read another time */
        if (!found)
            forget(spool, 0); /* somebody removed it, made it longer or put something else there */
    }
    spool->first_is_out = found;
    pthread_mutex_unlock(&spool->lock);
    return found;
}

void spool_drop(struct spool *spool)
{
    pthread_mutex_lock(&spool->lock);
    if (spool->first_is_out && spool->count > 0)
        forget(spool, 0);
    spool->first_is_out = false;
    pthread_mutex_unlock(&spool->lock);
}
