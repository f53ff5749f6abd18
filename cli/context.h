#pragma once
/*
 * cli/context.h - what every command works with: where to write, whom to ask and how, and the one
 * way to ask. All that comes from a server is escaped before it reaches a terminal
 * (context_print_text).
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <jansson.h>

#include "base/err.h"
#include "base/http_exchange.h"
#include "cli/exit.h"
#include "cli/operation.h"

/* A large body has no deadline in all, but may not stand still for so long. */
#define CONTEXT_IDLE_NS INT64_C(60000000000)

enum output {
    OUTPUT_TABLE,
    OUTPUT_JSON,
    OUTPUT_JSONL,
    OUTPUT_CSV,
    OUTPUT_NAME,
    OUTPUT_COUNT,
};
extern const char *const output_names[OUTPUT_COUNT + 1]; /* NULL-terminated */

typedef enum err_code exchange_fn(const struct http_exchange *exchange, struct http_answer *out,
                                  struct err *err);

struct context {
    FILE *in, *out, *err;
    char *server, *token, *ca_file; /* owned; token and ca_file may be NULL */
    enum output output;
    bool headings;      /* of tables and CSV */
    bool colours;       /* out is a terminal and NO_COLOR is not set */
    size_t width;       /* columns of the terminal; 0 = it is none */
    bool print_request; /* say what would be sent, and send nothing */
    const void *shown;  /* the view of the table printed last, and how wide its columns were: */
    size_t widths[16];  /* rows that follow without titles stand below those before */
    bool unreported;    /* the last list is empty because nobody told it: unknown, not none */
    int64_t timeout_ns;
    exchange_fn *exchange; /* http_exchange(); tests put their own here */
};

void context_init(struct context *context, FILE *in, FILE *out, FILE *err);
void context_release(struct context *context);
/* -o json or jsonl. */
bool context_is_json(const struct context *context);

/* What a call was answered. */
struct reply {
    struct http_answer answer;
    json_t *json; /* owned; NULL when the body is no JSON */
    char etag[256];
    bool printed; /* --print-request: there is no answer */
};
void reply_release(struct reply *reply);
#define OWN_REPLY __attribute__((cleanup(reply_release)))

/*
 * Makes the call. EXIT_DONE: a success is in *out. Otherwise the reason stands on the error stream
 * already (a problem in the form that -o asks for) and *out holds the answer, if there was one.
 * *out must be empty or released.
 */
enum exit_code context_call(struct context *context, const struct call *call, struct reply *out);
/* The same, without a word: for callers that handle some statuses themselves. */
enum exit_code context_try(struct context *context, const struct call *call, struct reply *out,
                           struct err *err);
/* A success' body goes to the sink as it comes; idle_ns as in http_exchange.h. */
struct sink {
    http_sink_fn *fn;
    void *arg;
    int64_t idle_ns;
};
enum exit_code context_stream(struct context *context, const struct call *call,
                              const struct sink *sink, struct reply *out, struct err *err);
/* Says why a call of context_try() failed. */
void context_explain(struct context *context, const struct reply *reply, const struct err *err);

/* "stellarctl: ..." on the error stream. */
void context_error(struct context *context, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* Prints err's text and returns its exit code. */
enum exit_code context_fail(struct context *context, const struct err *err);

/* Text from outside: hidden and control characters as \uXXXX; ASCII blanks between words stay. */
void print_text(FILE *out, const char *text);
/* Many lines: line ends stay. */
void print_visible(FILE *out, const char *text, size_t len);
/* JSON with the same characters escaped as JSON does it; indent 0 = on one line. */
enum err_code print_json(FILE *out, const json_t *value, int indent, struct err *err);
