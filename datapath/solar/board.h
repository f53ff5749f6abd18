#pragma once
/*
 * datapath/solar/board.h - a file through which one process publishes a value that others read:
 * two slots, of which one is whole at all times. Nobody waits for anybody: a writer that dies in
 * the middle leaves the slot that was whole, a reader leaves nothing.
 *
 *      0 magic:64 | version:32 kind:32 | room:32 0:32 | newest:64        numbers are big-endian
 *     32 slot 0, then slot 1:  generation:64 | length:32 0:32 | check:64 | room bytes
 *
 * Publication g stands in slot g % 2 and is there when `newest` says g. It counts when its
 * generation, length and check (over both and the bytes) agree: bytes that are torn, because a
 * writer died or went on while they were read, never do. The check is no proof of origin: that is
 * who may write the file.
 *
 * Files are read with pread(), not through a mapping: who shortens a file that is mapped kills
 * those who read it (SIGBUS). Never blocks: what is no regular file is refused.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

#define BOARD_HEAD_SIZE 32
#define BOARD_SLOT_HEAD 24
#define BOARD_ROOM_MAX  (256 * 1024) /* bytes of a value */
#define BOARD_TRIES     3            /* of one read, while the writer goes on */

enum board_kind { BOARD_PAGE = 1, BOARD_SHARES, BOARD_REPORT };

struct board {
    int fd; /* -1 = not open */
    enum board_kind kind;
    uint32_t room;
    uint64_t newest; /* that was published, or read, last; 0 = none */
    dev_t device;
    ino_t inode;
};
#define BOARD_INIT                                                                                 \
    {                                                                                              \
        .fd = -1                                                                                   \
    }

/* For the writer. Goes on in a file of this kind, version and room that is there, else puts a new
 * one in its place. `mode` is the file's whatever the umask is. ERR_IO, ERR_NOMEM. */
ERR_MUST_CHECK enum err_code board_create(const char *path, enum board_kind kind, uint32_t room,
                                          mode_t mode, struct board *out, struct err *err);
/* len <= room (asserted). ERR_IO. */
ERR_MUST_CHECK enum err_code board_publish(struct board *board, const void *data, size_t len,
                                           struct err *err);

/* For readers. ERR_NOT_FOUND; ERR_INVALID = no board of this kind and version; ERR_IO. */
ERR_MUST_CHECK enum err_code board_open(const char *path, enum board_kind kind, struct board *out,
                                        struct err *err);
/* The newest value that was not read yet, into `room` bytes, which are at least the board's (else
 * ERR_LIMIT). ERR_NOT_FOUND = nothing new (quick: 32 bytes are looked at); ERR_UNAVAILABLE = not
 * whole, or the file was shortened: what was read before still counts, ask again later. */
ERR_MUST_CHECK enum err_code board_read(struct board *board, void *out, size_t room,
                                        size_t *out_len, struct err *err);
/* Whether another file stands there now, or none: then open again. */
bool board_is_replaced(const struct board *board, const char *path);
void board_release(struct board *board);

/* The parts that look at bytes, which are hostile. Pure; for the above and for fuzzing. */
ERR_MUST_CHECK enum err_code board_head(const uint8_t head[BOARD_HEAD_SIZE], enum board_kind kind,
                                        uint32_t *out_room, uint64_t *out_newest, struct err *err);
/* Of a slot of BOARD_SLOT_HEAD + room bytes that should hold this generation. */
ERR_MUST_CHECK enum err_code board_slot(const uint8_t *slot, uint32_t room, uint64_t generation,
                                        size_t *out_len, struct err *err);

/* Ends of the files' names in the folder of the node (control.h). */
#define BOARD_PAGE_END   ".page"
#define BOARD_SHARES_END ".shares"
#define BOARD_REPORT_END ".report"
/* The name has that end, and something before it. */
bool board_has_end(const char *name, const char *end);
