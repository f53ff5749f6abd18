/*
 * bench_commit.c - the peer "raw SQLite": one row a durable commit (WAL, synchronous=FULL), one
 * thread.
 *
 *   bench_commit FOLDER SECONDS     prints {"commits":N,"seconds":S,"per_s":R}
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <sqlite3.h>

static double now_s(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static void run(sqlite3 *db, const char *sql)
{
    char *text = NULL;
    if (sqlite3_exec(db, sql, NULL, NULL, &text) != SQLITE_OK) {
        fprintf(stderr, "bench_commit: %s: %s\n", sql, text);
        exit(1);
    }
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: bench_commit FOLDER SECONDS\n");
        return 2;
    }
    char path[4096];
    snprintf(path, sizeof(path), "%s/raw.sqlite", argv[1]);
    sqlite3 *db = NULL;
    if (sqlite3_open(path, &db) != SQLITE_OK)
        return 1;
    run(db, "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;"
            "CREATE TABLE t(k INTEGER PRIMARY KEY, v TEXT) STRICT;");
    sqlite3_stmt *insert = NULL;
    if (sqlite3_prepare_v2(db, "INSERT INTO t(v) VALUES($1)", -1, &insert, NULL) != SQLITE_OK)
        return 1;
    char value[1025];
    memset(value, 'x', sizeof(value) - 1);
    value[1024] = '\0';
    double start = now_s(), end = start + atof(argv[2]);
    long commits = 0;
    while (now_s() < end) {
        sqlite3_bind_text(insert, 1, value, -1, SQLITE_STATIC);
        if (sqlite3_step(insert) != SQLITE_DONE)
            return 1;
        sqlite3_reset(insert);
        commits++;
    }
    double took = now_s() - start;
    printf("{\"commits\":%ld,\"seconds\":%.3f,\"per_s\":%.1f}\n", commits, took,
           (double)commits / took);
    sqlite3_finalize(insert);
    sqlite3_close(db);
    return 0;
}
