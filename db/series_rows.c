/*
 * db/series_rows.c - where a node's row of the picture is. Under `lock`.
 */
#include <stdlib.h>
#include <string.h>

#include "db/series_private.h"

#define ROWS_MAX  (2 * TELEMETRY_ROWS_MAX) /* of a node; what is more is in raw alone */
#define ROW_SLOTS (4 * ROWS_MAX)

static bool is_row(const struct series_row *row, const struct telemetry_subject *subject,
                   uint32_t device)
{
    return row->device == device && row->number == subject->number &&
           row->kind == (uint8_t)subject->kind && row->pid == subject->pid &&
           row->label == subject->label;
}

static bool reserve_row(struct series_node *node)
{
    if (node->row_count < node->row_room)
        return true;
    uint32_t room = node->row_room == 0 ? 16 : node->row_room * 2;
    struct series_row *grown = realloc(node->rows, room * sizeof(*grown));
    if (grown == NULL)
        return false;
    node->rows = grown;
    node->row_room = room;
    return true;
}

static uint32_t row_slot(const struct telemetry_subject *subject, uint32_t device)
{
    const uint32_t key[] = {(uint32_t)subject->kind, device, subject->number, subject->pid,
                            subject->label};
    return (uint32_t)(frame_hash(key, sizeof(key), FRAME_HASH_START) % ROW_SLOTS);
}

static void index_row(struct series_picture *picture, const struct series_node *node, uint32_t at)
{
    const struct series_row *row = &node->rows[at];
    const struct telemetry_subject subject = {.kind = (enum telemetry_kind)row->kind,
                                              .number = row->number,
                                              .pid = row->pid,
                                              .label = row->label};
    uint32_t slot = row_slot(&subject, row->device);
    while (picture->slots[slot] != 0)
        slot = (slot + 1) % ROW_SLOTS;
    picture->slots[slot] = at + 1;
}

/* Of a node whose rows do not come as they came before: new ones among thousands are found by
 * number, not by looking at all of them. */
static enum err_code index_rows(struct series_picture *picture, const struct series_node *node,
                                struct err *err)
{
    if (picture->slots == NULL)
        picture->slots = malloc(ROW_SLOTS * sizeof(*picture->slots));
    if (picture->slots == NULL)
        return err_nomem(err);
    memset(picture->slots, 0, ROW_SLOTS * sizeof(*picture->slots));
    for (uint32_t i = 0; i < node->row_count; i++)
        index_row(picture, node, i);
    picture->indexed = true;
    return ERR_OK;
}

static bool find_row(const struct series_picture *picture, const struct series_node *node,
                     const struct telemetry_subject *subject, uint32_t device, uint32_t *out)
{
    uint32_t slot = row_slot(subject, device);
    for (; picture->slots[slot] != 0; slot = (slot + 1) % ROW_SLOTS) {
        *out = picture->slots[slot] - 1;
        if (is_row(&node->rows[*out], subject, device))
            return true;
    }
    return false;
}

static enum err_code add_row(struct series_picture *picture, struct series_node *node,
                             const struct telemetry_subject *subject, uint32_t device,
                             struct err *err)
{
    if (!reserve_row(node))
        return err_nomem(err);
    node->rows[node->row_count++] = (struct series_row){.device = device,
                                                        .number = subject->number,
                                                        .pid = subject->pid,
                                                        .label = subject->label,
                                                        .kind = (uint8_t)subject->kind};
    picture->rows++;
    index_row(picture, node, node->row_count - 1);
    return ERR_OK;
}

enum err_code series_place_row(struct series_picture *picture, struct series_node *node,
                               const struct telemetry_subject *subject, uint32_t device,
                               uint32_t *hint, uint32_t *out, struct err *err)
{
    enum err_code code = ERR_OK;
    uint32_t at = *hint < node->row_count ? *hint : 0;
    if (node->row_count > 0 && is_row(&node->rows[at], subject, device)) {
        *hint = at + 1;
        *out = at;
        return ERR_OK;
    }
    *out = NO_PLACE;
    if (!picture->indexed)
        code = index_rows(picture, node, err);
    if (code != ERR_OK)
        return code;
    if (!find_row(picture, node, subject, device, &at)) {
        if (node->row_count >= ROWS_MAX)
            return ERR_OK;
        code = add_row(picture, node, subject, device, err);
        at = node->row_count - 1;
    }
    if (code == ERR_OK) {
        *out = at;
        *hint = at + 1;
    }
    return code;
}
