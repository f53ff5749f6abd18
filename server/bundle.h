#pragma once
/*
 * server/bundle.h - an archive of operators' files (a support bundle, a sosreport): each file in it
 * is read as evidence. The only user of libarchive; on the inspector's thread.
 *
 * Everything stays in memory: names are data, no path is written or followed. An archive inside the
 * archive is named and left. The answer:
 *
 *   {"version":1, "kind":"archive", "format":"GNU tar format", "truncated":false, "files":[
 *     {"path":"sos_commands/networking/ethtool_-S_eth0", "state":"read", "evidence":EVIDENCE},
 *     {"path":"logo.png", "state":"unknown"}]}
 *
 * States without evidence: unknown (nobody recognises it), archive, encrypted, too-large,
 * not-a-file (a link, a device), damaged.
 */

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "base/err.h"

#define BUNDLE_FILES_MAX  2000
#define BUNDLE_BYTES_MAX  (64u * 1024 * 1024) /* of all files, unpacked */
#define BUNDLE_RATIO_MAX  200                 /* unpacked to packed; beyond BUNDLE_RATIO_FREE */
#define BUNDLE_RATIO_FREE (1024u * 1024)
#define BUNDLE_FACTS_MAX  200000 /* of all files */
#define BUNDLE_PATH_MAX   512    /* bytes with the NUL; longer ones are cut on a character */

/* The bytes begin as tar, zip, gzip, xz, zstd or bzip2 do. */
bool bundle_is(const char *bytes, size_t len);

/*
 * New reference in *out. Files, bytes and facts over their limits, and damage behind the first
 * file, end the reading: "truncated" is true then. ERR_INVALID: no archive, or damaged before its
 * first file. ERR_LIMIT: it unpacks to more than BUNDLE_RATIO_MAX times its size. ERR_NOMEM. A file
 * that is only compressed (dmesg.gz) is an archive of one file without a name.
 */
ERR_MUST_CHECK enum err_code bundle_read(const char *bytes, size_t len, json_t **out,
                                         struct err *err);
