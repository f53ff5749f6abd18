#pragma once
/*
 * fleet/evidence/line.h - a file cut into lines that readers can trust: escape sequences and
 * control characters are gone, UTF-8 is right. Private to fleet/evidence/.
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "fleet/evidence/reader.h"

struct lines {
    struct evidence_line *items;
    size_t count;
    char *text;     /* what the items point into */
    bool truncated; /* more lines than EVIDENCE_LINES_MAX, or one longer than EVIDENCE_LINE_MAX that
                       is no document (which reads as blank) */
};

ERR_MUST_CHECK enum err_code lines_cut(const char *bytes, size_t len, struct lines *out,
                                       struct err *err);
void lines_release(struct lines *lines);
