/*
 * server/images.c - see images.h.
 *
 *   new --> ID.part, room reserved --write..write--> finish: fsync, digest --> ID.bin, folder fsync
 *
 * A crash leaves an ID.part, which the sweep at start removes, or an ID.bin without a row. So does
 * a store that is older than the images beside it: the sweep sets such a file aside.
 */
#include "server/images.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"

#define IMAGE_PATH_MAX 4096

enum work_kind { WORK_NONE, WORK_WRITE, WORK_FINISH };

struct upload {
    struct images *images;
    char id[IMAGE_ID_SIZE];
    int fd; /* -1 = not begun, or closed */
    uint64_t size_bytes, written_bytes;
    struct sha256 *hash;
    bool kept, named; /* the file is ID.bin */
    /* The call under way; guarded by images->lock until the thread has taken it. */
    enum work_kind work;
    struct upload *next;
    const char *data;
    size_t n;
    char wanted[SHA256_HEX_SIZE];
    upload_fn *fn;
    void *arg;
};

struct images {
    char folder[IMAGE_PATH_MAX - 64];
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t filled;
    struct upload *first, *last; /* with work */
    struct removal {
        char id[IMAGE_ID_SIZE];
        bool part;
    } removals[IMAGE_REMOVALS_MAX];
    size_t removal_count;
    unsigned uploads;
    bool ends;
};

static void path_of(const struct images *images, const char *id, const char *suffix,
                    char out[IMAGE_PATH_MAX])
{
    snprintf(out, IMAGE_PATH_MAX, "%s/%s.%s", images->folder, id, suffix);
}

/* No room is the operator's to mend and no fault of the server. */
static enum err_code disk_err(struct err *err, int number, const char *what)
{
    if (number == ENOSPC || number == EDQUOT || number == EFBIG)
        return err_set(err, ERR_LIMIT,
                       "the disk of the firmware images is full; nothing was stored. Delete images "
                       "that are not needed, or give the data folder more room");
    return err_set_errno(err, ERR_IO, number, "%s", what);
}

/* The images' thread -------------------------------------------------------------------------- */

static enum err_code check_room(const struct upload *upload, struct err *err)
{
    struct statvfs disk;
    if (statvfs(upload->images->folder, &disk) != 0)
        return disk_err(err, errno, "the room for firmware images");
    uint64_t room = (uint64_t)disk.f_bavail * disk.f_frsize;
    return room < upload->size_bytes + IMAGE_RESERVE_BYTES ? disk_err(err, ENOSPC, "") : ERR_OK;
}

static enum err_code begin(struct upload *upload, struct err *err)
{
    char path[IMAGE_PATH_MAX];
    enum err_code code = check_room(upload, err);
    if (code != ERR_OK)
        return code;
    path_of(upload->images, upload->id, "part", path);
    upload->fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (upload->fd < 0)
        return disk_err(err, errno, "a file for a firmware image");
    /* Two uploads must not be promised the same room. Not every file system can. */
    if (fallocate(upload->fd, FALLOC_FL_KEEP_SIZE, 0, (off_t)upload->size_bytes) != 0 &&
        errno != EOPNOTSUPP && errno != ENOSYS)
        return disk_err(err, errno, "room for a firmware image");
    return ERR_OK;
}

static enum err_code do_write(struct upload *upload, struct err *err)
{
    const char *data = upload->data;
    size_t left = upload->n;
    enum err_code code = upload->fd < 0 ? begin(upload, err) : ERR_OK;
    sha256_add(upload->hash, data, left);
    while (code == ERR_OK && left > 0) {
        ssize_t n = write(upload->fd, data, left);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return disk_err(err, errno, "writing a firmware image");
        data += n;
        left -= (size_t)n;
        upload->written_bytes += (uint64_t)n;
    }
    return code;
}

static enum err_code do_finish(struct upload *upload, struct err *err)
{
    char part[IMAGE_PATH_MAX], path[IMAGE_PATH_MAX], got[SHA256_HEX_SIZE];
    if (upload->written_bytes != upload->size_bytes)
        return err_set(err, ERR_INVALID, "%llu bytes came, %llu were announced",
                       (unsigned long long)upload->written_bytes,
                       (unsigned long long)upload->size_bytes);
    sha256_end(upload->hash, got);
    if (strcmp(got, upload->wanted) != 0)
        return err_set(err, ERR_INVALID,
                       "the body's SHA-256 is %s, not the sha256 that was given; nothing was "
                       "stored. Send it again from a good copy",
                       got);
    path_of(upload->images, upload->id, "part", part);
    path_of(upload->images, upload->id, "bin", path);
    if (fsync(upload->fd) != 0)
        return disk_err(err, errno, "making a firmware image durable");
    if (rename(part, path) != 0)
        return disk_err(err, errno, "naming a firmware image");
    upload->named = true;
    return file_sync_folder_of(path, err);
}

static void work(struct upload *upload)
{
    struct err err = ERR_INIT;
    upload_fn *fn = upload->fn;
    void *arg = upload->arg;
    enum err_code code =
        upload->work == WORK_WRITE ? do_write(upload, &err) : do_finish(upload, &err);
    upload->work = WORK_NONE;
    fn(arg, code, &err); /* the upload may be gone after it */
}

