/*
 * db/series_recover.c - at the start: the nodes' numbers, and the picture as it was when the server
 * stopped, also by kill -9. What roll-ups say is summed up already is not summed up again.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "db/series_private.h"

#define NAMES_FILE   "nodes"
#define NAMES_MAX    (SERIES_NODES_MAX * NAME_SIZE)
#define S_US         INT64_C(1000000)
#define BEFORE_US    (75 * S_US) /* earlier batches that tell what counters stood at */
#define MINUTE_FILES 2           /* the open hour is in one of them */
#define HOUR_FILES   2

/* Names: a line each, its number is the node's; an empty one has no node ---------------------- */

static enum err_code take_names(struct series *series, char *text, size_t *out_whole,
                                struct err *err)
{
    enum err_code code = ERR_OK;
    char *line = text;
    for (char *end; code == ERR_OK && (end = strchr(line, '\n')) != NULL; line = end + 1) {
        uint32_t number;
        *end = '\0';
        if (line == end) {
            code = series_picture_skip(&series->picture, err);
            series->names_stored++;
            continue;
        }
        if (!name_is_valid(line))
            return err_set(err, ERR_INVALID,
                           "%s/" NAMES_FILE " is damaged: line %u is no name of a node; move the "
                           "folder away to begin anew",
                           series->dir, series->names_stored + 1);
        code = series_picture_node(&series->picture, line, &number, err);
        if (code == ERR_OK && number != series->names_stored)
            return err_set(err, ERR_INVALID, "%s/" NAMES_FILE " names a node twice: %s",
                           series->dir, line);
        series->names_stored++;
    }
    *out_whole = (size_t)(line - text);
    return code;
}

/* A name in no file any more is nobody's: its number is free. While any file cannot be read whole,
 * all stay. */
static enum err_code forget_names(struct series *series, struct err *err)
{
    struct series_texts *texts = &series->picture.node_names;
    OWN(mem) void *memory = calloc(texts->count + 1, 1);
    uint8_t *used = memory;
    if (used == NULL)
        return err_nomem(err);
    bool whole = texts->count > texts->max / 2;
    for (int i = 0; whole && i < SERIES_TIER_COUNT; i++)
        whole = frame_mark_nodes(series->dir, (enum series_tier)i, used, texts->count);
    if (!whole)
        memset(used, 1, texts->count);
    series_texts_forget(texts, used);
    return ERR_OK;
}

static enum err_code open_names(struct series *series, const char *path, struct err *err)
{
    series->names_fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    return series->names_fd < 0 ? err_set_errno(err, ERR_IO, errno, "cannot open %s", path)
                                : ERR_OK;
}

enum err_code series_names_load(struct series *series, struct err *err)
{
    char path[FRAME_PATH_MAX];
    OWN(str) char *text = NULL;
    size_t len = 0, whole = 0;
    snprintf(path, sizeof(path), "%s/" NAMES_FILE, series->dir);
    enum err_code code = file_read(path, NAMES_MAX, &text, &len, err);
    if (code == ERR_NOT_FOUND)
        code = ERR_OK;
    else if (code == ERR_OK)
        code = take_names(series, text, &whole, err);
    if (code == ERR_OK)
        code = forget_names(series, err);
    if (code == ERR_OK)
        code = open_names(series, path, err);
    /* A line that was torn has no frame that uses it. */
    if (code == ERR_OK && ftruncate(series->names_fd, (off_t)whole) != 0)
        code = err_set_errno(err, ERR_IO, errno, "cannot cut %s", path);
    return code;
}

/* A number has another name now: on disk before any frame that uses it. */
static enum err_code rewrite_names(struct series *series, struct err *err)
{
    struct series_texts *texts = &series->picture.node_names;
    char path[FRAME_PATH_MAX], *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);
    if (out == NULL)
        return err_nomem(err);
    for (uint32_t i = 0; i < texts->count; i++)
        fprintf(out, "%s\n", texts->items[i] == NULL ? "" : texts->items[i]);
    bool good = ferror(out) == 0;
    good = fclose(out) == 0 && good;
    snprintf(path, sizeof(path), "%s/" NAMES_FILE, series->dir);
    enum err_code code = good ? file_write_atomic(path, text, len, 0600, err) : err_nomem(err);
    free(text);
    if (code == ERR_OK)
        code = file_sync_folder_of(path, err);
    if (code != ERR_OK)
        return code;
    close(series->names_fd);
    code = open_names(series, path, err);
    if (code == ERR_OK) {
        texts->renamed = false;
        series->names_stored = texts->count;
    }
    return code;
}

enum err_code series_names_store(struct series *series, struct err *err)
{
    if (series->picture.node_names.renamed)
        return rewrite_names(series, err);
    for (; series->names_stored < series->picture.node_names.count; series->names_stored++) {
        char line[NAME_SIZE + 1];
        int len = snprintf(line, sizeof(line), "%s\n",
                           series->picture.node_names.items[series->names_stored]);
        off_t end = lseek(series->names_fd, 0, SEEK_END);
        ssize_t n = write(series->names_fd, line, (size_t)len);
        if (n == len)
            continue;
        int why = n < 0 ? errno : ENOSPC;
        if (end < 0 || ftruncate(series->names_fd, end) != 0)
            why = EIO;
        return err_set_errno(err, ERR_IO, why, "cannot write %s/" NAMES_FILE, series->dir);
    }
    return ERR_OK;
}

