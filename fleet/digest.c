/*
 * fleet/digest.c - see digest.h. The text is put together here instead of building one JSON value
 * of the whole plan: a plan of 1,000 flows is digested after each apply and on every check for
 * drift.
 */
#include "fleet/digest.h"

#include <stdio.h>
#include <string.h>

#define DIGEST_ROOM_MIN 4096

void digest_init(struct digest *digest)
{
    memset(digest, 0, sizeof(*digest));
}

static char *make_room(struct digest *digest, size_t len)
{
    if (digest->nomem)
        return NULL;
    if (digest->len + len > digest->room) {
        size_t room = digest->room == 0 ? DIGEST_ROOM_MIN : 2 * digest->room;
        while (room < digest->len + len)
            room *= 2;
        char *text = realloc(digest->text, room);
        if (text == NULL) {
            digest->nomem = true;
            return NULL;
        }
        digest->text = text;
        digest->room = room;
    }
    char *at = digest->text + digest->len;
    digest->len += len;
    return at;
}

static void add_bytes(struct digest *digest, const char *bytes, size_t len)
{
    char *at = make_room(digest, len);
    if (at != NULL)
        memcpy(at, bytes, len);
}

static void add_text(struct digest *digest, const char *text)
{
    add_bytes(digest, text, strlen(text));
}

static void add_value(struct digest *digest, const json_t *value)
{
    size_t len = 0;
    OWN(str) char *text = value == NULL ? NULL : json_canonical(value, &len);
    if (text == NULL)
        digest->nomem = true;
    else
        add_bytes(digest, text, len);
}

static bool is_plain(const char *text, size_t *len)
{
    const char *p = text;
    while (*p >= ' ' && *p <= '~' && *p != '"' && *p != '\\')
        p++;
    *len = (size_t)(p - text);
    return *p == '\0';
}

/* Ids are plain in all but hostile plans; only then the general way is worth its allocations. */
static void add_string(struct digest *digest, const char *text)
{
    size_t len;
    if (!is_plain(text, &len)) {
        OWN(json) json_t *string = json_string(text);
        add_value(digest, string);
        return;
    }
    char *at = make_room(digest, len + 2);
    if (at == NULL)
        return;
    at[0] = '"';
    memcpy(at + 1, text, len);
    at[len + 1] = '"';
}

int digest_flags(const struct plan_knob *knob)
{
    return (knob->strict ? 1 : 0) + (knob->observe_only ? 2 : 0);
}

void digest_knob(struct digest *digest, const struct knob_kind *kind, const char *subject,
                 const char *id, int flags, const json_t *want)
{
    char head[32];
    snprintf(head, sizeof(head), "%s{\"flags\":%d,\"id\":", digest->len == 0 ? "{\"knobs\":[" : ",",
             flags);
    add_text(digest, head);
    add_string(digest, id);
    add_text(digest, ",\"kind\":");
    add_string(digest, kind->name);
    add_text(digest, ",\"subject\":");
    add_string(digest, subject);
    add_text(digest, ",\"want\":");
    if (want == NULL)
        add_text(digest, "null");
    else
        add_value(digest, want);
    add_text(digest, "}");
}

enum err_code digest_finish(struct digest *digest, const char *node, char out[DIGEST_TEXT_MAX],
                            struct err *err)
{
    add_text(digest, digest->len == 0 ? "{\"knobs\":[],\"node\":" : "],\"node\":");
    add_string(digest, node);
    add_text(digest, "}");
    bool nomem = digest->nomem;
    if (!nomem)
        bytes_digest(digest->text, digest->len, out);
    free(digest->text);
    digest_init(digest);
    return nomem ? err_nomem(err) : ERR_OK;
}