static void unlink_file(const struct images *images, const struct removal *removal)
{
    char path[IMAGE_PATH_MAX];
    path_of(images, removal->id, removal->part ? "part" : "bin", path);
    if (unlink(path) != 0 && errno != ENOENT)
        log_warning("images", "%s cannot be removed: %s", path, strerror(errno));
}

static void *run(void *arg)
{
    struct images *images = arg;
    pthread_mutex_lock(&images->lock);
    for (;;) {
        struct upload *upload = images->first;
        if (upload != NULL) {
            images->first = upload->next;
            pthread_mutex_unlock(&images->lock);
            work(upload);
            pthread_mutex_lock(&images->lock);
        } else if (images->removal_count > 0) {
            const struct removal removal = images->removals[--images->removal_count];
            pthread_mutex_unlock(&images->lock);
            unlink_file(images, &removal);
            pthread_mutex_lock(&images->lock);
        } else if (images->ends) {
            break;
        } else {
            pthread_cond_wait(&images->filled, &images->lock);
        }
    }
    pthread_mutex_unlock(&images->lock);
    return NULL;
}

/* Any thread ---------------------------------------------------------------------------------- */

static void queue(struct upload *upload, enum work_kind kind, upload_fn *fn, void *arg)
{
    struct images *images = upload->images;
    upload->work = kind;
    upload->fn = fn;
    upload->arg = arg;
    upload->next = NULL;
    pthread_mutex_lock(&images->lock);
    if (images->first == NULL)
        images->first = upload;
    else
        images->last->next = upload;
    images->last = upload;
    pthread_cond_signal(&images->filled);
    pthread_mutex_unlock(&images->lock);
}

void upload_write(struct upload *upload, const char *data, size_t n, upload_fn *fn, void *arg)
{
    upload->data = data;
    upload->n = n;
    queue(upload, WORK_WRITE, fn, arg);
}

void upload_finish(struct upload *upload, const char *wanted, upload_fn *fn, void *arg)
{
    snprintf(upload->wanted, sizeof(upload->wanted), "%s", wanted);
    queue(upload, WORK_FINISH, fn, arg);
}

enum err_code upload_new(struct images *images, uint64_t size_bytes, struct upload **out,
                         struct err *err)
{
    unsigned char id[(IMAGE_ID_SIZE - 1) / 2];
    pthread_mutex_lock(&images->lock);
    bool busy = images->uploads == IMAGE_UPLOADS_MAX;
    images->uploads += !busy;
    pthread_mutex_unlock(&images->lock);
    if (busy)
        return err_set(err, ERR_UNAVAILABLE, "%d uploads are under way; try again soon",
                       IMAGE_UPLOADS_MAX);
    struct upload *upload = calloc(1, sizeof(*upload));
    struct sha256 *hash = sha256_new();
    if (upload == NULL || hash == NULL) {
        free(upload);
        sha256_free(hash);
        pthread_mutex_lock(&images->lock);
        images->uploads--;
        pthread_mutex_unlock(&images->lock);
        return err_nomem(err);
    }
    *upload = (struct upload){.images = images, .fd = -1, .size_bytes = size_bytes, .hash = hash};
    random_bytes(id, sizeof(id));
    hex_encode(id, sizeof(id), upload->id);
    *out = upload;
    return ERR_OK;
}

static void remove_soon(struct images *images, const char *id, bool part)
{
    pthread_mutex_lock(&images->lock);
    if (images->removal_count < IMAGE_REMOVALS_MAX) {
        struct removal *removal = &images->removals[images->removal_count++];
        snprintf(removal->id, sizeof(removal->id), "%s", id);
        removal->part = part;
    }
    pthread_cond_signal(&images->filled);
    pthread_mutex_unlock(&images->lock);
}

void upload_free(struct upload *upload)
{
    if (upload == NULL)
        return;
    struct images *images = upload->images;
    if (upload->fd >= 0) {
        close(upload->fd);
        if (!upload->kept)
            remove_soon(images, upload->id, !upload->named);
    }
    sha256_free(upload->hash);
    free(upload);
    pthread_mutex_lock(&images->lock);
    images->uploads--;
    pthread_mutex_unlock(&images->lock);
}

const char *upload_id(const struct upload *upload)
{
    return upload->id;
}

void upload_keep(struct upload *upload)
{
    upload->kept = true;
}

enum err_code image_open(struct images *images, const char *id, int *out_fd, uint64_t *out_size,
                         struct err *err)
{
    char path[IMAGE_PATH_MAX];
    struct stat stat;
    path_of(images, id, "bin", path);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0 && errno == ENOENT)
        return err_set(err, ERR_NOT_FOUND, "the file of image %s is lost", id);
    if (fd < 0)
        return err_set_errno(err, ERR_IO, errno, "%s", path);
    if (fstat(fd, &stat) != 0) {
        close(fd);
        return err_set_errno(err, ERR_IO, errno, "%s", path);
    }
    *out_fd = fd;
    *out_size = (uint64_t)stat.st_size;
    return ERR_OK;
}

