/*
 * db/events.c - the event log, bounded; see tables.h.
 *
 * The writer knows the last id (struct db_heads). Each PRUNE_STEP-th event drops the ones that are
 * too old by then, so that EVENTS_KEPT to EVENTS_KEPT + PRUNE_STEP rows are there. What the open
 * group adds is also kept in memory (struct db_event_log) until the group's end, for the hook.
 */
#include "db/tables.h"

#include <stdlib.h>
#include <string.h>

#include "db/stmt.h"
#include "db/store.h"

#define PRUNE_STEP 64
#define LOG_FIRST  64 /* events; doubles */

struct db_event_copy {
    struct db_event event; /* its texts lie in `text` */
    char *text;
};

static char *copy_text(char **room, const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = memcpy(*room, text, size);
    *room += size;
    return copy;
}

static enum err_code log_add(struct db_event_log *log, const struct db_event *event,
                             struct err *err)
{
    if (log->count == log->room) {
        size_t room = log->room == 0 ? LOG_FIRST : 2 * log->room;
        struct db_event_copy *grown = realloc(log->items, room * sizeof(*grown));
        if (grown == NULL)
            return err_nomem(err);
        log->items = grown;
        log->room = room;
    }
    char *text = malloc(strlen(event->kind) + strlen(event->subject) + strlen(event->request_id) +
                        strlen(event->body) + 4);
    if (text == NULL)
        return err_nomem(err);
    struct db_event_copy *copy = &log->items[log->count++];
    *copy = (struct db_event_copy){.event = *event, .text = text};
    copy->event.kind = copy_text(&text, event->kind);
    copy->event.subject = copy_text(&text, event->subject);
    copy->event.request_id = copy_text(&text, event->request_id);
    copy->event.body = copy_text(&text, event->body);
    return ERR_OK;
}

void events_undo(struct db *db)
{
    struct db_event_log *log = &db->event_log;
    while (log->count > 0 && log->items[log->count - 1].event.id > db->heads.event_id)
        free(log->items[--log->count].text);
}

void events_tell(struct db *db)
{
    struct db_event_log *log = &db->event_log;
    for (size_t i = 0; i < log->count; i++) {
        db->hooks.event(db->hooks.arg, &log->items[i].event);
        free(log->items[i].text);
    }
    log->count = 0;
}

void events_release(struct db *db)
{
    for (size_t i = 0; i < db->event_log.count; i++)
        free(db->event_log.items[i].text);
    free(db->event_log.items);
    db->event_log = (struct db_event_log){.items = NULL};
}

enum err_code events_start(struct db_tx *tx, struct err *err)
{
    int64_t oldest;
    return event_bounds(&tx->ro, &oldest, &tx->db->heads.event_id, err);
}

enum err_code event_add(struct db_tx *tx, const struct db_event *event, int64_t *out_id,
                        struct err *err)
{
    struct db_event full = *event;
    full.id = tx->db->heads.event_id + 1;
    full.time_us = tx->ro.now_us;
    full.request_id = text_or_empty(event->request_id);
    enum err_code code =
        stmt_run(tx->ro.conn,
                 "INSERT INTO events (id, time_us, kind, subject, request_id, body)"
                 " VALUES ($1, $2, $3, $4, $5, $6)",
                 VALUES(INT(full.id), INT(full.time_us), TEXT(full.kind), TEXT(full.subject),
                        TEXT(full.request_id), TEXT(full.body)),
                 err);
    if (code == ERR_OK && full.id % PRUNE_STEP == 0 && full.id > EVENTS_KEPT)
        code = stmt_run(tx->ro.conn, "DELETE FROM events WHERE id <= $1",
                        VALUES(INT(full.id - EVENTS_KEPT)), err);
    if (code == ERR_OK && tx->db->hooks.event != NULL)
        code = log_add(&tx->db->event_log, &full, err);
    if (code != ERR_OK)
        return code;
    tx->db->heads.event_id = full.id;
    *out_id = full.id;
    return ERR_OK;
}

enum err_code event_list(struct db_ro *ro, int64_t after, int limit, db_event_fn *fn, void *arg,
                         struct err *err)
{
    enum err_code code = list_check(limit, err);
    if (code != ERR_OK)
        return code;
    struct stmt s = stmt_start(ro->conn,
                               "SELECT id, time_us, kind, subject, request_id, body FROM events"
                               " WHERE id > $1 ORDER BY id LIMIT $2",
                               VALUES(INT(after), INT(limit)), err);
    bool wants_more = true;
    while (wants_more && stmt_next(&s)) {
        struct db_event event = {
            .id = stmt_int(&s, 0),
            .time_us = stmt_int(&s, 1),
            .kind = stmt_text(&s, 2),
            .subject = stmt_text(&s, 3),
            .request_id = stmt_text(&s, 4),
            .body = stmt_text(&s, 5),
        };
        wants_more = fn(arg, &event);
    }
    return stmt_end(&s);
}

enum err_code event_bounds(struct db_ro *ro, int64_t *out_oldest, int64_t *out_newest,
                           struct err *err)
{
    int64_t oldest = 0, newest = 0;
    enum err_code code =
        stmt_number(ro->conn, "SELECT id FROM events ORDER BY id LIMIT 1", NO_VALUES, &oldest, err);
    if (code == ERR_OK)
        code = stmt_number(ro->conn, "SELECT id FROM events ORDER BY id DESC LIMIT 1", NO_VALUES,
                           &newest, err);
    if (code != ERR_OK)
        return code;
    *out_oldest = oldest;
    *out_newest = newest;
    return ERR_OK;
}
