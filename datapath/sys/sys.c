/*
 * datapath/sys/sys.c - reading and writing attributes; see sys.h.
 */
#include "datapath/sys/sys.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/own.h"
#include "base/text.h"
#include "datapath/sys/watch.h"

static enum err_code full_path(const char *root, const char *path, char out[SYS_PATH_MAX],
                               struct err *err)
{
    int n = snprintf(out, SYS_PATH_MAX, "%s%s", root, path);
    if (n < 0 || n >= SYS_PATH_MAX)
        return err_set(err, ERR_LIMIT, "the path %.64s... is over %d bytes", path, SYS_PATH_MAX);
    return ERR_OK;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

void sys_seen(const char *root, const char *path)
{
    char full[SYS_PATH_MAX];
    if (full_path(root, path, full, NULL) == ERR_OK)
        sys_watch_seen(full);
}

enum err_code sys_read(const char *root, const char *path, char *out, size_t size, struct err *err)
{
    char full[SYS_PATH_MAX];
    OWN(str) char *text = NULL;
    size_t len;
    enum err_code code = full_path(root, path, full, err);
    if (code == ERR_OK)
        sys_watch_seen(full); /* first: a change while it is read is not lost */
    if (code == ERR_OK)
        code = file_read(full, SYS_VALUE_MAX, &text, &len, err);
    if (code != ERR_OK)
        return code;
    const char *begin = text;
    while (is_blank(*begin))
        begin++;
    len = strlen(begin);
    while (len > 0 && is_blank(begin[len - 1]))
        len--;
    if (len >= size)
        return err_set(err, ERR_LIMIT, "%s holds more than %zu bytes", path, size - 1);
    memcpy(out, begin, len);
    out[len] = '\0';
    text_clean(out, "\t\n\r");
    return ERR_OK;
}

enum err_code sys_write(const char *root, const char *path, const char *text, struct err *err)
{
    char full[SYS_PATH_MAX];
    enum err_code code = full_path(root, path, full, err);
    return code != ERR_OK ? code : file_write_attr(full, text, err);
}

bool sys_link_name(const char *root, const char *path, char *out, size_t size)
{
    char full[SYS_PATH_MAX], target[SYS_PATH_MAX];
    if (full_path(root, path, full, NULL))
        return false;
    ssize_t n = readlink(full, target, sizeof(target) - 1);
    if (n <= 0)
        return false;
    target[n] = '\0';
    const char *slash = strrchr(target, '/');
    const char *name = slash == NULL ? target : slash + 1;
    if (*name == '\0' || strlen(name) >= size)
        return false;
    memcpy(out, name, strlen(name) + 1);
    text_clean(out, "");
    return true;
}

enum err_code sys_read_head(const char *root, const char *path, char *out, size_t size,
                            size_t *out_len, struct err *err)
{
    char full[SYS_PATH_MAX];
    size_t len = 0;
    ssize_t n = 0;
    enum err_code code = full_path(root, path, full, err);
    if (code != ERR_OK)
        return code;
    int fd = open(full, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return err_set_errno(err, errno == ENOENT ? ERR_NOT_FOUND : ERR_IO, errno, "cannot open %s",
                             path);
    while (len < size - 1 &&
           ((n = read(fd, out + len, size - 1 - len)) > 0 || (n < 0 && errno == EINTR)))
        len += n > 0 ? (size_t)n : 0;
    int error = errno;
    close(fd);
    if (n < 0)
        return err_set_errno(err, ERR_IO, error, "cannot read %s", path);
    out[len] = '\0';
    *out_len = len;
    return ERR_OK;
}

void sys_list_release(struct sys_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        free(list->names[i]);
    free(list->names);
    *list = (struct sys_list){0};
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool add_name(struct sys_list *list, const char *name)
{
    if (list->count == SYS_LIST_MAX)
        return false;
    if (list->count % 64 == 0) {
        char **grown = realloc(list->names, (list->count + 64) * sizeof(*grown));
        if (grown == NULL)
            return false;
        list->names = grown;
    }
    char *copy = strdup(name);
    if (copy == NULL)
        return false;
    list->names[list->count++] = copy;
    return true;
}

void sys_list(const char *root, const char *path, struct sys_list *out)
{
    char full[SYS_PATH_MAX];
    const struct dirent *entry;
    *out = (struct sys_list){0};
    DIR *folder = full_path(root, path, full, NULL) ? NULL : opendir(full);
    if (folder == NULL)
        return;
    while (!out->truncated && (entry = readdir(folder)) != NULL)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            out->truncated = !add_name(out, entry->d_name);
    closedir(folder);
    if (out->count > 1)
        qsort(out->names, out->count, sizeof(*out->names), compare_names);
}

bool sys_exists(const char *root, const char *path)
{
    char full[SYS_PATH_MAX];
    return full_path(root, path, full, NULL) == ERR_OK && access(full, F_OK) == 0;
}

bool sys_is_writable(const char *root, const char *path)
{
    char full[SYS_PATH_MAX];
    struct stat info;
    return full_path(root, path, full, NULL) == ERR_OK && stat(full, &info) == 0 &&
           (info.st_mode & (S_IWUSR | S_IWGRP | S_IWOTH)) != 0;
}

enum err_code sys_mkdir(const char *root, const char *path, struct err *err)
{
    char full[SYS_PATH_MAX];
    enum err_code code = full_path(root, path, full, err);
    if (code != ERR_OK || mkdir(full, 0755) == 0 || errno == EEXIST)
        return code;
    code = errno == ENODEV || errno == ENOENT  ? ERR_NOT_FOUND
           : errno == EPERM || errno == EACCES ? ERR_DENIED
                                               : ERR_IO;
    return err_set_errno(err, code, errno, "cannot make %s", path);
}

bool sys_is_component(const char *name)
{
    if (name[0] == '\0' || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
        return false;
    for (const char *p = name; *p != '\0'; p++)
        if (*p <= ' ' || *p > '~' || *p == '/')
            return false;
    return true;
}

bool sys_parse_int(const char *text, int64_t *out)
{
    char *end;
    if (text[0] != '-' && (text[0] < '0' || text[0] > '9')) /* strtoll() would step over blanks */
        return false;
    errno = 0;
    long long value = strtoll(text, &end, strncmp(text, "0x", 2) == 0 ? 16 : 10);
    if (errno != 0 || *end != '\0' || end == text)
        return false;
    *out = value;
    return true;
}
