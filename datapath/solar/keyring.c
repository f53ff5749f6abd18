/*
 * datapath/solar/keyring.c - see keyring.h.
 */
#include "datapath/solar/keyring.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define HEAD      "stellar-keys 1\n"
#define HEX_CHARS (2 * (size_t)MAC_KEY_SIZE)

/* Text ---------------------------------------------------------------------------------------- */

static int digit_of(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool read_hex(const char *text, unsigned char out[MAC_KEY_SIZE])
{
    for (size_t i = 0; i < MAC_KEY_SIZE; i++) {
        int high = digit_of(text[2 * i]), low = digit_of(text[2 * i + 1]);
        if (high < 0 || low < 0)
            return false;
        out[i] = (unsigned char)(high << 4 | low);
    }
    return true;
}

/* "EPOCH HEX\n" at the beginning of len bytes; returns its length, 0 = it is none. */
static size_t read_line(const char *text, size_t len, struct keyring_key *out)
{
    uint64_t epoch = 0;
    size_t at = 0;
    for (; at < len && at < 19 && text[at] >= '0' && text[at] <= '9'; at++)
        epoch = epoch * 10 + (uint64_t)(text[at] - '0');
    if (epoch == 0 || text[0] == '0' || len - at < HEX_CHARS + 2 || text[at] != ' ' ||
        text[at + 1 + HEX_CHARS] != '\n' || !read_hex(text + at + 1, out->key))
        return 0;
    out->epoch = epoch;
    return at + HEX_CHARS + 2;
}

enum err_code keyring_parse(const char *text, size_t len, struct keyring *out, struct err *err)
{
    struct keyring ring = {.count = 0};
    enum err_code code = ERR_OK;
    if (len > KEYRING_TEXT_MAX)
        return err_set(err, ERR_LIMIT, "more than %d bytes of keys", KEYRING_TEXT_MAX);
    if (len < strlen(HEAD) || memcmp(text, HEAD, strlen(HEAD)) != 0)
        return err_set(err, ERR_INVALID, "no keys, or of another version");
    for (size_t at = strlen(HEAD), took; code == ERR_OK && at < len; at += took) {
        struct keyring_key key;
        took = read_line(text + at, len - at, &key);
        if (took == 0 || keyring_find(&ring, key.epoch) != NULL)
            code = err_set(err, ERR_INVALID, "line %zu is no key of an epoch of its own",
                           ring.count + 2);
        else if (ring.count == KEYRING_KEYS_MAX)
            code = err_set(err, ERR_LIMIT, "more than %d keys", KEYRING_KEYS_MAX);
        else
            ring.keys[ring.count++] = key;
        explicit_bzero(&key, sizeof(key));
    }
    if (code == ERR_OK && ring.count == 0)
        code = err_set(err, ERR_INVALID, "it holds no key");
    if (code == ERR_OK)
        *out = ring;
    explicit_bzero(&ring, sizeof(ring));
    return code;
}

size_t keyring_text(const struct keyring *ring, char out[KEYRING_TEXT_MAX])
{
    static const char digits[] = "0123456789abcdef";
    assert(ring->count > 0 && ring->count <= KEYRING_KEYS_MAX);
    size_t at = (size_t)snprintf(out, KEYRING_TEXT_MAX, HEAD);
    for (size_t i = 0; i < ring->count; i++) {
        at +=
            (size_t)snprintf(out + at, KEYRING_TEXT_MAX - at, "%" PRIu64 " ", ring->keys[i].epoch);
        for (size_t b = 0; b < MAC_KEY_SIZE; b++) {
            out[at++] = digits[ring->keys[i].key[b] >> 4];
            out[at++] = digits[ring->keys[i].key[b] & 15];
        }
        out[at++] = '\n';
    }
    return at;
}

const struct keyring_key *keyring_find(const struct keyring *ring, uint64_t epoch)
{
    for (size_t i = 0; i < ring->count; i++)
        if (ring->keys[i].epoch == epoch)
            return &ring->keys[i];
    return NULL;
}

/* Files --------------------------------------------------------------------------------------- */

/* A folder's group may go through it and write to it, and not list it: O_PATH. */
static enum err_code open_folder(const char *folder, int *out_fd, struct stat *st, struct err *err)
{
    int fd = open(folder, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 && (errno == ENOENT || errno == ENOTDIR || errno == ELOOP))
        return err_set(err, ERR_NOT_FOUND, "there is no folder %s", folder);
    if (fd < 0)
        return err_set_errno(err, errno == EACCES ? ERR_DENIED : ERR_IO, errno, "cannot open %s",
                             folder);
    if (fstat(fd, st) != 0) {
        close(fd);
        return err_set(err, ERR_IO, "cannot look at %s", folder);
    }
    *out_fd = fd;
    return ERR_OK;
}

static enum err_code open_file(int folder_fd, const char *folder, int *out_fd, struct err *err)
{
    int fd = openat(folder_fd, KEYRING_FILE, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT)
        return err_set(err, ERR_NOT_FOUND, "%s: the agent has put no key there", folder);
    if (fd < 0)
        return err_set_errno(err, errno == EACCES || errno == ELOOP ? ERR_DENIED : ERR_IO, errno,
                             "cannot open the key in %s", folder);
    *out_fd = fd;
    return ERR_OK;
}

enum err_code keyring_read(const char *folder, struct keyring *out, struct err *err)
{
    struct stat of_folder, st;
    char text[KEYRING_TEXT_MAX + 1];
    int folder_fd, fd = -1;
    enum err_code code = open_folder(folder, &folder_fd, &of_folder, err);
    if (code != ERR_OK)
        return code;
    code = open_file(folder_fd, folder, &fd, err);
    close(folder_fd);
    if (code != ERR_OK)
        return code;
    ssize_t n = 0;
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_uid != of_folder.st_uid ||
        (st.st_mode & S_IRWXO) != 0)
        code = err_set(err, ERR_DENIED,
                       "the key in %s is no file of the folder's owner that is hidden from others",
                       folder);
    else if ((n = read(fd, text, sizeof(text))) < 0)
        code = err_set_errno(err, ERR_IO, errno, "cannot read the key in %s", folder);
    else
        code = keyring_parse(text, (size_t)n, out, err);
    explicit_bzero(text, sizeof(text));
    close(fd);
    return code;
}

