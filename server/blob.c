/*
 * server/blob.c - bytes shared by many answers, see http.h.
 */
#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "server/http.h"

static struct blob *make(char *data, size_t len, const char *etag, const char *content_type)
{
    struct blob *blob = malloc(sizeof(*blob));
    if (blob == NULL)
        return NULL;
    *blob = (struct blob){.data = data, .len = len, .content_type = content_type};
    atomic_init(&blob->refs, 1);
    if (etag != NULL) {
        assert(strlen(etag) < sizeof(blob->etag));
        snprintf(blob->etag, sizeof(blob->etag), "%s", etag);
    }
    return blob;
}

struct blob *blob_new(char *data, size_t len, const char *etag, const char *content_type)
{
    struct blob *blob = make(data, len, etag, content_type);
    if (blob == NULL)
        free(data);
    return blob;
}

struct blob *blob_new_static(const void *data, size_t len, const char *etag,
                             const char *content_type)
{
    struct blob *blob = make((char *)(uintptr_t)data, len, etag, content_type);
    if (blob != NULL)
        blob->is_static = true;
    return blob;
}

struct blob *blob_ref(struct blob *blob)
{
    atomic_fetch_add_explicit(&blob->refs, 1, memory_order_relaxed);
    return blob;
}

void blob_unref(struct blob *blob)
{
    if (blob == NULL || atomic_fetch_sub_explicit(&blob->refs, 1, memory_order_acq_rel) != 1)
        return;
    if (!blob->is_static)
        free(blob->data);
    free(blob);
}

void etag_format(int64_t revision, char out[32])
{
    text_put(text_put_number(text_put(out, "\""), revision), "\"");
}
