#pragma once
/*
 * tests/fuzz/fuzz.h - what fuzzers share.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A property that does not hold is a crash, which the fuzzer keeps the input of. */
#define must(condition) must_hold(condition, #condition, __FILE__, __LINE__)

static inline void must_hold(bool condition, const char *text, const char *file, int line)
{
    if (condition)
        return;
    fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, text);
    abort();
}

/* The bytes as a text, up to their first NUL. malloc'ed. */
static inline char *text_of(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    must(text != NULL);
    if (size > 0)
        memcpy(text, data, size);
    text[size] = '\0';
    return text;
}
