/*
 * agent/flash_fetch.c - see flash_fetch.h. Runs on the worker's thread.
 */
#include "agent/flash_fetch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/http_exchange.h"
#include "base/sha256.h"

#define READ_BYTES (64 * 1024)

struct taking {
    const struct flash_fetch *fetch;
    int fd;
    int64_t have; /* bytes of the file */
    bool too_big;
    int error; /* errno of a write */
};

enum err_code flash_image_path(const char *folder, const struct flash_image *image,
                               char out[KEEP_PATH_MAX], struct err *err)
{
    char name[NAME_SIZE + 8];
    snprintf(name, sizeof(name), "%s.bin", image->id);
    return keep_path(folder, name, out, err);
}

static enum err_code part_path(const struct flash_fetch *fetch, char out[KEEP_PATH_MAX],
                               struct err *err)
{
    char name[NAME_SIZE + 8];
    snprintf(name, sizeof(name), "%s.part", fetch->image->id);
    return keep_path(fetch->folder, name, out, err);
}

enum err_code flash_image_check(const char *path, const struct flash_image *image, struct err *err)
{
    OWN(sha256) struct sha256 *hash = sha256_new();
    OWN(mem) void *buffer = malloc(READ_BYTES);
    char hex[SHA256_HEX_SIZE];
    if (hash == NULL || buffer == NULL)
        return err_nomem(err);
    int fd;
    enum err_code code = file_open_regular(path, &fd, err);
    if (code != ERR_OK)
        return code;
    ssize_t n;
    while ((n = read(fd, buffer, READ_BYTES)) > 0)
        sha256_add(hash, buffer, (size_t)n);
    int error = errno;
    close(fd);
    if (n < 0)
        return err_set_errno(err, ERR_IO, error, "cannot read %s", path);
    sha256_end(hash, hex);
    if (strcmp(hex, image->sha256) != 0)
        return err_set(err, ERR_INVALID, "image %s has the SHA-256 %.16s..., wanted is %.16s...",
                       image->id, hex, image->sha256);
    return ERR_OK;
}

/* Asked for the rest and given the whole: from the start again. */
static void on_began(void *arg, long status)
{
    struct taking *taking = arg;
    if (status == 206 || taking->have == 0)
        return;
    if (ftruncate(taking->fd, 0) != 0 || lseek(taking->fd, 0, SEEK_SET) != 0)
        taking->error = errno;
    taking->have = 0;
}

static bool on_part(void *arg, const char *data, size_t len)
{
    struct taking *taking = arg;
    const struct flash_fetch *fetch = taking->fetch;
    if (taking->error != 0 || atomic_load(fetch->stop))
        return false;
    taking->too_big = (int64_t)len > fetch->image->size_bytes - taking->have;
    while (!taking->too_big && len > 0) {
        ssize_t n = write(taking->fd, data, len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            taking->error = errno;
            return false;
        }
        taking->have += n;
        data += n;
        len -= (size_t)n;
    }
    atomic_store(fetch->have_bytes, taking->have);
    return !taking->too_big;
}

static enum err_code judge_status(const struct flash_image *image, long status, struct err *err)
{
    if (status >= 200 && status <= 299)
        return ERR_OK;
    if (status == 404 || status == 410)
        return err_set(err, ERR_NOT_FOUND, "the server has no image %s", image->id);
    if (status == 401 || status == 403)
        return err_set(err, ERR_DENIED, "the server does not give image %s to this node (%ld)",
                       image->id, status);
    return err_set(err, ERR_UNAVAILABLE, "the server answers %ld when asked for image %s", status,
                   image->id);
}

/* Why what came is not whole; ERR_OK: as many bytes as wanted are on disk. */
static enum err_code judge_bytes(const struct taking *taking, struct err *err)
{
    const struct flash_image *image = taking->fetch->image;
    if (atomic_load(taking->fetch->stop))
        return err_set(err, ERR_CONFLICT, "stopped");
    if (taking->error == ENOSPC || taking->error == EDQUOT)
        return err_set_errno(err, ERR_LIMIT, taking->error, "image %s does not fit on the disk",
                             image->id);
    if (taking->error != 0)
        return err_set_errno(err, ERR_IO, taking->error, "cannot write image %s", image->id);
    if (taking->too_big)
        return err_set(err, ERR_INVALID, "image %s has more than the %" PRId64 " bytes it should",
                       image->id, image->size_bytes);
    if (taking->have < image->size_bytes)
        return err_set(err, ERR_UNAVAILABLE,
                       "image %s broke off after %" PRId64 " of %" PRId64 " bytes", image->id,
                       taking->have, image->size_bytes);
    return ERR_OK;
}

/* A file of the way to the server is away, or is not one: the image can be had when it is back. */
static bool is_of_the_way(enum err_code code)
{
    return code == ERR_NOT_FOUND || code == ERR_DENIED || code == ERR_INVALID || code == ERR_IO;
}

