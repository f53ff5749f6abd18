/*
 * db/series_frame.c - see series_frame.h: building and writing frames, dropping old files. Reading
 * is series_reader.c.
 */
#include "db/series_frame.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <zstd.h>

#include "base/file.h"
#include "db/series_private.h"

#define LEVEL     1 /* of zstd: the columns are packed already; 3 gains 4 % for twice the time */
#define FILES_MAX 4096
#define S_US      INT64_C(1000000)

static const struct {
    const char *name;
    int64_t step_us, period_us;
} tiers[SERIES_TIER_COUNT] = {
    [SERIES_RAW] = {"raw", S_US, 3600 * S_US},
    [SERIES_MINUTE] = {"minute", 60 * S_US, 86400 * S_US},
    [SERIES_HOUR] = {"hour", 3600 * S_US, 30 * 86400 * S_US},
};

const char *series_tier_name(enum series_tier tier)
{
    return tiers[tier].name;
}

int64_t series_tier_step_us(enum series_tier tier)
{
    return tiers[tier].step_us;
}

int64_t frame_period(enum series_tier tier, int64_t time_us)
{
    return time_us / tiers[tier].period_us;
}

int64_t frame_period_us(enum series_tier tier, int64_t period)
{
    return period * tiers[tier].period_us;
}

/* A file's name is the time of its beginning in seconds since 1970. */
void frame_path(const char *dir, enum series_tier tier, int64_t period, char out[FRAME_PATH_MAX])
{
    snprintf(out, FRAME_PATH_MAX, "%s/%s/%" PRId64 ".frames", dir, tiers[tier].name,
             frame_period_us(tier, period) / S_US);
}

uint64_t frame_hash(const void *data, size_t len, uint64_t hash)
{
    const uint8_t *bytes = data; /* FNV-1a: against tearing, not against people */
    for (size_t i = 0; i < len; i++)
        hash = (hash ^ bytes[i]) * UINT64_C(1099511628211);
    return hash;
}

/* Building ------------------------------------------------------------------------------------- */

void frame_builder_release(struct frame_builder *builder)
{
    free(builder->entries);
    free(builder->starts);
    free(builder->data);
    *builder = (struct frame_builder){0};
}

bool frame_is_full(const struct frame_builder *builder, size_t more)
{
    return builder->entry_count == FRAME_ENTRY_MAX || builder->len + more > FRAME_RAW_MAX;
}

static bool make_room(struct frame_builder *builder, size_t len)
{
    if (builder->entry_count == builder->entry_room) {
        size_t room = builder->entry_room == 0 ? 64 : builder->entry_room * 2;
        struct frame_entry *entries = realloc(builder->entries, room * sizeof(*entries));
        if (entries == NULL)
            return false;
        builder->entries = entries;
        int64_t *starts = realloc(builder->starts, room * sizeof(*starts));
        if (starts == NULL)
            return false;
        builder->starts = starts;
        builder->entry_room = room;
    }
    size_t room = builder->room < 4096 ? 4096 : builder->room;
    while (room < builder->len + len)
        room *= 2;
    if (room == builder->room)
        return true;
    uint8_t *data = realloc(builder->data, room);
    if (data == NULL)
        return false;
    builder->data = data;
    builder->room = room;
    return true;
}

enum err_code frame_add(struct frame_builder *builder, uint32_t node, int64_t first_us,
                        int64_t last_us, const uint8_t *data, size_t len, struct err *err)
{
    if (!make_room(builder, len))
        return err_nomem(err);
    if (builder->entry_count == 0 || first_us < builder->first_us)
        builder->first_us = first_us;
    if (builder->entry_count == 0 || last_us > builder->last_us)
        builder->last_us = last_us;
    builder->starts[builder->entry_count] = first_us;
    builder->entries[builder->entry_count++] =
        (struct frame_entry){.node = node,
                             .len = (uint32_t)len,
                             .span_ms = (uint32_t)((last_us - first_us + 999) / 1000)};
    memcpy(builder->data + builder->len, data, len);
    builder->len += len;
    return ERR_OK;
}

