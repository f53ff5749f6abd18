#pragma once
/*
 * server/page_token.h - where a list goes on, as an opaque text that only this store can make: the
 * key of the last item with a code over it and over what the list was asked for, so that it fits no
 * other list, tenant or filter. Pure.
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/mac.h"

#define PAGE_KEY_SIZE   192
#define PAGE_TOKEN_SIZE (2 * PAGE_KEY_SIZE + 40)

/* bound: what the list was asked for, of any form that is the same for the same list. */
void page_token_seal(const unsigned char key[MAC_KEY_SIZE], const char *bound, const char *last,
                     char out[PAGE_TOKEN_SIZE]);
/* False: no token of this store for this list. */
bool page_token_open(const unsigned char key[MAC_KEY_SIZE], const char *bound, const char *token,
                     char out_last[PAGE_KEY_SIZE]);
