#pragma once
/*
 * cli/split.h - a text with several JSON objects in a row, cut into one after another. It only
 * counts brackets outside strings; whether each part is JSON, the parser says.
 */

#include <stdbool.h>
#include <stddef.h>

struct split {
    const char *text;
    size_t len, at;
    size_t count; /* of the part that split_next() gave last, from 1 */
};

/* More than one object: what stands after the end of the first is no blank. */
bool split_is_several(const char *text, size_t len);
/* The next part without the blanks around it; false at the end. What does not end is a part too. */
bool split_next(struct split *split, const char **out, size_t *out_len);
