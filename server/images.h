#pragma once
/*
 * server/images.h - firmware images as files below DATA/images: written beside, checked, made
 * durable, then named. All that blocks happens on one thread of its own; handlers get told by
 * calls. Knows nothing of HTTP or SQL: which images exist is the store's word (sweep).
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/own.h"
#include "base/sha256.h"

#define IMAGE_ID_SIZE       17  /* 16 hex digits */
#define IMAGE_UPLOADS_MAX   4   /* at a time */
#define IMAGE_REMOVALS_MAX  256 /* waiting; more are left to the next start's sweep */
#define IMAGES_ASIDE        "aside"
#define IMAGE_RESERVE_BYTES (INT64_C(32) * 1024 * 1024) /* of the disk, left to the store */

struct images;
struct upload; /* one image that comes in */

ERR_MUST_CHECK enum err_code images_new(const char *data_dir, struct images **out, struct err *err);
/* Every upload was freed before. */
void images_free(struct images *images);
OWN_DEFINE(images, struct images *, images_free)

/* At start, before requests: interrupted uploads go; a whole image that is not `is_known` is set
 * aside in DATA/images/aside, for its store may be restored after it, and comes back when it is. */
void images_sweep(struct images *images, bool (*is_known)(void *arg, const char *id), void *arg);

/* Any thread; does not block. ERR_UNAVAILABLE: IMAGE_UPLOADS_MAX are under way. */
ERR_MUST_CHECK enum err_code upload_new(struct images *images, uint64_t size_bytes,
                                        struct upload **out, struct err *err);
/* Removes the file unless it was kept, soon, on the images' thread. Not while a call of the two
 * below is under way. */
void upload_free(struct upload *upload);
const char *upload_id(const struct upload *upload);

/* code ERR_LIMIT: the disk has no room. On the images' thread. */
typedef void upload_fn(void *arg, enum err_code code, const struct err *err);
/* Writes n bytes, borrowed until fn is called. One call at a time. */
void upload_write(struct upload *upload, const char *data, size_t n, upload_fn *fn, void *arg);
/* Makes it durable under its id; sha256 is set from then on. ERR_INVALID: the digest is another
 * than `wanted`, or bytes are missing; then no file is left. */
void upload_finish(struct upload *upload, const char *wanted, upload_fn *fn, void *arg);
/* The image stays: its row is durable. */
void upload_keep(struct upload *upload);

/* A descriptor to read it. ERR_NOT_FOUND: the file is lost. */
ERR_MUST_CHECK enum err_code image_open(struct images *images, const char *id, int *out_fd,
                                        uint64_t *out_size, struct err *err);
/* Soon, on the images' thread. */
void image_remove(struct images *images, const char *id);
