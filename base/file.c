/*
 * base/file.c - see file.h.
 */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sodium.h>

#include "base/own.h"

#define READ_CHUNK 4096

static void fd_close(int *fd)
{
    if (*fd >= 0)
        close(*fd);
}
#define OWN_FD __attribute__((cleanup(fd_close)))

static enum err_code open_error(struct err *err, int error, const char *what, const char *path)
{
    enum err_code code = error == ENOENT                     ? ERR_NOT_FOUND
                         : error == EACCES || error == EPERM ? ERR_DENIED
                                                             : ERR_IO;
    return err_set_errno(err, code, error, "%s %s", what, path);
}

static ssize_t read_retry(int fd, void *data, size_t len)
{
    ssize_t n;
    do {
        n = read(fd, data, len);
    } while (n < 0 && errno == EINTR);
    return n;
}

/* The size that stat tells is not asked: attributes of sysfs and procfs lie about it. */
static enum err_code read_all(int fd, const char *path, size_t max, char **out, size_t *out_len,
                              struct err *err)
{
    OWN(str) char *data = NULL;
    size_t len = 0, room = 0;
    for (;;) {
        if (room - len < 2) {
            room = room == 0 ? READ_CHUNK : 2 * room;
            char *grown = realloc(data, room);
            if (grown == NULL)
                return err_nomem(err);
            data = grown;
        }
        size_t want = room - len - 1;
        if (max - len < want)
            want = max - len + 1; /* one byte more than allowed tells "too long" from "just fits" */
        ssize_t n = read_retry(fd, data + len, want);
        if (n < 0)
            return open_error(err, errno, "cannot read", path);
        if (n == 0)
            break;
        len += (size_t)n;
        if (len > max)
            return err_set(err, ERR_LIMIT, "%s is longer than %zu bytes", path, max);
    }
    data[len] = '\0';
    *out = GIVE(data);
    if (out_len != NULL)
        *out_len = len;
    return ERR_OK;
}

enum err_code file_read(const char *path, size_t max, char **out, size_t *out_len, struct err *err)
{
    OWN_FD int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0)
        return open_error(err, errno, "cannot open", path);
    return read_all(fd, path, max, out, out_len, err);
}

/* What it is is asked twice: opening a device may already do something, and it may be another one
 * by then. */
enum err_code file_open_regular(const char *path, int *out_fd, struct err *err)
{
    struct stat st;
    bool regular = stat(path, &st) != 0 || S_ISREG(st.st_mode);
    OWN_FD int fd = !regular ? -1 : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (regular && (fd < 0 || fstat(fd, &st) != 0))
        return open_error(err, errno, "cannot open", path);
    if (!regular || !S_ISREG(st.st_mode))
        return err_set(err, ERR_INVALID, "%s is no regular file", path);
    *out_fd = fd;
    fd = -1;
    return ERR_OK;
}

enum err_code file_read_regular(const char *path, size_t max, char **out, size_t *out_len,
                                struct err *err)
{
    OWN_FD int fd = -1;
    enum err_code code = file_open_regular(path, &fd, err);
    return code == ERR_OK ? read_all(fd, path, max, out, out_len, err) : code;
}

bool file_is_open_to_others(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && (st.st_mode & (S_IRWXG | S_IRWXO)) != 0;
}

static int write_all(int fd, const char *data, size_t len)
{
    while (len > 0) {
        ssize_t n = write(fd, data, len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return errno;
        data += n;
        len -= (size_t)n;
    }
    return 0;
}

static void folder_of(const char *path, char out[PATH_MAX])
{
    snprintf(out, PATH_MAX, "%s", path);
    char *slash = strrchr(out, '/');
    if (slash == NULL)
        strcpy(out, ".");
    else
        slash[slash == out ? 1 : 0] = '\0';
}

enum err_code file_sync_folder_of(const char *path, struct err *err)
{
    char folder[PATH_MAX];
    folder_of(path, folder);
    OWN_FD int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || fsync(fd) != 0)
        return open_error(err, errno, "cannot sync the folder of", path);
    return ERR_OK;
}

