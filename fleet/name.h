#pragma once
/*
 * fleet/name.h - identifiers that people choose: tenants, jobs, nodes.
 */

#include <stdbool.h>

#include "base/err.h"

#define NAME_MAX_LEN 63
#define NAME_SIZE    (NAME_MAX_LEN + 1)

/*
 * Letters, digits, '_', '-', '.'; starts with a letter or digit; 1..63 bytes of ASCII. ERR_INVALID
 * with a text that says which character, at `pointer`.
 */
ERR_MUST_CHECK enum err_code name_check(const char *name, const char *what, struct err *err);
bool name_is_valid(const char *name);
