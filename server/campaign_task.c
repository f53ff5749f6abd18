/*
 * server/campaign_task.c - the task of a node as it is published; see campaigns.h.
 */
#include <stdio.h>
#include <string.h>

#include "server/campaigns.h"

void campaign_task_key(const char *node, char out[PUBLISH_KEY_SIZE])
{
    snprintf(out, PUBLISH_KEY_SIZE, "node/%s/flash", node);
}

enum err_code campaign_task_entry(const struct campaign *c, size_t index,
                                  struct publish_entry **out, struct err *err)
{
    struct flash_task task;
    char key[PUBLISH_KEY_SIZE], tag[FLASH_TAG_SIZE], etag[48];
    size_t len;
    campaign_task(c, index, &task);
    OWN(json) json_t *document = flash_task_to_json(&task);
    char *text = document == NULL ? NULL : json_canonical(document, &len);
    if (text == NULL)
        return err_nomem(err);
    campaign_task_key(c->devices[index].node, key);
    flash_task_tag(&task, tag);
    snprintf(etag, sizeof(etag), "\"%.45s\"", tag);
    return publish_entry_new(key, blob_new(text, len, etag, "application/json"), tag, out, err);
}
