#pragma once
/*
 * server/token_wish.h - the document of POST /v1/tokens, judged by what its caller may give away:
 * never more than the caller has.
 */

#include "server/identity.h"

struct token_wish {
    enum role role;
    char tenant[NAME_SIZE];
    char owner[USER_NAME_SIZE]; /* user; "" = nobody's */
    char description[IDENTITY_TEXT_MAX + 1];
    char sources[SOURCES_TEXT_SIZE]; /* as the store keeps them; "" = from anywhere */
    uint32_t scopes;
    int64_t lifetime_s; /* 0 = for ever */
};

/* Reads the request's document into zeroed memory; what is wrong with it is a finding. */
void token_wish_read(const struct request *request, struct token_wish *wish,
                     struct finding_list *findings);