/* The folder's group comes with its set-group-id bit; else it is given. */
static enum err_code put_file(int folder_fd, const char *folder, const struct stat *of_folder,
                              const struct keyring *ring, struct err *err)
{
    char name[48], text[KEYRING_TEXT_MAX];
    unsigned char number[8];
    struct stat st;
    if (getrandom(number, sizeof(number), 0) != sizeof(number))
        return err_set(err, ERR_IO, "no random bytes");
    snprintf(name, sizeof(name), ".key-%02x%02x%02x%02x%02x%02x%02x%02x", number[0], number[1],
             number[2], number[3], number[4], number[5], number[6], number[7]);
    int fd = openat(folder_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return err_set_errno(err, ERR_IO, errno, "cannot make a file in %s", folder);
    size_t len = keyring_text(ring, text);
    bool good = write(fd, text, len) == (ssize_t)len && fstat(fd, &st) == 0 &&
                (st.st_gid == of_folder->st_gid || fchown(fd, (uid_t)-1, of_folder->st_gid) == 0) &&
                fchmod(fd, 0640) == 0;
    int cause = errno;
    close(fd);
    explicit_bzero(text, sizeof(text));
    if (good && renameat(folder_fd, name, folder_fd, KEYRING_FILE) == 0)
        return ERR_OK;
    cause = good ? errno : cause;
    unlinkat(folder_fd, name, 0);
    return err_set_errno(err, ERR_IO, cause, "cannot write the key in %s", folder);
}

enum err_code keyring_write(const char *folder, const struct keyring *ring, struct err *err)
{
    struct stat st;
    int fd = -1;
    enum err_code code = open_folder(folder, &fd, &st, err);
    if (code != ERR_OK)
        return code;
    if (st.st_uid != geteuid() || (st.st_mode & S_IWOTH) != 0)
        code = err_set(err, ERR_DENIED,
                       "%s: gets no key: it has to be of user %u, and not everybody's to write to",
                       folder, (unsigned)geteuid());
    else
        code = put_file(fd, folder, &st, ring, err);
    close(fd);
    return code;
}

void keyring_drop(const char *folder)
{
    struct stat st;
    int fd = -1;
    if (open_folder(folder, &fd, &st, NULL) != ERR_OK)
        return;
    unlinkat(fd, KEYRING_FILE, 0);
    close(fd);
}
