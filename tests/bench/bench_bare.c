/*
 * bench_bare.c - the peer "bare C": libmicrohttpd and SQLite with group commit and nothing else. No
 * check of the body, no caller, no audit, no event: what is left is what HTTP and a durable row
 * cost here.
 *
 *   bench_bare FOLDER     prints the port it listens on (127.0.0.1); ends at SIGTERM
 *
 * PUT /NAME appends the body as a row and answers after the commit that holds it; GET /NAME answers
 * with the newest row. As many HTTP threads as stellard has, one writer, WAL, synchronous=FULL.
 */
#include <arpa/inet.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <microhttpd.h>
#include <sqlite3.h>

#define THREADS     2
#define BODY_MAX    8192
#define NAME_MAX_   64
#define CONNECTIONS 4096
#define ANSWER      "{\"revision\":1}"

struct put {
    struct put *next;
    struct MHD_Connection *con;
    char name[NAME_MAX_];
    char body[BODY_MAX];
    size_t len;
    bool queued;
};

static struct {
    pthread_mutex_t lock;
    pthread_cond_t filled;
    struct put *first, **last;
    bool ended;
    char path[4096];
    sqlite3 *db;
    sqlite3_stmt *insert;
} bare = {.lock = PTHREAD_MUTEX_INITIALIZER, .filled = PTHREAD_COND_INITIALIZER};

static void fail(const char *what)
{
    fprintf(stderr, "bench_bare: %s\n", what);
    exit(1);
}

static void run(const char *sql)
{
    if (sqlite3_exec(bare.db, sql, NULL, NULL, NULL) != SQLITE_OK)
        fail(sqlite3_errmsg(bare.db));
}

static sqlite3_stmt *prepare(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *stmt = NULL;
    if (sqlite3_prepare_v3(db, sql, -1, SQLITE_PREPARE_PERSISTENT, &stmt, NULL) != SQLITE_OK)
        fail(sqlite3_errmsg(db));
    return stmt;
}

static void store_open(void)
{
    if (sqlite3_open_v2(bare.path, &bare.db,
                        SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
                        NULL) != SQLITE_OK)
        fail("cannot open the store");
    run("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA wal_autocheckpoint=8000;"
        "CREATE TABLE rows(id INTEGER PRIMARY KEY, name TEXT NOT NULL, body TEXT NOT NULL) STRICT;"
        "CREATE INDEX rows_by_name ON rows(name, id)");
    bare.insert = prepare(bare.db, "INSERT INTO rows(name, body) VALUES($1, $2)");
    bare.last = &bare.first;
}

static struct put *take_all(void)
{
    pthread_mutex_lock(&bare.lock);
    while (bare.first == NULL && !bare.ended)
        pthread_cond_wait(&bare.filled, &bare.lock);
    struct put *taken = bare.first;
    bare.first = NULL;
    bare.last = &bare.first;
    pthread_mutex_unlock(&bare.lock);
    return taken;
}

static void *writer(void *arg)
{
    (void)arg;
    struct put *group;
    while ((group = take_all()) != NULL) {
        run("BEGIN IMMEDIATE");
        for (struct put *put = group; put != NULL; put = put->next) {
            sqlite3_bind_text(bare.insert, 1, put->name, -1, SQLITE_STATIC);
            sqlite3_bind_text(bare.insert, 2, put->body, (int)put->len, SQLITE_STATIC);
            if (sqlite3_step(bare.insert) != SQLITE_DONE)
                fail(sqlite3_errmsg(bare.db));
            sqlite3_reset(bare.insert);
        }
        run("COMMIT");
        for (struct put *put = group, *next; put != NULL; put = next) {
            next = put->next;
            MHD_resume_connection(put->con);
        }
    }
    return NULL;
}

static enum MHD_Result answer(struct MHD_Connection *con, unsigned status, const char *text,
                              size_t len)
{
    struct MHD_Response *response =
        MHD_create_response_from_buffer(len, (void *)(uintptr_t)text, MHD_RESPMEM_MUST_COPY);
    if (response == NULL)
        return MHD_NO;
    MHD_add_response_header(response, "Content-Type", "application/json");
    MHD_add_response_header(response, "ETag", "\"1\"");
    enum MHD_Result result = MHD_queue_response(con, status, response);
    MHD_destroy_response(response);
    return result;
}