/* Frames --------------------------------------------------------------------------------------- */

struct pass {
    struct series *series;
    enum series_tier tier;
    /* Whether the entry is needed, by its end alone. */
    bool (*wants)(const struct series_node *node, int64_t last_us);
    enum err_code (*take)(struct series *series, uint32_t node, struct err *err); /* .batch */
};

static int64_t entry_end(const struct frame_reader *reader, const struct frame_entry *entry)
{
    return reader->first_us + ((int64_t)entry->first_ms + entry->span_ms) * 1000;
}

static bool wants_entry(const struct pass *pass, const struct frame_reader *reader, size_t i)
{
    const struct frame_entry *entry = &reader->entries[i];
    return entry->node < pass->series->picture.node_names.count &&
           pass->wants(&pass->series->picture.nodes[entry->node], entry_end(reader, entry));
}

static enum err_code take_frame(const struct pass *pass, struct frame_reader *reader,
                                struct err *err)
{
    struct series *series = pass->series;
    size_t at = 0;
    bool any = false;
    enum err_code code = ERR_OK;
    for (size_t i = 0; i < reader->entry_count && !any; i++)
        any = wants_entry(pass, reader, i);
    if (!any || !frame_load(reader))
        return ERR_OK;
    for (size_t i = 0; code == ERR_OK && i < reader->entry_count; i++) {
        if (wants_entry(pass, reader, i) &&
            telemetry_decode(reader->data + at, reader->entries[i].len, &series->batch, NULL) ==
                ERR_OK)
            code = pass->take(series, reader->entries[i].node, err);
        at += reader->entries[i].len;
    }
    return code;
}

static enum err_code run(const struct pass *pass, int64_t first, int64_t last, struct err *err)
{
    enum err_code code = ERR_OK;
    for (int64_t period = first; code == ERR_OK && period <= last; period++) {
        struct frame_reader reader;
        code = frame_open(pass->series->dir, pass->tier, period, &reader, err);
        if (code == ERR_NOT_FOUND) {
            code = ERR_OK;
            continue;
        }
        if (code != ERR_OK)
            return code;
        while (code == ERR_OK && frame_next(&reader))
            code = take_frame(pass, &reader, err);
        frame_reader_release(&reader);
    }
    return code;
}

static bool wants_hour(const struct series_node *node, int64_t last_us)
{
    return last_us > node->hour_from_us;
}

static enum err_code take_hour(struct series *series, uint32_t node, struct err *err)
{
    (void)err;
    int64_t covered_us = (int64_t)series->batch.stream;
    if (covered_us > series->picture.nodes[node].hour_from_us)
        series->picture.nodes[node].hour_from_us = covered_us;
    return ERR_OK;
}

static bool wants_minute(const struct series_node *node, int64_t last_us)
{
    return last_us > node->hour_from_us || last_us > node->minute_from_us;
}

static enum err_code take_minute(struct series *series, uint32_t node, struct err *err)
{
    struct series_node *to = &series->picture.nodes[node];
    int64_t covered_us = (int64_t)series->batch.stream;
    if (covered_us > to->minute_from_us)
        to->minute_from_us = covered_us;
    return covered_us > to->hour_from_us
               ? series_fold_minute(&series->roller, node, &series->batch, err)
               : ERR_OK;
}

static bool wants_raw(const struct series_node *node, int64_t last_us)
{
    return last_us >= node->minute_from_us - BEFORE_US;
}

static enum err_code take_raw(struct series *series, uint32_t node, struct err *err)
{
    return series_fold(&series->roller, node, &series->batch, err);
}

enum err_code series_recover(struct series *series, struct err *err)
{
    int64_t now_us = series->clock->wall_us(series->clock);
    int64_t hour = frame_period(SERIES_HOUR, now_us), day = frame_period(SERIES_MINUTE, now_us);
    const struct pass hours = {series, SERIES_HOUR, wants_hour, take_hour};
    const struct pass minutes = {series, SERIES_MINUTE, wants_minute, take_minute};
    const struct pass raw = {series, SERIES_RAW, wants_raw, take_raw};
    enum err_code code = run(&hours, hour - HOUR_FILES + 1, hour, err);
    if (code == ERR_OK)
        code = run(&minutes, day - MINUTE_FILES + 1, day, err);
    /* What raw batches tell comes after what minutes said of the same time. */
    for (uint32_t i = 0; i < series->picture.node_names.count; i++)
        series->picture.nodes[i].last_us = 0;
    if (code == ERR_OK)
        code = run(&raw, frame_period(SERIES_RAW, now_us - series->keep_us[SERIES_RAW]),
                   frame_period(SERIES_RAW, now_us + SERIES_AHEAD_US), err);
    for (uint32_t i = 0; i < series->picture.node_names.count; i++) {
        struct series_node *node = &series->picture.nodes[i];
        node->staged_stream = node->stream;
        node->staged_seq = node->seq;
        node->staged_us = node->last_us;
        node->heard_us = now_us;
    }
    return code;
}
