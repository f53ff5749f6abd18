#pragma once
/*
 * db/series_frame.h - the files of db/series: frames of many batches, compressed, each with a list
 * of what is in it, so that a reader opens only those that it needs. Private to db/series*.
 *
 * A frame: a head (magic, sizes, times, checksum), its entries, the batches one after the other as
 * one zstd frame with a checksum. All numbers little-endian. It is written by one write at the end
 * of the file; a write that fails is taken back. Which file: by the time of the first sample.
 */

#include <stdio.h>

#include "db/series.h"

#define FRAME_RAW_MAX   (4 * 1024 * 1024) /* bytes before compression */
#define FRAME_ENTRY_MAX 16384
#define FRAME_PATH_MAX  4096
#define FRAME_DIR_MAX   4032 /* a file's path fits */

struct frame_entry {
    uint32_t node;
    uint32_t len;      /* of its batch; batches stand in order */
    uint32_t first_ms; /* from the frame's first_us */
    uint32_t span_ms;  /* to its end, rounded up */
};

/* A frame being filled. */
struct frame_builder {
    int64_t period; /* number of the file; what does not belong into it goes into another frame */
    int64_t first_us, last_us;
    struct frame_entry *entries;
    int64_t *starts; /* of entries, until first_us is known */
    size_t entry_count, entry_room;
    uint8_t *data;
    size_t len, room;
};
void frame_builder_release(struct frame_builder *builder);
bool frame_is_full(const struct frame_builder *builder, size_t more);
ERR_MUST_CHECK enum err_code frame_add(struct frame_builder *builder, uint32_t node,
                                       int64_t first_us, int64_t last_us, const uint8_t *data,
                                       size_t len, struct err *err);

int64_t frame_period(enum series_tier tier, int64_t time_us);
int64_t frame_period_us(enum series_tier tier, int64_t period); /* when it begins */

/* The file that is written to. */
struct frame_file {
    char dir[FRAME_DIR_MAX];
    enum series_tier tier;
    int fd; /* -1 = none open */
    int64_t period;
    uint64_t size;
    uint64_t cut; /* bytes that were cut off since the start */
    bool fail;    /* tests: the next write fails */
};
/* Appends the builder's frame to the file of its period and empties it. On failure the file and
 * the builder are as before. A torn end of a file that is opened is cut and counted. */
ERR_MUST_CHECK enum err_code frame_write(struct frame_file *file, struct frame_builder *builder,
                                         uint64_t *out_bytes, struct err *err);
void frame_sync(struct frame_file *file);
void frame_close(struct frame_file *file);

/* Reading: frames of one file, in order. */
struct frame_reader {
    int fd;
    uint64_t at, size;
    bool damaged; /* something had to be skipped, other than a torn end */
    /* The frame that next() found: */
    uint64_t payload_at, payload_len;
    size_t raw_len;
    int64_t first_us, last_us;
    struct frame_entry *entries; /* owned */
    size_t entry_count, entry_room;
    uint8_t *data; /* owned; after frame_load() */
    size_t data_room;
    uint8_t *packed;
    size_t packed_room;
};
/* ERR_NOT_FOUND: there is no such file. */
ERR_MUST_CHECK enum err_code frame_open(const char *dir, enum series_tier tier, int64_t period,
                                        struct frame_reader *out, struct err *err);
void frame_reader_release(struct frame_reader *reader);
/* False at the end. Damage is skipped up to the next whole frame. */
bool frame_next(struct frame_reader *reader);
/* The batches of the frame into data; false = damaged (said in reader->damaged). */
bool frame_load(struct frame_reader *reader);

/* Removes files whose period ended before keep_from_us, and the oldest over bytes_max (0 = any). */
void frame_trim(const char *dir, enum series_tier tier, int64_t keep_from_us, int64_t bytes_max);
/* Marks the nodes that the tier's files are about. False: one of them cannot be read whole. */
bool frame_mark_nodes(const char *dir, enum series_tier tier, uint8_t *used, uint32_t node_count);
