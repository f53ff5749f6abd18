#pragma once
/*
 * agent/flash_fetch.h - an image from the server to the node's disk: in pieces, never more than it
 * should have, resumed where an earlier try ended, and good only when its SHA-256 is right.
 */

#include <stdatomic.h>
#include <stdint.h>

#include "agent/keep.h"
#include "agent/link.h"
#include "fleet/flash.h"

#define FLASH_FOLDER           "flash"             /* below the state folder */
#define FLASH_FETCH_IDLE_S     30                  /* slower than this for so long: try again */
#define FLASH_FETCH_SLOW_BYTES 1024                /* a second */
#define FLASH_RESERVE_BYTES    (INT64_C(64) << 20) /* of the disk, left to others */

struct flash_fetch {
    const struct link_image *from;
    const struct flash_image *image;
    const char *folder;       /* made when missing */
    atomic_bool *stop;        /* true: give up */
    atomic_llong *have_bytes; /* progress */
};

/* The image's place in the folder, whole. */
ERR_MUST_CHECK enum err_code flash_image_path(const char *folder, const struct flash_image *image,
                                              char out[KEEP_PATH_MAX], struct err *err);

/*
 * Blocking. ERR_OK: the whole image lies at flash_image_path(), its hash right. ERR_UNAVAILABLE:
 * worth another try, which goes on where this one ended. ERR_CONFLICT: stopped. ERR_INVALID: the
 * bytes are not the image. ERR_LIMIT: no room. ERR_NOT_FOUND, ERR_DENIED: the server does not give
 * it.
 */
ERR_MUST_CHECK enum err_code flash_fetch(const struct flash_fetch *fetch, struct err *err);

/* The hash of the file again. ERR_INVALID: another. */
ERR_MUST_CHECK enum err_code flash_image_check(const char *path, const struct flash_image *image,
                                               struct err *err);

/* Removes every image of the folder, whole or not, but those of `keep` (NULL = all). Never fails.
 */
void flash_folder_sweep(const char *folder, const struct flash_image *keep);
