/*
 * agent/outbox.c - see outbox.h. Called by the agent, which gives the first one to its link.
 */
#include "agent/outbox.h"

#include <string.h>

#include "agent/keep.h"
#include "base/json.h"
#include "base/log.h"
#include "fleet/read.h"

#define OUTBOX_VERSION 1

/* Another node's receipts, left in a folder whose node was renamed, are skipped: the server would
 * refuse them for ever, and this node's own would wait behind them. */
static enum err_code from_json(const json_t *document, const char *node, json_t *out,
                               struct err *err)
{
    OWN_FINDINGS struct finding_list findings;
    finding_list_init(&findings);
    struct json_reader r;
    int64_t version;
    const json_t *receipts = NULL;
    json_reader_init(&r, document, "", &findings);
    json_reader_int(&r, "version", true, OUTBOX_VERSION, OUTBOX_VERSION, &version);
    json_reader_array(&r, "receipts", true, OUTBOX_MAX, &receipts);
    json_reader_end(&r);
    enum err_code code = read_result(&findings, err);
    for (size_t i = 0; code == ERR_OK && i < json_array_size(receipts); i++) {
        json_t *element = json_array_get(receipts, i);
        OWN(receipt) struct receipt *receipt = NULL;
        code = receipt_from_json(element, &receipt, err);
        bool ours = code == ERR_OK && strcmp(receipt->node, node) == 0;
        if (code == ERR_OK && !ours)
            log_warning("agent", "node %s: a receipt of node %s was left here; it is dropped", node,
                        receipt->node);
        if (ours && json_array_append(out, element) != 0)
            code = err_nomem(err);
    }
    return code;
}

enum err_code outbox_init(struct outbox *outbox, const char *state_dir, const char *node,
                          struct clock *clock, struct err *err)
{
    OWN(json) json_t *receipts = json_array();
    OWN(json) json_t *document = NULL;
    if (receipts == NULL)
        return err_nomem(err);
    struct err why = ERR_INIT;
    enum err_code code = keep_read(state_dir, OUTBOX_FILE, &document, &why);
    if (code == ERR_OK)
        code = from_json(document, node, receipts, &why);
    if (code == ERR_NOMEM)
        return err_nomem(err); /* says nothing about the file */
    if (code != ERR_OK && code != ERR_NOT_FOUND)
        keep_set_aside(state_dir, OUTBOX_FILE, clock, &why);
    *outbox = (struct outbox){.state_dir = state_dir, .node = node, .receipts = GIVE(receipts)};
    return ERR_OK;
}

void outbox_release(struct outbox *outbox)
{
    json_decref(outbox->receipts);
    outbox->receipts = NULL;
}

static enum err_code save(const struct outbox *outbox, struct err *err)
{
    if (json_array_size(outbox->receipts) == 0)
        return keep_remove(outbox->state_dir, OUTBOX_FILE, err);
    OWN(json) json_t *object = json_object();
    if (object == NULL || !write_member(object, "version", json_integer(OUTBOX_VERSION)) ||
        !write_member(object, "receipts", json_incref(outbox->receipts)))
        return err_nomem(err);
    return keep_write(outbox->state_dir, OUTBOX_FILE, object, err);
}

enum err_code outbox_add(struct outbox *outbox, const struct receipt *receipt, struct err *err)
{
    if (json_array_append_new(outbox->receipts, receipt_to_json(receipt)) != 0)
        return err_nomem(err);
    if (json_array_size(outbox->receipts) > OUTBOX_MAX) {
        log_warning("agent", "node %s: more than %d receipts wait for the server: one is dropped",
                    outbox->node, OUTBOX_MAX);
        json_array_remove(outbox->receipts, 1); /* the first may be on its way */
    }
    return save(outbox, err);
}

const json_t *outbox_first(const struct outbox *outbox)
{
    return json_array_get(outbox->receipts, 0);
}

enum err_code outbox_drop_first(struct outbox *outbox, struct err *err)
{
    json_array_remove(outbox->receipts, 0);
    return save(outbox, err);
}
