/*
 * base/schema_regex.c - patterns of schemas on PCRE2; see schema_node.h.
 *
 * JSON Schema means ECMA-262 expressions: not anchored, $ only at the very end, \d only ASCII
 * digits, \uXXXX. Each pattern is compiled once (JIT where the machine has it). Limits make sure
 * that no pattern runs away; a match data block for each thread makes matching free of malloc.
 */
#include "base/schema_node.h"

#include <pthread.h>
#include <stdlib.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#define MATCH_LIMIT    200000 /* steps of one match; a name of 64 letters needs some dozens */
#define DEPTH_LIMIT    20000
#define HEAP_LIMIT_KIB 4096
#define PATTERN_MAX    4096 /* bytes */

struct schema_regex {
    pcre2_code *code;
    struct schema_regex *next;
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pcre2_compile_context *compile_context;
static pcre2_match_context *match_context;
static pthread_key_t match_data_key;
static bool ready;

static void free_match_data(void *data)
{
    pcre2_match_data_free(data);
}

static void start(void)
{
    compile_context = pcre2_compile_context_create(NULL);
    match_context = pcre2_match_context_create(NULL);
    if (compile_context == NULL || match_context == NULL ||
        pthread_key_create(&match_data_key, free_match_data) != 0)
        return;
    pcre2_set_compile_extra_options(compile_context, PCRE2_EXTRA_ALT_BSUX);
    pcre2_set_max_pattern_length(compile_context, PATTERN_MAX);
    pcre2_set_match_limit(match_context, MATCH_LIMIT);
    pcre2_set_depth_limit(match_context, DEPTH_LIMIT);
    pcre2_set_heap_limit(match_context, HEAP_LIMIT_KIB);
    ready = true;
}

static pcre2_match_data *thread_match_data(void)
{
    pcre2_match_data *data = pthread_getspecific(match_data_key);
    if (data != NULL)
        return data;
    data = pcre2_match_data_create(1, NULL);
    if (data != NULL && pthread_setspecific(match_data_key, data) != 0) {
        pcre2_match_data_free(data);
        return NULL;
    }
    return data;
}

enum err_code schema_regex_new(const char *pattern, size_t len, struct schema_regex **list,
                               const struct schema_regex **out, struct err *err)
{
    pthread_once(&once, start);
    struct schema_regex *regex = ready ? calloc(1, sizeof(*regex)) : NULL;
    if (regex == NULL)
        return err_nomem(err);
    uint32_t options = PCRE2_UTF | PCRE2_DOLLAR_ENDONLY | PCRE2_ALT_BSUX | PCRE2_ALLOW_EMPTY_CLASS |
                       PCRE2_MATCH_UNSET_BACKREF | PCRE2_NEVER_BACKSLASH_C;
    int error;
    PCRE2_SIZE at;
    regex->code = pcre2_compile((PCRE2_SPTR)pattern, len, options, &error, &at, compile_context);
    if (regex->code == NULL) {
        free(regex);
        PCRE2_UCHAR why[128];
        pcre2_get_error_message(error, why, sizeof(why));
        return err_set(err, ERR_INVALID, "the pattern is wrong at character %zu: %s", at + 1,
                       (const char *)why);
    }
    /* Not available on every machine; without it pcre2_match() interprets. */
    (void)pcre2_jit_compile(regex->code, PCRE2_JIT_COMPLETE);
    regex->next = *list;
    *list = regex;
    *out = regex;
    return ERR_OK;
}

void schema_regex_free_all(struct schema_regex *list)
{
    while (list != NULL) {
        struct schema_regex *regex = list;
        list = list->next;
        pcre2_code_free(regex->code);
        free(regex);
    }
}

enum schema_match schema_regex_match(const struct schema_regex *regex, const char *text, size_t len)
{
    pcre2_match_data *data = thread_match_data();
    if (data == NULL)
        return SCHEMA_MATCH_FAILED;
    int rc = pcre2_match(regex->code, (PCRE2_SPTR)text, len, 0, 0, data, match_context);
    if (rc >= 0)
        return SCHEMA_MATCH;
    return rc == PCRE2_ERROR_NOMATCH ? SCHEMA_NO_MATCH : SCHEMA_MATCH_FAILED;
}
