/*
 * datapath/solar/board.c - see board.h.
 */
#include "datapath/solar/board.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mac.h"
#include "base/own.h"
#include "datapath/solar/bytes.h"

#define MAGIC     UINT64_C(0x53544c52424f5244) /* "STLRBORD" */
#define VERSION   1
#define PATH_MOST 512

/* Not a secret: it finds torn bytes. */
static const unsigned char check_key[SIP_KEY_SIZE] = "a board's check";

static uint64_t check_of(const uint8_t *slot, size_t len)
{
    unsigned char parts[2 * SIP_SIZE], sum[SIP_SIZE];
    mac_sip(check_key, slot, BOARD_SLOT_HEAD - SIP_SIZE, parts);
    mac_sip(check_key, slot + BOARD_SLOT_HEAD, len, parts + SIP_SIZE);
    mac_sip(check_key, parts, sizeof(parts), sum);
    return bytes_get(sum, sizeof(sum));
}

enum err_code board_head(const uint8_t head[BOARD_HEAD_SIZE], enum board_kind kind,
                         uint32_t *out_room, uint64_t *out_newest, struct err *err)
{
    uint64_t room = bytes_get(head + 16, 4);
    if (bytes_get(head, 8) != MAGIC)
        return err_set(err, ERR_INVALID, "the file does not begin as a board does");
    if (bytes_get(head + 8, 4) != VERSION)
        return err_set(err, ERR_INVALID, "the board is of version %llu, this is %d",
                       (unsigned long long)bytes_get(head + 8, 4), VERSION);
    if (bytes_get(head + 12, 4) != (uint64_t)kind)
        return err_set(err, ERR_INVALID, "the board is of kind %llu, not %d",
                       (unsigned long long)bytes_get(head + 12, 4), (int)kind);
    if (room < 1 || room > BOARD_ROOM_MAX)
        return err_set(err, ERR_INVALID, "a board of %llu bytes (has 1 to %d)",
                       (unsigned long long)room, BOARD_ROOM_MAX);
    *out_room = (uint32_t)room;
    *out_newest = bytes_get(head + 24, 8);
    return ERR_OK;
}

enum err_code board_slot(const uint8_t *slot, uint32_t room, uint64_t generation, size_t *out_len,
                         struct err *err)
{
    uint64_t len = bytes_get(slot + 8, 4);
    if (bytes_get(slot, 8) != generation || len > room ||
        bytes_get(slot + 16, 8) != check_of(slot, (size_t)len))
        return err_set(err, ERR_UNAVAILABLE, "publication %llu is not whole",
                       (unsigned long long)generation);
    *out_len = (size_t)len;
    return ERR_OK;
}

static off_t slot_at(uint32_t room, uint64_t generation)
{
    return BOARD_HEAD_SIZE + (off_t)(generation % 2) * (BOARD_SLOT_HEAD + (off_t)room);
}

static off_t file_size(uint32_t room)
{
    return BOARD_HEAD_SIZE + 2 * (BOARD_SLOT_HEAD + (off_t)room);
}

static bool read_all(int fd, void *out, size_t len, off_t at)
{
    return pread(fd, out, len, at) == (ssize_t)len;
}

static bool write_all(int fd, const void *data, size_t len, off_t at)
{
    ssize_t n = pwrite(fd, data, len, at);
    if (n >= 0 && (size_t)n != len)
        errno = ENOSPC;
    return n == (ssize_t)len;
}

/* Opening ------------------------------------------------------------------------------------- */

/* O_NONBLOCK: who put a pipe there must not make us wait. */
static enum err_code open_file(const char *path, int flags, struct board *out, struct err *err)
{
    struct stat st;
    uint8_t head[BOARD_HEAD_SIZE];
    int fd = open(path, flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0)
        return err_set_errno(err, errno == ENOENT ? ERR_NOT_FOUND : ERR_IO, errno, "cannot open %s",
                             path);
    *out = (struct board){.fd = fd, .kind = out->kind};
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || !read_all(fd, head, sizeof(head), 0))
        return err_set(err, ERR_INVALID, "%s is no board", path);
    out->device = st.st_dev;
    out->inode = st.st_ino;
    return board_head(head, out->kind, &out->room, &out->newest, err);
}

void board_release(struct board *board)
{
    if (board->fd >= 0)
        close(board->fd);
    board->fd = -1;
}

enum err_code board_open(const char *path, enum board_kind kind, struct board *out, struct err *err)
{
    struct board board = {.fd = -1, .kind = kind};
    enum err_code code = open_file(path, O_RDONLY, &board, err);
    board.newest = 0; /* nothing of it was read */
    if (code == ERR_OK)
        *out = board;
    else
        board_release(&board);
    return code;
}

/* A file that is there and fits is gone on with: its readers need not look for another. */
static bool take_over(const char *path, enum board_kind kind, uint32_t room, mode_t mode,
                      struct board *out)
{
    struct board board = {.fd = -1, .kind = kind};
    struct stat st;
    bool fits = open_file(path, O_RDWR, &board, NULL) == ERR_OK && board.room == room &&
                fstat(board.fd, &st) == 0 && st.st_uid == geteuid() &&
                (st.st_mode & 07777) == mode && st.st_size == file_size(room) &&
                board.newest < UINT64_MAX / 2;
    if (fits)
        *out = board;
    else
        board_release(&board);
    return fits;
}

