/*
 * agent/keep.c - see keep.h. Used by reconcile, journal and outbox; knows nothing of what the files
 * mean.
 */
#include "agent/keep.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "base/own.h"

#define KEEP_MODE 0600 /* plans name tenants */
#define ASIDE     ".corrupt-"

enum err_code keep_path(const char *state_dir, const char *name, char out[KEEP_PATH_MAX],
                        struct err *err)
{
    int n = snprintf(out, KEEP_PATH_MAX, "%s/%s", state_dir, name);
    if (n < 0 || n >= KEEP_PATH_MAX)
        return err_set(err, ERR_LIMIT, "the path of %s is longer than %d bytes", name,
                       KEEP_PATH_MAX - 1);
    return ERR_OK;
}

enum err_code keep_write(const char *state_dir, const char *name, const json_t *document,
                         struct err *err)
{
    char path[KEEP_PATH_MAX];
    if (keep_path(state_dir, name, path, err))
        return err->code;
    size_t len;
    OWN(str) char *text = json_canonical(document, &len);
    if (text == NULL)
        return err_nomem(err);
    if (len > KEEP_FILE_MAX)
        return err_set(err, ERR_LIMIT, "%s would have %zu bytes; at most %d are kept", path, len,
                       KEEP_FILE_MAX);
    return file_write_atomic(path, text, len, KEEP_MODE, err);
}

enum err_code keep_read(const char *state_dir, const char *name, json_t **out, struct err *err)
{
    char path[KEEP_PATH_MAX];
    if (keep_path(state_dir, name, path, err))
        return err->code;
    OWN(str) char *text = NULL;
    size_t len;
    enum err_code code = file_read_regular(path, KEEP_FILE_MAX, &text, &len, err);
    if (code == ERR_OK)
        code = json_parse_limit(text, len, KEEP_FILE_MAX, false, out, err);
    return code;
}

enum err_code keep_remove(const char *state_dir, const char *name, struct err *err)
{
    char path[KEEP_PATH_MAX];
    if (keep_path(state_dir, name, path, err))
        return err->code;
    if (unlink(path) != 0 && errno != ENOENT)
        return err_set_errno(err, ERR_IO, errno, "cannot remove %s", path);
    return ERR_OK;
}

enum err_code keep_remove_durable(const char *state_dir, const char *name, struct err *err)
{
    char path[KEEP_PATH_MAX];
    enum err_code code = keep_remove(state_dir, name, err);
    if (code == ERR_OK)
        code = keep_path(state_dir, name, path, err);
    return code == ERR_OK ? file_sync_folder_of(path, err) : code;
}

/* As file_write_atomic() names them: NAME.XXXXXX of a file that this folder has. */
static bool is_half(const char *name)
{
    static const char *const ends[] = {".json", ".pem", ".key", ".crt", "joined"};
    const char *dot = strrchr(name, '.');
    if (dot == NULL || strlen(dot + 1) != 6)
        return false;
    size_t len = (size_t)(dot - name);
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        size_t end = strlen(ends[i]);
        if (len >= end && strncmp(dot - end, ends[i], end) == 0)
            return true;
    }
    return false;
}

void keep_sweep(const char *state_dir)
{
    DIR *dir = opendir(state_dir);
    if (dir == NULL)
        return;
    for (const struct dirent *entry; (entry = readdir(dir)) != NULL;)
        if (is_half(entry->d_name))
            (void)unlinkat(dirfd(dir), entry->d_name, 0);
    closedir(dir);
}

/* How many of the name were set aside; *out_oldest: when the first of them was. */
static size_t count_aside(DIR *dir, const char *prefix, int64_t *out_oldest)
{
    size_t count = 0, len = strlen(prefix);
    for (const struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        if (strncmp(entry->d_name, prefix, len) != 0)
            continue;
        int64_t time_us = strtoll(entry->d_name + len, NULL, 10);
        *out_oldest = count++ == 0 || time_us < *out_oldest ? time_us : *out_oldest;
    }
    return count;
}

/* A disk that spoils each file would be filled with them. */
static void make_room_aside(const char *state_dir, const char *name)
{
    char prefix[NAME_MAX], oldest[2 * NAME_MAX];
    int64_t time_us = 0;
    DIR *dir = opendir(state_dir);
    if (dir == NULL)
        return;
    snprintf(prefix, sizeof(prefix), "%s" ASIDE, name);
    if (count_aside(dir, prefix, &time_us) >= KEEP_ASIDE_MAX) {
        snprintf(oldest, sizeof(oldest), "%s%" PRId64, prefix, time_us);
        (void)unlinkat(dirfd(dir), oldest, 0);
    }
    closedir(dir);
}

void keep_set_aside(const char *state_dir, const char *name, struct clock *clock,
                    const struct err *why)
{
    char path[KEEP_PATH_MAX], aside[KEEP_PATH_MAX + 64];
    struct err err = ERR_INIT;
    if (keep_path(state_dir, name, path, &err)) {
        log_error("agent", "%s", err.text);
        return;
    }
    make_room_aside(state_dir, name);
    snprintf(aside, sizeof(aside), "%s" ASIDE "%" PRId64, path, clock->wall_us(clock));
    if (rename(path, aside) != 0)
        err_set_errno(&err, ERR_IO, errno, "and cannot be renamed");
    log_error("agent", "%s cannot be used: %s; set aside as %s %s", path, why->text, aside,
              err.text);
}
