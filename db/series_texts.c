/*
 * db/series_texts.c - texts by number, the names of nodes among them; what the picture owns.
 */
#include <stdlib.h>
#include <string.h>

#include "db/series_private.h"

#define NODES_FIRST 64

/* Into empty slots. */
static void fill(struct series_texts *texts)
{
    for (uint32_t i = 0; i < texts->count; i++) {
        const char *text = texts->items[i];
        if (text == NULL)
            continue;
        uint64_t at = frame_hash(text, strlen(text), FRAME_HASH_START) % texts->slot_count;
        while (texts->slots[at] != 0)
            at = (at + 1) % texts->slot_count;
        texts->slots[at] = i + 1;
    }
}

static bool rehash(struct series_texts *texts)
{
    uint32_t slot_count = texts->slot_count == 0 ? 256 : texts->slot_count * 2;
    uint32_t *slots = calloc(slot_count, sizeof(*slots));
    if (slots == NULL)
        return false;
    free(texts->slots);
    texts->slots = slots;
    texts->slot_count = slot_count;
    fill(texts);
    return true;
}

static bool grow(struct series_texts *texts)
{
    uint32_t room = texts->room == 0 ? 64 : texts->room * 2;
    char **items = realloc(texts->items, room * sizeof(*items));
    if (items == NULL)
        return false;
    texts->items = items;
    uint32_t *owners = realloc(texts->owners, room * sizeof(*owners));
    if (owners == NULL)
        return false;
    texts->owners = owners;
    uint32_t *spare = realloc(texts->spare, room * sizeof(*spare));
    if (spare == NULL)
        return false;
    texts->spare = spare;
    texts->room = room;
    return true;
}

static enum err_code add(struct series_texts *texts, const char *text, uint32_t *out,
                         struct err *err)
{
    if (texts->count - texts->spare_count >= texts->max)
        return err_set(
            err, ERR_LIMIT,
            "the store of telemetry holds %u different names already; '%.64s' is one more",
            texts->max, text);
    if (texts->count == texts->room && !grow(texts))
        return err_nomem(err);
    char *copy = strdup(text);
    if (copy == NULL)
        return err_nomem(err);
    if (texts->spare_count > 0) {
        *out = texts->spare[--texts->spare_count];
        texts->renamed = true;
    } else {
        *out = texts->count++;
    }
    texts->items[*out] = copy;
    texts->owners[*out] = 0;
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
    uint32_t number = 0;
    enum err_code code = add(texts, text, &number, err);
    if (code != ERR_OK)
        return code;
    texts->slots[at] = number + 1;
    *out = number;
    return ERR_OK;
}

void series_texts_forget(struct series_texts *texts, const uint8_t *used)
{
    texts->spare_count = 0;
    for (uint32_t i = 0; i < texts->count; i++) {
        if (!used[i]) {
            free(texts->items[i]);
            texts->items[i] = NULL;
        }
        if (texts->items[i] == NULL)
            texts->spare[texts->spare_count++] = i;
    }
    if (texts->slots != NULL)
        memset(texts->slots, 0, texts->slot_count * sizeof(*texts->slots));
    fill(texts);
}

void series_texts_release(struct series_texts *texts)
{
    for (uint32_t i = 0; i < texts->count; i++)
        free(texts->items[i]);
    free(texts->items);
    free(texts->owners);
    free(texts->spare);
    free(texts->slots);
    *texts = (struct series_texts){0};
}

/* Each number of a name has its node. */
static bool reserve_nodes(struct series_picture *picture, uint32_t count)
{
    uint32_t room = picture->node_room == 0 ? NODES_FIRST : picture->node_room;
    while (room < count)
        room *= 2;
    if (room == picture->node_room)
        return true;
    struct series_node *grown = realloc(picture->nodes, room * sizeof(*grown));
    if (grown == NULL)
        return false;
    memset(grown + picture->node_room, 0, (room - picture->node_room) * sizeof(*grown));
    picture->nodes = grown;
    picture->node_room = room;
    return true;
}

enum err_code series_picture_node(struct series_picture *picture, const char *name, uint32_t *out,
                                  struct err *err)
{
    if (!reserve_nodes(picture, picture->node_names.count + 1))
        return err_nomem(err);
    enum err_code code = series_text(&picture->node_names, name, out, err);
    if (code == ERR_OK)
        picture->nodes[*out].number = *out;
    return code;
}

enum err_code series_picture_skip(struct series_picture *picture, struct err *err)
{
    struct series_texts *texts = &picture->node_names;
    if (!reserve_nodes(picture, texts->count + 1) || (texts->count == texts->room && !grow(texts)))
        return err_nomem(err);
    texts->items[texts->count++] = NULL;
    return ERR_OK;
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