static enum err_code make(int fd, enum board_kind kind, uint32_t room, mode_t mode, struct err *err)
{
    uint8_t head[BOARD_HEAD_SIZE], *at = head;
    at = bytes_put(at, MAGIC, 8);
    at = bytes_put(at, VERSION, 4);
    at = bytes_put(at, (uint64_t)kind, 4);
    at = bytes_put(at, room, 4);
    at = bytes_put(at, 0, 4);
    bytes_put(at, 0, 8);
    /* With its memory: a full file system is an error now and not while publishing. */
    int code = posix_fallocate(fd, 0, file_size(room));
    if (code != 0)
        return err_set_errno(err, ERR_IO, code, "cannot make room for a board");
    if (!write_all(fd, head, sizeof(head), 0) || fchmod(fd, mode) != 0)
        return err_set_errno(err, ERR_IO, errno, "cannot write a board");
    return ERR_OK;
}

enum err_code board_create(const char *path, enum board_kind kind, uint32_t room, mode_t mode,
                           struct board *out, struct err *err)
{
    char fresh[PATH_MOST];
    struct stat st;
    assert(room >= 1 && room <= BOARD_ROOM_MAX);
    if (take_over(path, kind, room, mode, out))
        return ERR_OK;
    if (snprintf(fresh, sizeof(fresh), "%s.XXXXXX", path) >= (int)sizeof(fresh))
        return err_set(err, ERR_LIMIT, "the path %.64s... is too long", path);
    int fd = mkostemp(fresh, O_CLOEXEC);
    if (fd < 0)
        return err_set_errno(err, ERR_IO, errno, "cannot make %s", fresh);
    enum err_code code = make(fd, kind, room, mode, err);
    if (code == ERR_OK && (fstat(fd, &st) != 0 || rename(fresh, path) != 0))
        code = err_set_errno(err, ERR_IO, errno, "cannot put a board in place of %s", path);
    if (code != ERR_OK) {
        unlink(fresh);
        close(fd);
        return code;
    }
    *out = (struct board){
        .fd = fd, .kind = kind, .room = room, .device = st.st_dev, .inode = st.st_ino};
    return ERR_OK;
}

bool board_is_replaced(const struct board *board, const char *path)
{
    struct stat st;
    return lstat(path, &st) != 0 || st.st_dev != board->device || st.st_ino != board->inode;
}

/* Values -------------------------------------------------------------------------------------- */

enum err_code board_publish(struct board *board, const void *data, size_t len, struct err *err)
{
    assert(len <= board->room);
    uint64_t generation = board->newest + 1;
    off_t at = slot_at(board->room, generation);
    uint8_t number[8];
    OWN(mem) void *memory = malloc(BOARD_SLOT_HEAD + len);
    uint8_t *slot = memory;
    if (slot == NULL)
        return err_nomem(err);
    uint8_t *head = bytes_put(slot, generation, 8);
    head = bytes_put(head, len, 4);
    head = bytes_put(head, 0, 4);
    memcpy(slot + BOARD_SLOT_HEAD, data, len);
    bytes_put(head, check_of(slot, len), 8);
    bytes_put(number, generation, 8);
    if (!write_all(board->fd, slot, BOARD_SLOT_HEAD + len, at) ||
        !write_all(board->fd, number, sizeof(number), BOARD_HEAD_SIZE - 8))
        return err_set_errno(err, ERR_IO, errno, "cannot publish");
    board->newest = generation;
    return ERR_OK;
}

static enum err_code try_read(struct board *board, uint8_t *slot, size_t *out_len, struct err *err)
{
    uint8_t head[BOARD_HEAD_SIZE];
    uint64_t newest;
    uint32_t room;
    if (!read_all(board->fd, head, sizeof(head), 0) ||
        board_head(head, board->kind, &room, &newest, NULL) != ERR_OK || room != board->room)
        return err_set(err, ERR_UNAVAILABLE, "the board was shortened or altered");
    if (newest == board->newest || newest == 0)
        return err_set(err, ERR_NOT_FOUND, "nothing new");
    off_t at = slot_at(room, newest);
    size_t len = read_all(board->fd, slot, BOARD_SLOT_HEAD, at) ? bytes_get(slot + 8, 4) : SIZE_MAX;
    if (len > room || !read_all(board->fd, slot + BOARD_SLOT_HEAD, len, at + BOARD_SLOT_HEAD))
        return err_set(err, ERR_UNAVAILABLE, "the board was shortened, or is being written");
    enum err_code code = board_slot(slot, room, newest, out_len, err);
    if (code == ERR_OK)
        board->newest = newest;
    return code;
}

enum err_code board_read(struct board *board, void *out, size_t room, size_t *out_len,
                         struct err *err)
{
    if (room < board->room)
        return err_set(err, ERR_LIMIT, "a board of %u bytes (has at most %zu)", board->room, room);
    OWN(mem) void *slot = NULL;
    enum err_code code = ERR_UNAVAILABLE;
    uint8_t head[BOARD_HEAD_SIZE];
    /* As a rule there is nothing new: no memory is taken to see that. */
    if (read_all(board->fd, head, sizeof(head), 0) &&
        bytes_get(head + BOARD_HEAD_SIZE - 8, 8) == board->newest)
        return err_set(err, ERR_NOT_FOUND, "nothing new");
    slot = malloc(BOARD_SLOT_HEAD + (size_t)board->room);
    if (slot == NULL)
        return err_nomem(err);
    for (int i = 0; i < BOARD_TRIES && code == ERR_UNAVAILABLE; i++)
        code = try_read(board, slot, out_len, err);
    if (code == ERR_OK)
        memcpy(out, (uint8_t *)slot + BOARD_SLOT_HEAD, *out_len);
    return code;
}

bool board_has_end(const char *name, const char *end)
{
    size_t len = strlen(name), n = strlen(end);
    return len > n && strcmp(name + len - n, end) == 0;
}