static enum err_code ask(struct taking *taking, struct err *err)
{
    const struct link_image *from = taking->fetch->from;
    char range[64];
    snprintf(range, sizeof(range), "Range: bytes=%" PRId64 "-", taking->have);
    const struct http_exchange exchange = {
        .request = {.method = "GET",
                    .url = from->url,
                    .bearer = from->token,
                    .headers = {taking->have > 0 ? range : NULL},
                    .ca_file = from->ca_file,
                    .cert_file = from->identity,
                    .key_file = from->identity},
        .sink = on_part,
        .began = on_began,
        .sink_arg = taking,
        .idle_ns = FLASH_FETCH_IDLE_S * NS_PER_S,
        .slow_bytes = FLASH_FETCH_SLOW_BYTES,
    };
    struct http_answer answer = {0};
    enum err_code code = http_exchange(&exchange, &answer, err);
    if (is_of_the_way(code))
        code = err->code = ERR_UNAVAILABLE;
    long status = answer.status;
    http_answer_release(&answer);
    if (code == ERR_OK && status == 416) { /* what is there is not of this image */
        taking->have = 0;
        if (ftruncate(taking->fd, 0) != 0)
            return err_set_errno(err, ERR_IO, errno, "cannot shorten an image's file");
    }
    return code == ERR_OK ? judge_status(taking->fetch->image, status, err) : code;
}

static enum err_code has_room(const struct flash_fetch *fetch, int64_t have, struct err *err)
{
    struct statvfs disk;
    if (statvfs(fetch->folder, &disk) != 0)
        return err_set_errno(err, ERR_IO, errno, "cannot look at %s", fetch->folder);
    int64_t room = (int64_t)disk.f_bavail * (int64_t)disk.f_frsize;
    int64_t wanted = fetch->image->size_bytes - have + FLASH_RESERVE_BYTES;
    if (room < wanted)
        return err_set(err, ERR_LIMIT,
                       "image %s needs %" PRId64 " MB in %s, which has %" PRId64 " MB left",
                       fetch->image->id, wanted / 1000000, fetch->folder, room / 1000000);
    return ERR_OK;
}

static enum err_code take_all(struct taking *taking, struct err *err)
{
    const struct flash_fetch *fetch = taking->fetch;
    off_t at = lseek(taking->fd, 0, SEEK_END);
    if (at > fetch->image->size_bytes && ftruncate(taking->fd, 0) == 0)
        at = lseek(taking->fd, 0, SEEK_SET);
    taking->have = at < 0 ? 0 : at;
    enum err_code code = has_room(fetch, taking->have, err);
    if (code == ERR_OK && taking->have < fetch->image->size_bytes)
        code = ask(taking, err);
    if (code == ERR_OK || code == ERR_UNAVAILABLE) {
        struct err why = ERR_INIT;
        enum err_code bytes = judge_bytes(taking, &why);
        if (bytes != ERR_OK && (code == ERR_OK || bytes != ERR_UNAVAILABLE)) {
            *err = why;
            code = bytes;
        }
    }
    if (code == ERR_OK && fsync(taking->fd) != 0)
        code = err_set_errno(err, ERR_IO, errno, "cannot write image %s", fetch->image->id);
    return code;
}

static enum err_code fetch_once(const struct flash_fetch *fetch, bool *out_resumed, struct err *err)
{
    char part[KEEP_PATH_MAX], whole[KEEP_PATH_MAX];
    if (part_path(fetch, part, err) || flash_image_path(fetch->folder, fetch->image, whole, err))
        return err->code;
    struct taking taking = {.fetch = fetch};
    taking.fd = open(part, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (taking.fd < 0)
        return err_set_errno(err, ERR_IO, errno, "cannot open %s", part);
    struct stat st;
    bool regular = fstat(taking.fd, &st) == 0 && S_ISREG(st.st_mode);
    *out_resumed = !regular || st.st_size > 0;
    enum err_code code =
        regular ? take_all(&taking, err) : err_set(err, ERR_INVALID, "%s is no regular file", part);
    close(taking.fd);
    if (code == ERR_OK)
        code = flash_image_check(part, fetch->image, err);
    if (code == ERR_INVALID)
        (void)unlink(part);
    if (code == ERR_OK && rename(part, whole) != 0)
        code = err_set_errno(err, ERR_IO, errno, "cannot rename %s", part);
    return code;
}

enum err_code flash_fetch(const struct flash_fetch *fetch, struct err *err)
{
    char whole[KEEP_PATH_MAX];
    struct err why = ERR_INIT;
    bool resumed = false;
    enum err_code code = file_mkdirs(fetch->folder, 0700, &why);
    if (code == ERR_OK)
        code = flash_image_path(fetch->folder, fetch->image, whole, &why);
    if (code == ERR_OK && access(whole, F_OK) == 0 &&
        flash_image_check(whole, fetch->image, NULL) == ERR_OK)
        return ERR_OK;
    if (code == ERR_OK)
        code = fetch_once(fetch, &resumed, &why);
    /* An old beginning may have been of other bytes. */
    if (code == ERR_INVALID && resumed)
        code = fetch_once(fetch, &resumed, &why);
    if (code != ERR_OK && err != NULL)
        *err = why;
    return code;
}

/* Names that this file gives: an operator may have put the folder elsewhere with a link. */
static bool is_ours(const char *name, const char **out_end)
{
    *out_end = strrchr(name, '.');
    return *out_end != NULL && *out_end != name &&
           (strcmp(*out_end, ".bin") == 0 || strcmp(*out_end, ".part") == 0);
}

void flash_folder_sweep(const char *folder, const struct flash_image *keep)
{
    DIR *dir = opendir(folder);
    if (dir == NULL)
        return;
    size_t len = keep == NULL ? 0 : strlen(keep->id);
    for (const struct dirent *entry = readdir(dir); entry != NULL; entry = readdir(dir)) {
        const char *end;
        if (!is_ours(entry->d_name, &end))
            continue;
        bool kept = keep != NULL && (size_t)(end - entry->d_name) == len &&
                    strncmp(entry->d_name, keep->id, len) == 0;
        if (!kept)
            (void)unlinkat(dirfd(dir), entry->d_name, 0);
    }
    closedir(dir);
}
