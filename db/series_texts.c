/*
 * db/series_texts.c - texts by number, the names of nodes among them; what the picture owns.
 */
#include <stdlib.h>
#include <string.h>

#include "db/series_private.h"

#define NODES_FIRST 64

static bool rehash(struct series_texts *texts)
{
    uint32_t slot_count = texts->slot_count == 0 ? 256 : texts->slot_count * 2;
    uint32_t *slots = calloc(slot_count, sizeof(*slots));
    if (slots == NULL)
        return false;
    for (uint32_t i = 0; i < texts->count; i++) {
        const char *text = texts->items[i];
        uint64_t at = frame_hash(text, strlen(text), FRAME_HASH_START) % slot_count;
        while (slots[at] != 0)
            at = (at + 1) % slot_count;
        slots[at] = i + 1;
    }
    free(texts->slots);
    texts->slots = slots;
    texts->slot_count = slot_count;
    return true;
}

static enum err_code add(struct series_texts *texts, const char *text, struct err *err)
{
    if (texts->count >= texts->max)
        return err_set(
            err, ERR_LIMIT,
            "the store of telemetry holds %u different names already; '%.64s' is one more",
            texts->max, text);
    if (texts->count == texts->room) {
        uint32_t room = texts->room == 0 ? 64 : texts->room * 2;
        char **grown = realloc(texts->items, room * sizeof(*grown));
        if (grown == NULL)
            return err_nomem(err);
        texts->items = grown;
        texts->room = room;
    }
    texts->items[texts->count] = strdup(text);
    if (texts->items[texts->count] == NULL)
        return err_nomem(err);
    texts->count++;
    return ERR_OK;
}

enum err_code series_text(struct series_texts *texts, const char *text, uint32_t *out,
                          struct err *err)
{
    if (texts->count * 2 >= texts->slot_count && !rehash(texts))
        return err_nomem(err);
    uint64_t at = frame_hash(text, strlen(text), FRAME_HASH_START) % texts->slot_count;
    for (; texts->slots[at] != 0; at = (at + 1) % texts->slot_count)
        if (strcmp(texts->items[texts->slots[at] - 1], text) == 0) {
            *out = texts->slots[at] - 1;
            return ERR_OK;
        }
    enum err_code code = add(texts, text, err);
    if (code != ERR_OK)
        return code;
    texts->slots[at] = texts->count;
    *out = texts->count - 1;
    return ERR_OK;
}

void series_texts_release(struct series_texts *texts)
{
    for (uint32_t i = 0; i < texts->count; i++)
        free(texts->items[i]);
    free(texts->items);
    free(texts->slots);
    *texts = (struct series_texts){0};
}

enum err_code series_picture_node(struct series_picture *picture, const char *name, uint32_t *out,
                                  struct err *err)
{
    if (picture->node_names.count == picture->node_room) { /* first: each name has its node */
        uint32_t room = picture->node_room == 0 ? NODES_FIRST : picture->node_room * 2;
        struct series_node *grown = realloc(picture->nodes, room * sizeof(*grown));
        if (grown == NULL)
            return err_nomem(err);
        memset(grown + picture->node_room, 0, (room - picture->node_room) * sizeof(*grown));
        picture->nodes = grown;
        picture->node_room = room;
    }
    return series_text(&picture->node_names, name, out, err);
}

void series_picture_release(struct series_picture *picture)
{
    for (uint32_t i = 0; i < picture->node_names.count; i++) {
        for (uint32_t j = 0; j < picture->nodes[i].row_count; j++)
            free(picture->nodes[i].rows[j].metrics);
        free(picture->nodes[i].rows);
    }
    free(picture->nodes);
    series_texts_release(&picture->node_names);
    series_texts_release(&picture->devices);
    series_texts_release(&picture->name_keys);
    free(picture->names);
    free(picture->cells);
    free(picture->places);
    free(picture->slots);
    telemetry_batch_release(&picture->roll);
}