enum err_code file_give_to_folder(const char *path, struct err *err)
{
    char folder[PATH_MAX];
    struct stat st;
    if (geteuid() != 0)
        return ERR_OK;
    folder_of(path, folder);
    /* Who may not (a root without that right, or a container that does not know the owner) goes on
     * as it is. */
    if (stat(folder, &st) != 0 || (st.st_uid != 0 && lchown(path, st.st_uid, st.st_gid) != 0 &&
                                   errno != EINVAL && errno != EPERM))
        return open_error(err, errno, "cannot give to the owner of its folder", path);
    return ERR_OK;
}

/* Fills and syncs the temporary file; 0 or an errno. */
static int fill_file(int fd, const void *data, size_t len, mode_t mode)
{
    if (fchmod(fd, mode) != 0)
        return errno;
    int error = write_all(fd, data, len);
    if (error != 0)
        return error;
    return fsync(fd) == 0 ? 0 : errno;
}

enum err_code file_write_atomic(const char *path, const void *data, size_t len, mode_t mode,
                                struct err *err)
{
    char temporary[PATH_MAX];
    int n = snprintf(temporary, sizeof(temporary), "%s.XXXXXX", path);
    if (n < 0 || (size_t)n >= sizeof(temporary))
        return err_set_errno(err, ERR_INVALID, ENAMETOOLONG, "cannot write %.64s...", path);
    OWN_FD int fd = mkostemp(temporary, O_CLOEXEC);
    if (fd < 0)
        return open_error(err, errno, "cannot create a file beside", path);
    int error = fill_file(fd, data, len, mode);
    if (error == 0 && rename(temporary, path) != 0)
        error = errno;
    if (error != 0) {
        unlink(temporary);
        return open_error(err, error, "cannot write", path);
    }
    return file_sync_folder_of(path, err);
}

enum err_code file_write_attr(const char *path, const char *text, struct err *err)
{
    OWN_FD int fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0)
        return open_error(err, errno, "cannot open", path);
    size_t len = strlen(text);
    ssize_t n;
    do {
        n = write(fd, text, len);
    } while (n < 0 && errno == EINTR);
    if (n < 0)
        return open_error(err, errno, "cannot write", path);
    if ((size_t)n != len)
        return err_set(err, ERR_IO, "%s took %zd of %zu bytes", path, n, len);
    return ERR_OK;
}

/* An existing folder is fine, an existing file is not. */
static int make_folder(const char *path, mode_t mode)
{
    if (mkdir(path, mode) == 0)
        return 0;
    int error = errno;
    struct stat st;
    if (stat(path, &st) != 0)
        return error;
    return S_ISDIR(st.st_mode) ? 0 : ENOTDIR;
}

enum err_code file_mkdirs(const char *path, mode_t mode, struct err *err)
{
    char part[PATH_MAX];
    size_t len = strlen(path);
    if (len == 0 || len >= sizeof(part))
        return err_set_errno(err, ERR_INVALID, len == 0 ? ENOENT : ENAMETOOLONG,
                             "cannot make the folder '%.64s'", path);
    memcpy(part, path, len + 1);
    for (size_t i = 1; i <= len; i++) {
        if (part[i] != '/' && part[i] != '\0')
            continue;
        char kept = part[i];
        part[i] = '\0';
        int error = make_folder(part, mode);
        if (error != 0)
            return open_error(err, error, "cannot make the folder", part);
        part[i] = kept;
    }
    return ERR_OK;
}

static void sodium_start(void)
{
    if (sodium_init() < 0)
        abort(); /* no source of random numbers: nothing that needs secrets may go on */
}

void random_bytes(void *out, size_t n)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, sodium_start);
    randombytes_buf(out, n);
}

void hex_encode(const void *data, size_t n, char *out)
{
    static const char digits[] = "0123456789abcdef";
    const unsigned char *bytes = data;
    for (size_t i = 0; i < n; i++) {
        out[2 * i] = digits[bytes[i] >> 4];
        out[2 * i + 1] = digits[bytes[i] & 15];
    }
    out[2 * n] = '\0';
}
