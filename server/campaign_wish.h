#pragma once
/*
 * server/campaign_wish.h - a request for a firmware campaign against the world: its image and the
 * devices that it takes. On the writer thread.
 */

#include "db/db.h"
#include "fleet/campaign_select.h"
#include "server/app.h"

struct campaign_draft {
    struct campaign_request request; /* borrows of the document */
    struct flash_image image;
    struct campaign_selection selection;
    /* Why not: status and code of a problem, its text in err. */
    int status;
    const char *code;
};
void campaign_draft_release(struct campaign_draft *draft);
/* document was read (campaign_request_from_json). On ERR_CONFLICT status and code are set. */
ERR_MUST_CHECK enum err_code campaign_draft_make(struct campaign_draft *draft, struct app *app,
                                                 struct db_ro *ro, const json_t *document,
                                                 struct err *err);
/* The campaign that it would be. */
ERR_MUST_CHECK enum err_code campaign_draft_campaign(const struct campaign_draft *draft,
                                                     struct campaign **out, struct err *err);
/* What it would do: the answer of a dry run. NULL = no memory. */
json_t *campaign_draft_to_json(const struct campaign_draft *draft, const struct view *view,
                               int64_t wall_us);
