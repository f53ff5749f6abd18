/*
 * server/backup_files.c - see backup_files.h.
 */
#include "server/backup_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "base/log.h"

#define DESCRIPTION_MAX 4096 /* bytes of an ID.json */
#define PIECE_BYTES     (256 * 1024)

void backup_path(const char *folder, const char *id, const char *suffix, char out[BACKUP_PATH_MAX])
{
    snprintf(out, BACKUP_PATH_MAX, "%s/%s.%s", folder, id, suffix);
}

static enum err_code sum_file(int fd, struct sha256 *hash, bool (*go_on)(void *arg, int permyriad),
                              void *arg, struct err *err)
{
    struct stat stat;
    int64_t done = 0;
    OWN(str) char *piece = malloc(PIECE_BYTES);
    if (piece == NULL)
        return err_nomem(err);
    if (fstat(fd, &stat) != 0)
        return err_set_errno(err, ERR_IO, errno, "the size of the copy");
    for (;;) {
        ssize_t n = read(fd, piece, PIECE_BYTES);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return err_set_errno(err, ERR_IO, errno, "reading the copy back");
        if (n == 0)
            return ERR_OK;
        sha256_add(hash, piece, (size_t)n);
        done += n;
        if (!go_on(arg, (int)(done * 10000 / (stat.st_size > done ? stat.st_size : done))))
            return err_set(err, ERR_UNAVAILABLE, "the copy was stopped");
    }
}

enum err_code backup_sum(const char *path, bool (*go_on)(void *arg, int permyriad), void *arg,
                         char out[SHA256_HEX_SIZE], struct err *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return err_set_errno(err, ERR_IO, errno, "cannot open %s", path);
    OWN(sha256) struct sha256 *hash = sha256_new();
    enum err_code code = hash == NULL ? err_nomem(err) : sum_file(fd, hash, go_on, arg, err);
    close(fd);
    if (code == ERR_OK)
        sha256_end(hash, out);
    return code;
}

/* Description --------------------------------------------------------------------------------- */

enum err_code backup_describe(const char *folder, const struct backup *backup, struct err *err)
{
    char path[BACKUP_PATH_MAX];
    size_t len;
    OWN(json)
    json_t *value = json_pack(
        "{ss, sI, sI, sI, sI, sI, ss, ss}", "id", backup->id, "created_us",
        (json_int_t)backup->created_us, "size_bytes", (json_int_t)backup->size_bytes, "schema",
        (json_int_t)backup->schema, "generation", (json_int_t)backup->generation, "audit_rows",
        (json_int_t)backup->audit_rows, "sha256", backup->sha256, "created_by", backup->created_by);
    OWN(str) char *text = value == NULL ? NULL : json_canonical(value, &len);
    if (text == NULL)
        return err_nomem(err);
    backup_path(folder, backup->id, "json", path);
    return file_write_atomic(path, text, len, 0600, err);
}

static enum err_code read_members(const json_t *value, struct backup *out, struct err *err)
{
    struct finding_list findings;
    struct json_reader r;
    const char *id = "", *sum = "", *actor = "";
    finding_list_init(&findings);
    json_reader_init(&r, value, "", &findings);
    json_reader_string(&r, "id", true, 1, BACKUP_ID_SIZE - 1, &id);
    json_reader_int(&r, "created_us", true, 1, INT64_MAX, &out->created_us);
    json_reader_int(&r, "size_bytes", true, 1, INT64_MAX, &out->size_bytes);
    json_reader_int(&r, "schema", true, 1, INT64_MAX, &out->schema);
    json_reader_int(&r, "generation", true, 0, INT64_MAX, &out->generation);
    json_reader_int(&r, "audit_rows", true, 0, INT64_MAX, &out->audit_rows);
    json_reader_string(&r, "sha256", true, SHA256_HEX_SIZE - 1, SHA256_HEX_SIZE - 1, &sum);
    json_reader_string(&r, "created_by", true, 1, BACKUP_ACTOR_SIZE - 1, &actor);
    json_reader_end(&r);
    bool good = !finding_list_has_errors(&findings) && strcmp(id, out->id) == 0;
    finding_list_release(&findings);
    if (!good)
        return err_set(err, ERR_INVALID, "it is not what was written");
    snprintf(out->sha256, sizeof(out->sha256), "%s", sum);
    snprintf(out->created_by, sizeof(out->created_by), "%s", actor);
    return ERR_OK;
}