/* Writing -------------------------------------------------------------------------------------- */

/* The end of what is whole: behind the last frame that a reader finds. What follows was torn by a
 * crash (an answer was never given for it), and frames behind it could not be told from it. */
static uint64_t whole_size(const struct frame_file *file, int64_t period)
{
    struct frame_reader reader;
    struct err err = ERR_INIT;
    uint64_t end = 0;
    if (frame_open(file->dir, file->tier, period, &reader, &err) != ERR_OK)
        return 0;
    while (frame_next(&reader))
        end = reader.at;
    frame_reader_release(&reader);
    return end;
}

static enum err_code open_period(struct frame_file *file, int64_t period, struct err *err)
{
    char path[FRAME_PATH_MAX];
    struct stat st;
    if (file->fd >= 0 && file->period == period)
        return ERR_OK;
    frame_close(file);
    uint64_t whole = whole_size(file, period);
    frame_path(file->dir, file->tier, period, path);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || fstat(fd, &st) != 0) {
        enum err_code code = err_set_errno(err, ERR_IO, errno, "cannot open %s", path);
        if (fd >= 0)
            close(fd);
        return code;
    }
    if ((uint64_t)st.st_size > whole) {
        if (ftruncate(fd, (off_t)whole) != 0) {
            enum err_code code = err_set_errno(err, ERR_IO, errno, "cannot cut %s", path);
            close(fd);
            return code;
        }
        file->cut += (uint64_t)st.st_size - whole;
    }
    file->fd = fd;
    file->period = period;
    file->size = whole;
    return ERR_OK;
}

static enum err_code write_all(struct frame_file *file, struct iovec *parts, size_t total,
                               struct err *err)
{
    ssize_t n = -1;
    if (file->fail)
        errno = ENOSPC;
    else
        n = pwritev(file->fd, parts, 3, (off_t)file->size);
    file->fail = false;
    if (n == (ssize_t)total) {
        file->size += total;
        return ERR_OK;
    }
    int why = n < 0 ? errno : ENOSPC; /* a write that came short: there was no more room */
    if (ftruncate(file->fd, (off_t)file->size) != 0)
        frame_close(file); /* opened again, its end is looked at */
    return err_set_errno(err, ERR_IO, why, "cannot write the telemetry in %s", file->dir);
}

enum err_code frame_write(struct frame_file *file, struct frame_builder *builder,
                          uint64_t *out_bytes, struct err *err)
{
    size_t bound = ZSTD_compressBound(builder->len);
    OWN(mem) void *packed = malloc(bound);
    ZSTD_CCtx *context = ZSTD_createCCtx();
    *out_bytes = 0;
    if (packed == NULL || context == NULL) {
        ZSTD_freeCCtx(context);
        return err_nomem(err);
    }
    ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, LEVEL);
    ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
    size_t packed_len = ZSTD_compress2(context, packed, bound, builder->data, builder->len);
    ZSTD_freeCCtx(context);
    if (ZSTD_isError(packed_len))
        return err_nomem(err);
    for (size_t i = 0; i < builder->entry_count; i++)
        builder->entries[i].first_ms = (uint32_t)((builder->starts[i] - builder->first_us) / 1000);
    struct frame_head head = {.magic = FRAME_MAGIC,
                              .entry_count = (uint32_t)builder->entry_count,
                              .raw_len = (uint32_t)builder->len,
                              .packed_len = (uint32_t)packed_len,
                              .first_us = builder->first_us,
                              .last_us = builder->last_us};
    size_t entries_len = builder->entry_count * sizeof(*builder->entries);
    head.hash = frame_hash(&head, offsetof(struct frame_head, hash), FRAME_HASH_START);
    head.hash = frame_hash(builder->entries, entries_len, head.hash);
    struct iovec parts[3] = {
        {&head, sizeof(head)}, {builder->entries, entries_len}, {packed, packed_len}};
    size_t total = sizeof(head) + entries_len + packed_len;
    enum err_code code = open_period(file, builder->period, err);
    if (code == ERR_OK)
        code = write_all(file, parts, total, err);
    if (code != ERR_OK)
        return code;
    builder->entry_count = builder->len = 0;
    *out_bytes = total;
    return ERR_OK;
}