void image_remove(struct images *images, const char *id)
{
    remove_soon(images, id, false);
}

/* The sweep ----------------------------------------------------------------------------------- */

struct sweep {
    bool (*is_known)(void *arg, const char *id);
    void *arg;
    int folder, aside; /* aside -1 = there is none */
    size_t set_aside;
};

/* "0123456789abcdef.bin" -> its id and what is behind it; false = somebody else's. */
static bool name_split(const char *name, char id[IMAGE_ID_SIZE], const char **out_suffix)
{
    size_t hex = strspn(name, "0123456789abcdef");
    if (hex != IMAGE_ID_SIZE - 1)
        return false;
    memcpy(id, name, hex);
    id[hex] = '\0';
    *out_suffix = name + hex;
    return true;
}

static void bring_back(struct sweep *sweep, const char *name)
{
    char id[IMAGE_ID_SIZE];
    const char *suffix;
    if (!name_split(name, id, &suffix) || strcmp(suffix, ".bin") != 0 ||
        !sweep->is_known(sweep->arg, id))
        return;
    /* One that is there already stays: it may be the better one. */
    if (faccessat(sweep->folder, name, F_OK, 0) == 0)
        return;
    if (renameat(sweep->aside, name, sweep->folder, name) != 0)
        log_warning("images", "%s cannot be brought back: %s", name, strerror(errno));
    else
        log_info("images", "%s was set aside and is an image of the store again", name);
}

static void sweep_one(struct sweep *sweep, const char *name)
{
    char id[IMAGE_ID_SIZE];
    const char *suffix;
    if (!name_split(name, id, &suffix))
        return;
    if (strcmp(suffix, ".part") == 0) {
        log_info("images", "removing %s: an upload that did not end", name);
        if (unlinkat(sweep->folder, name, 0) != 0)
            log_warning("images", "%s cannot be removed: %s", name, strerror(errno));
    } else if (strcmp(suffix, ".bin") == 0 && !sweep->is_known(sweep->arg, id)) {
        if (renameat(sweep->folder, name, sweep->aside, name) != 0)
            log_warning("images", "%s is no image of the store and stays: %s", name,
                        strerror(errno));
        else
            sweep->set_aside++;
    }
}

static void sweep_folder(struct sweep *sweep, int folder, void (*fn)(struct sweep *, const char *))
{
    int own = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *list = own < 0 ? NULL : fdopendir(own);
    if (list == NULL) {
        if (own >= 0)
            close(own);
        return;
    }
    for (const struct dirent *entry; (entry = readdir(list)) != NULL;)
        fn(sweep, entry->d_name);
    closedir(list);
}

void images_sweep(struct images *images, bool (*is_known)(void *arg, const char *id), void *arg)
{
    static const int flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
    struct sweep sweep = {.is_known = is_known, .arg = arg, .aside = -1};
    sweep.folder = open(images->folder, flags);
    if (sweep.folder < 0)
        return;
    if (mkdirat(sweep.folder, IMAGES_ASIDE, 0700) == 0 || errno == EEXIST)
        sweep.aside = openat(sweep.folder, IMAGES_ASIDE, flags | O_NOFOLLOW);
    if (sweep.aside >= 0)
        sweep_folder(&sweep, sweep.aside, bring_back);
    sweep_folder(&sweep, sweep.folder, sweep_one);
    if (sweep.set_aside > 0)
        log_warning("images",
                    "%zu files are no images of the store: they are in images/" IMAGES_ASIDE
                    " and come back when the store knows them; delete them when it never will",
                    sweep.set_aside);
    if (sweep.aside >= 0)
        close(sweep.aside);
    unlinkat(sweep.folder, IMAGES_ASIDE, AT_REMOVEDIR); /* only when it is empty */
    close(sweep.folder);
}

enum err_code images_new(const char *data_dir, struct images **out, struct err *err)
{
    struct images *images = calloc(1, sizeof(*images));
    if (images == NULL)
        return err_nomem(err);
    snprintf(images->folder, sizeof(images->folder), "%s/images", data_dir);
    pthread_mutex_init(&images->lock, NULL);
    pthread_cond_init(&images->filled, NULL);
    enum err_code code = file_mkdirs(images->folder, 0700, err);
    int failed = code == ERR_OK ? pthread_create(&images->thread, NULL, run, images) : 0;
    if (failed != 0)
        code = err_set_errno(err, ERR_IO, failed, "a thread for firmware images");
    if (code != ERR_OK) {
        pthread_cond_destroy(&images->filled);
        pthread_mutex_destroy(&images->lock);
        free(images);
        return code;
    }
    *out = images;
    return ERR_OK;
}

void images_free(struct images *images)
{
    if (images == NULL)
        return;
    pthread_mutex_lock(&images->lock);
    images->ends = true;
    pthread_cond_signal(&images->filled);
    pthread_mutex_unlock(&images->lock);
    pthread_join(images->thread, NULL);
    pthread_cond_destroy(&images->filled);
    pthread_mutex_destroy(&images->lock);
    free(images);
}