static enum MHD_Result answer_get(struct MHD_Connection *con, const char *name)
{
    static _Thread_local sqlite3 *db;
    static _Thread_local sqlite3_stmt *select;
    if (db == NULL) {
        if (sqlite3_open_v2(bare.path, &db, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, NULL) !=
            SQLITE_OK)
            fail("cannot open the store to read");
        select = prepare(db, "SELECT body FROM rows WHERE name = $1 ORDER BY id DESC LIMIT 1");
    }
    sqlite3_bind_text(select, 1, name, -1, SQLITE_STATIC);
    enum MHD_Result result = sqlite3_step(select) == SQLITE_ROW
                                 ? answer(con, 200, (const char *)sqlite3_column_text(select, 0),
                                          (size_t)sqlite3_column_bytes(select, 0))
                                 : answer(con, 404, "", 0);
    sqlite3_reset(select);
    return result;
}

static enum MHD_Result on_put(struct MHD_Connection *con, struct put *put, const char *upload,
                              size_t *upload_len)
{
    if (put->queued)
        return answer(con, 200, ANSWER, strlen(ANSWER));
    if (*upload_len > 0) {
        if (*upload_len > BODY_MAX - put->len)
            return MHD_NO;
        memcpy(put->body + put->len, upload, *upload_len);
        put->len += *upload_len;
        *upload_len = 0;
        return MHD_YES;
    }
    put->queued = true;
    put->con = con;
    MHD_suspend_connection(con);
    pthread_mutex_lock(&bare.lock);
    *bare.last = put;
    bare.last = &put->next;
    pthread_cond_signal(&bare.filled);
    pthread_mutex_unlock(&bare.lock);
    return MHD_YES;
}

static enum MHD_Result on_request(void *cls, struct MHD_Connection *con, const char *url,
                                  const char *method, const char *version, const char *upload,
                                  size_t *upload_len, void **state)
{
    (void)cls;
    (void)version;
    if (*state != NULL)
        return strcmp(method, "PUT") == 0 ? on_put(con, *state, upload, upload_len)
                                          : answer_get(con, url);
    struct put *put = calloc(1, sizeof(*put));
    if (put == NULL)
        return MHD_NO;
    snprintf(put->name, sizeof(put->name), "%.*s", NAME_MAX_ - 1, url);
    *state = put;
    return MHD_YES;
}

static void on_completed(void *cls, struct MHD_Connection *con, void **state,
                         enum MHD_RequestTerminationCode code)
{
    (void)cls;
    (void)con;
    (void)code;
    free(*state);
}

int main(int argc, char **argv)
{
    sigset_t end;
    int signal_number;
    pthread_t thread;
    if (argc != 2)
        fail("usage: bench_bare FOLDER");
    sigemptyset(&end);
    sigaddset(&end, SIGTERM);
    sigaddset(&end, SIGINT);
    pthread_sigmask(SIG_BLOCK, &end, NULL);
    snprintf(bare.path, sizeof(bare.path), "%s/bare.sqlite", argv[1]);
    store_open();
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct MHD_Daemon *daemon = MHD_start_daemon(
        MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL, on_request, NULL,
        MHD_OPTION_SOCK_ADDR, &address, MHD_OPTION_THREAD_POOL_SIZE, (unsigned)THREADS,
        MHD_OPTION_CONNECTION_LIMIT, (unsigned)CONNECTIONS, MHD_OPTION_NOTIFY_COMPLETED,
        on_completed, NULL, MHD_OPTION_END);
    if (daemon == NULL || pthread_create(&thread, NULL, writer, NULL) != 0)
        fail("cannot start");
    printf("%u\n", (unsigned)MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_BIND_PORT)->port);
    fflush(stdout);
    sigwait(&end, &signal_number);
    _Exit(0); /* what it holds is a benchmark's: nobody looks at it again */
}
