/*
 * server/bundle.c - see bundle.h.
 */
#include "server/bundle.h"

#include <stdlib.h>
#include <string.h>

#include <archive.h>
#include <archive_entry.h>

#include "base/json.h"
#include "base/own.h"
#include "base/text.h"
#include "fleet/evidence/evidence.h"

#define CHUNK_BYTES (64u * 1024)

static const struct {
    size_t at;
    const char *bytes;
    size_t len;
} beginnings[] = {
    {257, "ustar", 5},  {0, "PK\003\004", 4}, {0, "PK\005\006", 4}, /* a zip without files */
    {0, "\037\213", 2}, {0, "\3757zXZ\0", 6}, {0, "\050\265\057\375", 4}, {0, "BZh", 3},
};

bool bundle_is(const char *bytes, size_t len)
{
    for (size_t i = 0; i < sizeof(beginnings) / sizeof(beginnings[0]); i++) {
        if (len >= beginnings[i].at + beginnings[i].len &&
            memcmp(bytes + beginnings[i].at, beginnings[i].bytes, beginnings[i].len) == 0)
            return true;
    }
    return false;
}

struct bundle {
    struct archive *archive;
    size_t packed, unpacked; /* bytes */
    size_t facts;
    json_t *files; /* owned */
    bool truncated;
};

static void bundle_release(struct bundle *bundle)
{
    (void)archive_read_free(bundle->archive);
    json_decref(bundle->files);
}
#define OWN_BUNDLE __attribute__((cleanup(bundle_release)))

struct content { /* of one file */
    char *bytes; /* owned */
    size_t len, room;
    const char *state; /* why it is not read; NULL = it is */
};

static void content_release(struct content *content)
{
    free(content->bytes);
}
#define OWN_CONTENT __attribute__((cleanup(content_release)))

static enum err_code open_archive(struct bundle *bundle, const char *bytes, size_t len,
                                  struct err *err)
{
    struct archive *a = bundle->archive = archive_read_new();
    bundle->files = json_array();
    if (a == NULL || bundle->files == NULL)
        return err_nomem(err);
    (void)archive_read_support_filter_gzip(a);
    (void)archive_read_support_filter_xz(a);
    (void)archive_read_support_filter_zstd(a);
    (void)archive_read_support_filter_bzip2(a);
    (void)archive_read_support_format_tar(a);
    (void)archive_read_support_format_zip(a);
    (void)archive_read_support_format_raw(a); /* one file that is only compressed */
    bundle->packed = len;
    if (archive_read_open_memory(a, bytes, len) != ARCHIVE_OK)
        return err_set(err, ERR_INVALID, "the archive cannot be read: %s", archive_error_string(a));
    return ERR_OK;
}

/* Counts what was unpacked; false = the bundle is at its end. */
static enum err_code count(struct bundle *bundle, size_t bytes, struct err *err)
{
    bundle->unpacked += bytes;
    if (bundle->unpacked > BUNDLE_RATIO_FREE &&
        bundle->unpacked / BUNDLE_RATIO_MAX > bundle->packed)
        return err_set(err, ERR_LIMIT,
                       "the archive unpacks to more than %d times its size; unpack it and send "
                       "its files",
                       BUNDLE_RATIO_MAX);
    bundle->truncated = bundle->truncated || bundle->unpacked > BUNDLE_BYTES_MAX;
    return ERR_OK;
}

static bool make_room(struct content *content)
{
    if (content->room - content->len >= CHUNK_BYTES)
        return true;
    size_t room = content->room * 2 + CHUNK_BYTES;
    char *bytes = realloc(content->bytes, room);
    if (bytes == NULL)
        return false;
    content->bytes = bytes;
    content->room = room;
    return true;
}

/* All bytes of the file, also of one that is not kept: libarchive would unpack without a count
 * what is left over. */
static enum err_code read_content(struct bundle *bundle, struct content *content, struct err *err)
{
    char dropped[4096];
    while (!bundle->truncated) {
        if (content->state == NULL && !make_room(content))
            return err_nomem(err);
        la_ssize_t got =
            content->state == NULL
                ? archive_read_data(bundle->archive, content->bytes + content->len, CHUNK_BYTES)
                : archive_read_data(bundle->archive, dropped, sizeof(dropped));
        if (got == 0)
            return ERR_OK;
        if (got < 0) {
            content->state = "damaged";
            return ERR_OK;
        }
        content->len += content->state == NULL ? (size_t)got : 0;
        if (content->len > EVIDENCE_BYTES_MAX)
            content->state = "too-large";
        if (count(bundle, (size_t)got, err) != ERR_OK)
            return err->code;
    }
    return ERR_OK;
}

