/*
 * db/series_reader.c - reads the files of db/series, which may be torn or damaged: what does not
 * hold its checksum is not there.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <zstd.h>

#include "db/series_frame.h"
#include "db/series_private.h"

#define SEARCH_BYTES 65536

enum err_code frame_open(const char *dir, enum series_tier tier, int64_t period,
                         struct frame_reader *out, struct err *err)
{
    char path[FRAME_PATH_MAX];
    struct stat st;
    frame_path(dir, tier, period, path);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return err_set_errno(err, errno == ENOENT ? ERR_NOT_FOUND : ERR_IO, errno, "cannot open %s",
                             path);
    if (fstat(fd, &st) != 0) {
        enum err_code code = err_set_errno(err, ERR_IO, errno, "cannot look at %s", path);
        close(fd);
        return code;
    }
    *out = (struct frame_reader){.fd = fd, .size = (uint64_t)st.st_size};
    return ERR_OK;
}

void frame_reader_release(struct frame_reader *reader)
{
    close(reader->fd);
    free(reader->entries);
    free(reader->data);
    free(reader->packed);
    *reader = (struct frame_reader){.fd = -1};
}

static bool read_at(const struct frame_reader *reader, void *out, size_t len, uint64_t at)
{
    return at + len <= reader->size && pread(reader->fd, out, len, (off_t)at) == (ssize_t)len;
}

static bool has_room(void **memory, size_t *room, size_t len, size_t size)
{
    if (len <= *room)
        return true;
    void *grown = realloc(*memory, len * size);
    if (grown == NULL)
        return false;
    *memory = grown;
    *room = len;
    return true;
}

/* The entries must say what the frame holds: their batches fill it. */
static bool adds_up(const struct frame_reader *reader, const struct frame_head *head)
{
    uint64_t len = 0;
    for (size_t i = 0; i < head->entry_count; i++)
        len += reader->entries[i].len;
    return len == head->raw_len;
}

/* A whole head and its entries at `at`, and room in the file for what they announce. */
static bool is_frame(struct frame_reader *reader, uint64_t at)
{
    struct frame_head head;
    if (!read_at(reader, &head, sizeof(head), at) || head.magic != FRAME_MAGIC ||
        head.entry_count == 0 || head.entry_count > FRAME_ENTRY_MAX ||
        head.raw_len > FRAME_RAW_MAX + TELEMETRY_BODY_MAX ||
        head.packed_len > ZSTD_compressBound(head.raw_len))
        return false;
    size_t entries_len = head.entry_count * sizeof(struct frame_entry);
    if (!has_room((void **)&reader->entries, &reader->entry_room, head.entry_count,
                  sizeof(struct frame_entry)) ||
        !read_at(reader, reader->entries, entries_len, at + sizeof(head)))
        return false;
    uint64_t hash = frame_hash(&head, offsetof(struct frame_head, hash), FRAME_HASH_START);
    if (frame_hash(reader->entries, entries_len, hash) != head.hash || !adds_up(reader, &head))
        return false;
    reader->payload_at = at + sizeof(head) + entries_len;
    reader->payload_len = head.packed_len;
    reader->raw_len = head.raw_len;
    reader->first_us = head.first_us;
    reader->last_us = head.last_us;
    reader->entry_count = head.entry_count;
    return reader->payload_at + reader->payload_len <= reader->size;
}

/* The next frame from `at` on, wherever it begins. */
static bool search(struct frame_reader *reader, uint64_t at)
{
    uint8_t bytes[SEARCH_BYTES];
    const uint32_t magic = FRAME_MAGIC;
    while (at + sizeof(struct frame_head) <= reader->size) {
        size_t len =
            reader->size - at < sizeof(bytes) ? (size_t)(reader->size - at) : sizeof(bytes);
        if (!read_at(reader, bytes, len, at))
            return false;
        for (size_t i = 0; i + sizeof(magic) <= len; i++)
            if (memcmp(bytes + i, &magic, sizeof(magic)) == 0 && is_frame(reader, at + i))
                return true;
        at += len < sizeof(bytes) ? len : len - sizeof(magic) + 1;
    }
    return false;
}

bool frame_next(struct frame_reader *reader)
{
    if (reader->at >= reader->size)
        return false;
    if (!is_frame(reader, reader->at)) {
        if (!search(reader, reader->at + 1))
            return false; /* a torn end */
        reader->damaged = true;
    }
    reader->at = reader->payload_at + reader->payload_len;
    return true;
}

bool frame_load(struct frame_reader *reader)
{
    bool good = has_room((void **)&reader->packed, &reader->packed_room, reader->payload_len, 1) &&
                has_room((void **)&reader->data, &reader->data_room, reader->raw_len + 1, 1) &&
                read_at(reader, reader->packed, reader->payload_len, reader->payload_at) &&
                ZSTD_decompress(reader->data, reader->raw_len, reader->packed,
                                reader->payload_len) == reader->raw_len;
    reader->damaged = reader->damaged || !good;
    return good;
}