void frame_sync(struct frame_file *file)
{
    if (file->fd >= 0 && fdatasync(file->fd) != 0)
        frame_close(file); /* what the disk lost is found when it is opened again */
}

void frame_close(struct frame_file *file)
{
    if (file->fd >= 0)
        close(file->fd);
    file->fd = -1;
}

/* Old files ------------------------------------------------------------------------------------ */

struct old_file {
    int64_t start_s, bytes;
};

static int by_start(const void *a, const void *b)
{
    const struct old_file *x = a, *y = b;
    return (x->start_s > y->start_s) - (x->start_s < y->start_s);
}

static size_t list_files(const char *dir, enum series_tier tier, struct old_file *out)
{
    char path[FRAME_PATH_MAX], end;
    size_t count = 0;
    struct stat st;
    snprintf(path, sizeof(path), "%s/%s", dir, tiers[tier].name);
    DIR *folder = opendir(path);
    if (folder == NULL)
        return 0;
    for (struct dirent *entry; count < FILES_MAX && (entry = readdir(folder)) != NULL;) {
        int64_t start_s;
        if (sscanf(entry->d_name, "%" SCNd64 ".frame%c", &start_s, &end) != 2 || end != 's')
            continue;
        if (fstatat(dirfd(folder), entry->d_name, &st, 0) == 0)
            out[count++] = (struct old_file){start_s, st.st_size};
    }
    closedir(folder);
    qsort(out, count, sizeof(*out), by_start);
    return count;
}

void frame_trim(const char *dir, enum series_tier tier, int64_t keep_from_us, int64_t bytes_max)
{
    char path[FRAME_PATH_MAX];
    OWN(mem) void *memory = calloc(FILES_MAX, sizeof(struct old_file));
    struct old_file *files = memory;
    int64_t bytes = 0;
    if (files == NULL)
        return;
    size_t count = list_files(dir, tier, files);
    for (size_t i = 0; i < count; i++)
        bytes += files[i].bytes;
    for (size_t i = 0; i < count; i++) {
        int64_t end_us = files[i].start_s * S_US + tiers[tier].period_us;
        bool last = i + 1 == count;
        if (end_us > keep_from_us && (bytes_max == 0 || bytes <= bytes_max || last))
            continue;
        frame_path(dir, tier, files[i].start_s * S_US / tiers[tier].period_us, path);
        if (unlink(path) == 0)
            bytes -= files[i].bytes;
    }
}

static bool mark_file(const char *dir, enum series_tier tier, int64_t period, uint8_t *used,
                      uint32_t node_count)
{
    struct frame_reader reader;
    enum err_code code = frame_open(dir, tier, period, &reader, NULL);
    if (code != ERR_OK)
        return code == ERR_NOT_FOUND;
    while (frame_next(&reader))
        for (size_t i = 0; i < reader.entry_count; i++)
            if (reader.entries[i].node < node_count)
                used[reader.entries[i].node] = 1;
    bool whole = !reader.damaged;
    frame_reader_release(&reader);
    return whole;
}

bool frame_mark_nodes(const char *dir, enum series_tier tier, uint8_t *used, uint32_t node_count)
{
    OWN(mem) void *memory = calloc(FILES_MAX, sizeof(struct old_file));
    struct old_file *files = memory;
    bool whole = files != NULL;
    size_t count = whole ? list_files(dir, tier, files) : 0;
    for (size_t i = 0; whole && i < count; i++)
        whole =
            mark_file(dir, tier, files[i].start_s * S_US / tiers[tier].period_us, used, node_count);
    return whole && count < FILES_MAX;
}