/* The name as data: no control characters, right UTF-8, at most BUNDLE_PATH_MAX. */
static void path_of(struct archive_entry *entry, char out[BUNDLE_PATH_MAX])
{
    const char *path = archive_entry_pathname_utf8(entry);
    if (path == NULL)
        path = archive_entry_pathname(entry);
    text_copy(out, BUNDLE_PATH_MAX, path != NULL ? path : "");
    text_clean(out, "");
}

static enum err_code add_file(struct bundle *bundle, const char *path, const char *state,
                              json_t *evidence, struct err *err)
{
    json_t *file = evidence != NULL ? json_pack("{s:s,s:s,s:o}", "path", path, "state", state,
                                                "evidence", evidence)
                                    : json_pack("{s:s,s:s}", "path", path, "state", state);
    if (file == NULL || json_array_append_new(bundle->files, file) != 0)
        return err_nomem(err);
    return ERR_OK;
}

static enum err_code add_evidence(struct bundle *bundle, const char *path,
                                  const struct content *content, struct err *err)
{
    OWN(evidence) struct evidence *evidence = NULL;
    if (evidence_read(path, content->bytes, content->len, &evidence, err) != ERR_OK)
        return err->code;
    if (strcmp(evidence->kind, "unknown") == 0)
        return add_file(bundle, path, "unknown", NULL, err);
    if (evidence->fact_count > BUNDLE_FACTS_MAX - bundle->facts) {
        bundle->truncated = true;
        return ERR_OK;
    }
    bundle->facts += evidence->fact_count;
    json_t *document = evidence_to_json(evidence);
    return document == NULL ? err_nomem(err) : add_file(bundle, path, "read", document, err);
}

static enum err_code read_entry(struct bundle *bundle, struct archive_entry *entry, struct err *err)
{
    OWN_CONTENT struct content content = {.state = NULL};
    char path[BUNDLE_PATH_MAX];
    path_of(entry, path);
    bool raw = archive_format(bundle->archive) == ARCHIVE_FORMAT_RAW;
    if (raw && archive_filter_code(bundle->archive, 0) == ARCHIVE_FILTER_NONE)
        return err_set(err, ERR_INVALID,
                       "it begins as an archive or a compressed file does, and is none");
    if (raw)
        path[0] = '\0';
    else if (archive_entry_filetype(entry) == AE_IFDIR)
        return ERR_OK;
    if (!raw &&
        (archive_entry_filetype(entry) != AE_IFREG || archive_entry_hardlink(entry) != NULL))
        content.state = "not-a-file";
    else if (archive_entry_is_encrypted(entry))
        content.state = "encrypted";
    else if (json_array_size(bundle->files) == BUNDLE_FILES_MAX)
        bundle->truncated = true;
    if (read_content(bundle, &content, err) != ERR_OK)
        return err->code;
    if (bundle->truncated) /* what is half read says nothing */
        return ERR_OK;
    if (content.state == NULL && bundle_is(content.bytes, content.len))
        content.state = "archive";
    return content.state != NULL ? add_file(bundle, path, content.state, NULL, err)
                                 : add_evidence(bundle, path, &content, err);
}

static enum err_code read_entries(struct bundle *bundle, struct err *err)
{
    struct archive_entry *entry;
    while (!bundle->truncated) {
        int code = archive_read_next_header(bundle->archive, &entry);
        if (code == ARCHIVE_EOF)
            return ERR_OK;
        if (code != ARCHIVE_OK && code != ARCHIVE_WARN) {
            bundle->truncated = true;
            const char *text = archive_error_string(bundle->archive);
            return json_array_size(bundle->files) > 0
                       ? ERR_OK
                       : err_set(err, ERR_INVALID, "the archive cannot be read: %s",
                                 text != NULL ? text : "it is damaged");
        }
        if (read_entry(bundle, entry, err) != ERR_OK)
            return err->code;
    }
    return ERR_OK;
}

enum err_code bundle_read(const char *bytes, size_t len, json_t **out, struct err *err)
{
    OWN_BUNDLE struct bundle bundle = {.archive = NULL};
    struct err own = ERR_INIT;
    if (err == NULL)
        err = &own;
    if (open_archive(&bundle, bytes, len, err) != ERR_OK || read_entries(&bundle, err) != ERR_OK)
        return err->code;
    const char *format = archive_format_name(bundle.archive);
    json_t *document = json_pack("{s:i,s:s,s:s,s:b,s:O}", "version", 1, "kind", "archive", "format",
                                 format != NULL ? format : "raw", "truncated", bundle.truncated,
                                 "files", bundle.files);
    if (document == NULL)
        return err_nomem(err);
    *out = document;
    return ERR_OK;
}