/* The description of the copy out->id, whose file must have the size that is said there. */
static enum err_code read_description(const char *folder, struct backup *out, struct err *err)
{
    char path[BACKUP_PATH_MAX];
    struct stat stat;
    size_t len;
    OWN(str) char *text = NULL;
    OWN(json) json_t *value = NULL;
    backup_path(folder, out->id, "json", path);
    enum err_code code = file_read(path, DESCRIPTION_MAX, &text, &len, err);
    if (code == ERR_OK)
        code = json_parse(text, len, &value, err);
    if (code == ERR_OK)
        code = read_members(value, out, err);
    if (code != ERR_OK)
        return code;
    backup_path(folder, out->id, "db", path);
    if (lstat(path, &stat) != 0 || !S_ISREG(stat.st_mode) || stat.st_size != out->size_bytes)
        return err_set(err, ERR_INVALID, "its file is not there, or has another size");
    return ERR_OK;
}

/* Folder -------------------------------------------------------------------------------------- */

void backup_unlink(const char *folder, const char *id)
{
    static const char *const suffixes[] = {"json", "db", "db.part"};
    for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
        char path[BACKUP_PATH_MAX];
        backup_path(folder, id, suffixes[i], path);
        if (unlink(path) != 0 && errno != ENOENT)
            log_warning("backups", "%s cannot be removed: %s", path, strerror(errno));
    }
}

/* "20261201t165212z-0123abcd.SUFFIX": ours; *out_suffix = what stands behind the dot. */
static bool is_ours(const char *name, char out_id[BACKUP_ID_SIZE], const char **out_suffix)
{
    static const char form[] = "ddddddddtddddddz-xxxxxxxx";
    size_t i = 0;
    for (; form[i] != '\0'; i++) {
        bool digit = name[i] >= '0' && name[i] <= '9';
        bool hex = digit || (name[i] >= 'a' && name[i] <= 'f');
        if (form[i] == 'd' ? !digit : form[i] == 'x' ? !hex : name[i] != form[i])
            return false;
    }
    if (name[i] != '.')
        return false;
    memcpy(out_id, name, i);
    out_id[i] = '\0';
    *out_suffix = name + i + 1;
    return true;
}

static bool has_description(DIR *dir, const char *id)
{
    char name[BACKUP_ID_SIZE + 8];
    snprintf(name, sizeof(name), "%s.json", id);
    return faccessat(dirfd(dir), name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* Of a copy under way (and its journal), of a description under way, or without a description. */
static bool was_cut_short(DIR *dir, const char *id, const char *suffix)
{
    if (strncmp(suffix, "db.part", 7) == 0 || strncmp(suffix, "json.", 5) == 0)
        return true;
    return strcmp(suffix, "db") == 0 && !has_description(dir, id);
}

/* A description that cannot be read is left for the operator: the copy may be good. */
static void look_at(DIR *dir, const char *folder, const char *name,
                    void (*fn)(void *arg, const struct backup *backup), void *arg)
{
    struct backup backup = {.created_us = 0};
    struct err err = ERR_INIT;
    const char *suffix;
    if (!is_ours(name, backup.id, &suffix))
        return;
    if (strcmp(suffix, "json") == 0) {
        if (read_description(folder, &backup, &err) == ERR_OK)
            fn(arg, &backup);
        else
            log_warning("backups", "%s/%s is left alone and not shown: %s", folder, name, err.text);
    } else if (was_cut_short(dir, backup.id, suffix)) {
        log_info("backups", "removing %s/%s: it was cut short", folder, name);
        if (unlinkat(dirfd(dir), name, 0) != 0)
            log_warning("backups", "%s/%s cannot be removed: %s", folder, name, strerror(errno));
    }
}

enum err_code backup_scan(const char *folder, void (*fn)(void *arg, const struct backup *backup),
                          void *arg, struct err *err)
{
    DIR *dir = opendir(folder);
    if (dir == NULL)
        return err_set_errno(err, ERR_IO, errno, "cannot read %s", folder);
    for (const struct dirent *entry; (entry = readdir(dir)) != NULL;)
        look_at(dir, folder, entry->d_name, fn, arg);
    closedir(dir);
    return ERR_OK;
}
