#pragma once
/*
 * server/selector.h - ?selector=: "rack=a,gpu!=v100,ready,!drained" over labels. Pure.
 *
 * k=v: the label is there with this value; k!=v: it is not (absent counts); k: it is there; !k: it
 * is not. All terms must hold.
 */

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "base/err.h"
#include "fleet/name.h"

#define SELECTOR_TERMS_MAX 16

struct selector {
    struct selector_term {
        char key[NAME_SIZE], value[NAME_SIZE];
        bool has_value, negated;
    } terms[SELECTOR_TERMS_MAX];
    size_t count;
};

/* ERR_INVALID, ERR_LIMIT. */
ERR_MUST_CHECK enum err_code selector_parse(const char *text, struct selector *out,
                                            struct err *err);
/* labels: an object of texts; NULL = none. */
bool selector_matches(const struct selector *selector, const json_t *labels);
