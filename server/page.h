#pragma once
/*
 * server/page.h - lists from the store: ?page_size, ?page_token and ?fields in, items and
 * next_page_token out, read on a reader thread; as JSON, or as a table by Accept: text/csv (then
 * the token is in the header X-Next-Page-Token).
 *
 * A page token is bound to the operation, its path, its other parameters and the caller's tenant
 * (server/page_token.h); it survives a restart.
 */

#include "db/db.h"
#include "db/tables.h"
#include "server/app.h"
#include "server/page_shape.h"
#include "server/page_token.h"

#define PAGE_SIZE_DEFAULT 100

struct page {
    struct app *app;
    struct request *request;
    int size;
    char after[PAGE_KEY_SIZE];   /* "" = from the start */
    char subject[PAGE_KEY_SIZE]; /* the handler's own: a document, a node, a tenant */
    int64_t after_number;        /* `after` as a number, 0 = from the start */
    int64_t since_us;            /* older rows are not shown: api_own_since() */
    json_t *items;               /* owned */
    char last[PAGE_KEY_SIZE];    /* key of the last item taken */
    bool more;                   /* there are items behind it */
    bool no_memory;
    bool as_csv;
    char *bound; /* owned; what page tokens of this list are bound to */
    struct page_fields fields;
    const json_t *members; /* of an item, by the contract; NULL = not asked for */
    json_t *extra;         /* owned; members beside items, or NULL */
    enum err_code (*read)(struct db_ro *ro, struct page *page, struct err *err);
};

/* Makes a page of the request's parameters; NULL when it has replied (400). */
struct page *page_new(struct request *request,
                      enum err_code (*read)(struct db_ro *ro, struct page *page, struct err *err));
void page_free(struct page *page);

/* Runs read on a reader thread, then replies. Takes page. */
void page_submit(struct page *page);
/* Replies with the page's items, as whoever needs no reader has set them (with last and more).
 * Takes page. */
void page_reply(struct page *page);

/* How many rows to ask the store for: one more than the page takes, so that `more` is known. */
int page_limit(const struct page *page);
/* In the store's callback: takes the item (with its key) and says whether to go on. */
bool page_add(struct page *page, json_t *item, const char *key_fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* The greatest key below `name` in byte order that no name can lie behind: a list that starts after
 * it starts with `name` if it is there (names are 1 to 63 bytes below '~'). */
void key_before(const char *name, char out[PAGE_KEY_SIZE]);
