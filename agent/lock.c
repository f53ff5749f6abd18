/*
 * agent/lock.c - see lock.h. Locks of flock(2): they end with the last descriptor, whatever ends
 * the agent.
 */
#include "agent/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/keep.h"
#include "base/file.h"
#include "base/log.h"

#define RUN_FOLDER "/run/stellar"

/* Not for writing: that would keep its file system from being mounted read-only. But NFS locks for
 * itself alone (LOCK_EX) only what is open for writing. */
static int open_locked(const char *path, int how)
{
    static const int modes[] = {O_RDONLY, O_RDWR};
    int fd = -1;
    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
        fd = open(path, modes[i] | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (fd < 0 || flock(fd, how | LOCK_NB) == 0)
            return fd;
        int error = errno;
        close(fd);
        errno = error;
        if (error != EBADF)
            return -1;
    }
    return -1;
}

/* how: LOCK_EX or LOCK_SH. The descriptor stays open to the end of the process. */
static enum err_code lock_file(const char *path, int how, struct err *err)
{
    if (open_locked(path, how) >= 0)
        return ERR_OK;
    return err_set_errno(err, errno == EWOULDBLOCK ? ERR_CONFLICT : ERR_IO, errno,
                         "cannot open and lock %s", path);
}

static enum err_code say_taken(const char *state_dir, struct err *err)
{
    return err_set(err, ERR_CONFLICT,
                   "another agent runs on the state folder %s: stop that one, or give this one a "
                   "--state-dir of its own",
                   state_dir);
}

/* For who cannot make a file in it: the folder itself is locked, by everyone. File systems that
 * lock no folders, as NFS, have the file's lock alone. */
static enum err_code lock_folder(const char *path, int *out_fd, struct err *err)
{
    *out_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (*out_fd < 0)
        return err_set_errno(err, ERR_IO, errno, "cannot open %s", path);
    if (flock(*out_fd, LOCK_EX | LOCK_NB) == 0)
        return ERR_OK;
    return errno == EWOULDBLOCK ? say_taken(path, err) : ERR_OK;
}

static bool is_denied(int error)
{
    return error == EROFS || error == EACCES || error == EPERM;
}

/* No change of the node without a journal: the passes refuse it. That is no reason not to tell how
 * the node is. */
static void say_denied(const char *state_dir, int error)
{
    log_error("agent",
              "the state folder %s cannot be written (%s): nothing is changed on the node until it "
              "can, its plan included; mount it for writing, or give the agent another --state-dir",
              state_dir, strerror(error));
}

enum err_code lock_state(const char *state_dir, struct err *err)
{
    char path[KEEP_PATH_MAX];
    int dir = -1;
    struct err why = ERR_INIT;
    if (file_mkdirs(state_dir, 0700, err) || keep_path(state_dir, "lock", path, err) ||
        lock_folder(state_dir, &dir, err))
        return err->code;
    enum err_code code = lock_file(path, LOCK_EX, &why);
    if (code == ERR_CONFLICT)
        return say_taken(state_dir, err);
    int denied =
        code == ERR_OK && faccessat(dir, ".", W_OK, AT_EACCESS) != 0 ? errno : why.sys_errno;
    if (code != ERR_OK && !is_denied(denied)) {
        *err = why;
        return code;
    }
    if (is_denied(denied))
        say_denied(state_dir, denied);
    else
        keep_sweep(state_dir);
    return ERR_OK;
}

/* Open to all, whatever the umask: Solar-RDMA's pages are below it. */
static enum err_code make_run_folder(const char *path, struct err *err)
{
    struct stat st;
    if (stat(path, &st) == 0)
        return ERR_OK;
    if (file_mkdirs(path, 0755, err) != ERR_OK)
        return err->code;
    if (chmod(path, 0755) != 0)
        return err_set_errno(err, ERR_IO, errno, "cannot open %s to all", path);
    return ERR_OK;
}

/* A lock that is nobody's is ours; one that cannot be made is a line in the log. */
static enum err_code take(const char *folder, const char *name, int how, struct err *err)
{
    char path[KEEP_PATH_MAX];
    struct err why = ERR_INIT;
    enum err_code code = keep_path(folder, name, path, &why);
    if (code == ERR_OK)
        code = lock_file(path, how, &why);
    if (code == ERR_CONFLICT)
        return err_set(err, ERR_CONFLICT, "%s", path);
    if (code != ERR_OK)
        log_warning("agent", "whether another agent manages the same is unknown: %s", why.text);
    return ERR_OK;
}

static enum err_code take_device(const char *folder, const char *device, struct err *err)
{
    char name[64];
    struct err held = ERR_INIT;
    snprintf(name, sizeof(name), "agent-%.32s.lock", device);
    if (strchr(device, '/') != NULL)
        return err_set(err, ERR_INVALID, "'%.32s' is no name of an interface", device);
    if (take(folder, name, LOCK_EX, &held) == ERR_OK)
        return ERR_OK;
    return err_set(err, ERR_CONFLICT,
                   "another agent manages the interface %s and holds %.300s: two would undo each "
                   "other; stop that one, or name others in --devices",
                   device, held.text);
}

enum err_code lock_devices(const char *root, const char *const *devices, struct err *err)
{
    char folder[KEEP_PATH_MAX];
    struct err held = ERR_INIT, why = ERR_INIT;
    enum err_code code = keep_path(root == NULL ? "" : root, &RUN_FOLDER[1], folder, err);
    if (code != ERR_OK)
        return code;
    if (make_run_folder(folder, &why) != ERR_OK) {
        log_warning("agent", "whether another agent manages the same is unknown: %s", why.text);
        return ERR_OK;
    }
    if (take(folder, "agent.lock", devices == NULL ? LOCK_EX : LOCK_SH, &held) != ERR_OK)
        return err_set(
            err, ERR_CONFLICT,
            "another agent manages %s of this node and holds %.300s: two would undo each "
            "other; stop that one, or give each other --devices",
            devices == NULL ? "interfaces" : "all interfaces", held.text);
    for (; code == ERR_OK && devices != NULL && *devices != NULL; devices++)
        code = take_device(folder, *devices, err);
    return code;
}
