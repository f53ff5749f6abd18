#pragma once
/*
 * server/audit_text.h - before and after of an audit row, as text.
 *
 *   {"digest":"sha256:...","document":{...},"revision":7}
 *
 * Documents of which every revision is kept (fabric, policies) are named by revision and digest;
 * of the others, which the store keeps only as they are now, the document itself is kept in the
 * log, when it is no longer than AUDIT_DOCUMENT_MAX.
 */

#include <stdint.h>

#include "base/err.h"
#include "server/pipeline.h"

#define AUDIT_DOCUMENT_MAX 8192

/* Both are the caller's; "" = there was, or is, none. */
ERR_MUST_CHECK enum err_code audit_text_of_write(const struct write *w, char **out_before,
                                                 char **out_after, struct err *err);
