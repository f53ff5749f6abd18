/*
 * server/api_firmware.c - the catalogue of firmware images: bytes to server/images, rows to the
 * store. An image never changes, so its ETag is always "1".
 *
 *   head --> upload_new --> pieces --> upload_write ... --> upload_finish (durable, digest right)
 *        --> row, audit, event in one transaction --> kept, 201.   Any failure: nothing is left.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "db/catalogue.h"
#include "fleet/firmware.h"
#include "server/api.h"
#include "server/campaigns.h"
#include "server/http_intake.h"
#include "server/image_params.h"
#include "server/images.h"
#include "server/page.h"
#include "server/pipeline.h"
#include "server/task.h"

#define IMAGE_REVISION 1
#define SUBJECT_SIZE   (IMAGE_ID_SIZE + 32)
#define DETAIL_SIZE    256

static json_t *image_to_json(const struct db_image *row)
{
    json_t *psids = json_array();
    json_t *item = json_pack("{ss, ss, ss, so, sI, ss, ss, ss}", "id", row->id, "component",
                             row->component, "version", row->version, "psids", psids, "size_bytes",
                             (json_int_t)row->size_bytes, "sha256", row->sha256, "uploaded_by",
                             row->uploaded_by, "etag", "\"1\"");
    if (item == NULL)
        return NULL;
    for (const char *p = row->psids; *p != '\0';) {
        size_t len = strcspn(p, ",");
        json_array_append_new(psids, json_stringn(p, len));
        p += len + (p[len] == ',');
    }
    api_set_text(item, "name", row->name);
    api_set_time(item, "created", row->created_us);
    return item;
}

static bool keep_item(void *arg, const struct db_image *row)
{
    *(json_t **)arg = image_to_json(row);
    return false;
}

/* Upload -------------------------------------------------------------------------------------- */

struct image_post { /* owned by its request */
    struct app *app;
    struct request *request;
    struct upload *upload;
    struct image_params params;
    uint64_t size_bytes;
    json_t *item;                 /* owned: the answer */
    bool existed;                 /* the very same image is there already */
    char conflict[IMAGE_ID_SIZE]; /* another one is; "" = none */
};

static void post_free(void *arg)
{
    struct image_post *post = arg;
    upload_free(post->upload);
    json_decref(post->item);
    free(post);
}

static void reply_failed(struct request *request, enum err_code code, const struct err *err)
{
    if (code == ERR_LIMIT)
        request_reply_problem(request, 507, "storage-full", NULL, NULL, "%s", err->text);
    else if (code == ERR_INVALID)
        request_reply_problem(request, 422, "image-digest", NULL, NULL, "%s", err->text);
    else
        request_reply_err(request, err);
}

static void written(void *arg, enum err_code code, const struct err *err)
{
    struct image_post *post = arg;
    if (code != ERR_OK)
        reply_failed(post->request, code, err);
    request_intake_next(post->request);
}

static void on_piece(struct request *request, void *arg, const char *data, size_t n)
{
    struct image_post *post = arg;
    (void)request;
    upload_write(post->upload, data, n, written, post);
}

static bool on_same(void *arg, const struct db_image *row)
{
    struct image_post *post = arg;
    post->existed = strcmp(row->sha256, post->params.sha256) == 0;
    if (post->existed)
        post->item = image_to_json(row);
    else
        snprintf(post->conflict, sizeof(post->conflict), "%s", row->id);
    return false;
}

static enum err_code record(struct db_tx *tx, const struct request *request, const char *id,
                            const char *action, const char *detail, struct err *err)
{
    char subject[SUBJECT_SIZE], body[64];
    bool gone = strcmp(action, "image.delete") == 0;
    snprintf(subject, sizeof(subject), "firmware/image/%s", id);
    snprintf(body, sizeof(body), "{\"action\":\"%s\"}", action);
    const struct db_audit audit = {.action = action,
                                   .subject = subject,
                                   .before = gone ? detail : "",
                                   .after = gone ? "" : detail};
    return change_record(tx, request, &audit, "firmware.changed", body, err);
}

static enum err_code store_image(struct db_tx *tx, struct image_post *post, struct err *err)
{
    char detail[DETAIL_SIZE];
    const struct image_params *params = &post->params;
    const struct db_image row = {
        .id = upload_id(post->upload),
        .component = params->component,
        .version = params->version,
        .psids = params->psids,
        .name = params->name,
        .size_bytes = (int64_t)post->size_bytes,
        .sha256 = params->sha256,
        .uploaded_by = request_principal(post->request)->name,
        .created_us = db_tx_now_us(tx),
    };
    snprintf(detail, sizeof(detail), "%s %s sha256:%s", row.component, row.version, row.sha256);
    enum err_code code = image_put(tx, &row, err);
    if (code == ERR_OK)
        code = record(tx, post->request, row.id, "image.post", detail, err);
    if (code == ERR_OK && (post->item = image_to_json(&row)) == NULL)
        code = err_nomem(err);
    return code;
}

static enum err_code run_post(struct db_tx *tx, void *arg, struct err *err)
{
    struct image_post *post = arg;
    const struct db_image like = {.component = post->params.component,
                                  .version = post->params.version,
                                  .psids = post->params.psids};
    struct err absent = ERR_INIT;
    enum err_code code = image_find(db_tx_ro(tx), &like, on_same, post, &absent);
    if (code == ERR_NOT_FOUND)
        return store_image(tx, post, err);
    if (code != ERR_OK)
        *err = absent;
    return code;
}

static void stored(void *arg, enum err_code code, const struct err *err)
{
    struct image_post *post = arg;
    struct request *request = post->request;
    char location[SUBJECT_SIZE + 16];
    if (code != ERR_OK) {
        request_reply_err(request, err);
    } else if (post->conflict[0] != '\0') {
        request_reply_problem(request, 409, "image-exists", NULL, NULL,
                              "image %s is of this component, version and boards and has other "
                              "bytes; delete it first, or give this one its own version",
                              post->conflict);
    } else if (post->existed) {
        json_object_set_new(post->item, "unchanged", json_true());
        request_reply_json(request, 200, GIVE(post->item), "\"1\"", NULL);
    } else {
        upload_keep(post->upload);
        snprintf(location, sizeof(location), "/v1/firmware/images/%s", upload_id(post->upload));
        request_reply_json(request, 201, GIVE(post->item), "\"1\"", location);
    }
}

static void finished(void *arg, enum err_code code, const struct err *err)
{
    struct image_post *post = arg;
    struct err failed = ERR_INIT;
    if (code == ERR_OK) {
        code = db_write(post->app->db, run_post, stored, post, &failed);
        err = &failed;
    }
    if (code != ERR_OK)
        reply_failed(post->request, code, err);
}

static void on_whole(struct request *request, void *arg)
{
    struct image_post *post = arg;
    (void)request;
    upload_finish(post->upload, post->params.sha256, finished, post);
}

void api_image_post(struct request *request)
{
    struct app *app = request_app(request);
    struct err err = ERR_INIT;
    const char *reason = request_query(request, "reason");
    struct image_post *post = api_alloc(request, sizeof(*post));
    if (post == NULL)
        return;
    request_own(request, post, post_free);
    post->app = app;
    post->request = request;
    post->size_bytes = request_content_length(request);
    if (!image_params_read(request, &post->params))
        return;
    if (post->size_bytes == 0 || (reason != NULL && strlen(reason) > WRITE_TEXT_MAX)) {
        request_reply_problem(request, 400, "invalid-parameter", NULL, NULL, "%s",
                              post->size_bytes == 0 ? "the body is the image; it is empty"
                                                    : "reason takes at most 256 bytes");
        return;
    }
    if (upload_new(app->images, post->size_bytes, &post->upload, &err) != ERR_OK) {
        request_reply_err(request, &err);
        return;
    }
    request_intake(request, &(struct intake){.arg = post, .take = on_piece, .end = on_whole});
}

/* Reading ------------------------------------------------------------------------------------- */

static bool on_image(void *arg, const struct db_image *row)
{
    return page_add(arg, image_to_json(row), "%s", row->id);
}

static enum err_code read_images(struct db_ro *ro, struct page *page, struct err *err)
{
    return image_list(ro, page->after, page_limit(page), on_image, page, err);
}

void api_images_list(struct request *request)
{
    struct page *page = page_new(request, read_images);
    if (page != NULL)
        page_submit(page);
}

struct image_look {
    struct app *app;
    struct request *request;
    bool content; /* of the file, not the row */
    json_t *item; /* owned */
};

static enum err_code read_image(struct db_ro *ro, void *arg, struct err *err)
{
    struct image_look *look = arg;
    enum err_code code =
        image_get(ro, request_param(look->request, 0), keep_item, &look->item, err);
    return code == ERR_OK && look->item == NULL ? err_nomem(err) : code;
}

static void reply_content(struct image_look *look)
{
    struct err err = ERR_INIT;
    int fd;
    uint64_t size;
    const char *id = json_string_value(json_object_get(look->item, "id"));
    if (image_open(look->app->images, id, &fd, &size, &err) == ERR_OK)
        request_reply_file(look->request, fd, size, "\"1\"");
    else if (err.code == ERR_NOT_FOUND)
        request_reply_problem(look->request, 500, "image-lost", NULL, NULL,
                              "%s; delete the image and upload it again", err.text);
    else
        request_reply_err(look->request, &err);
}

static void image_done(void *arg, enum err_code code, const struct err *err)
{
    struct image_look *look = arg;
    if (code == ERR_NOT_FOUND)
        request_reply_problem(look->request, 404, "not-found", NULL, NULL, "there is no image '%s'",
                              request_param(look->request, 0));
    else if (code != ERR_OK)
        request_reply_err(look->request, err);
    else if (look->content)
        reply_content(look);
    else
        request_reply_json(look->request, 200, GIVE(look->item), "\"1\"", NULL);
    json_decref(look->item);
    free(look);
}

static void look_at(struct request *request, bool content)
{
    struct app *app = request_app(request);
    struct err err = ERR_INIT;
    struct image_look *look = api_alloc(request, sizeof(*look));
    if (look == NULL)
        return;
    *look = (struct image_look){.app = app, .request = request, .content = content};
    enum err_code code = db_read(app->db, read_image, image_done, look, &err);
    if (code != ERR_OK)
        image_done(look, code, &err);
}

void api_image_get(struct request *request)
{
    look_at(request, false);
}

void api_image_content(struct request *request)
{
    look_at(request, true);
}

/* DELETE -------------------------------------------------------------------------------------- */

struct image_delete {
    struct task base;
    char id[IMAGE_ID_SIZE];
    json_t *item;        /* owned */
    const char *minimum; /* while looking for others */
    bool other;          /* one that is new enough for the profile too */
};

static bool on_other(void *arg, const struct db_image *row)
{
    struct image_delete *del = arg;
    del->other |= strcmp(row->id, del->id) != 0 &&
                  firmware_judge(row->version, del->minimum) == FIRMWARE_COMPLIANT;
    return !del->other;
}

/* The last image that can bring a component up to the profile's minimum stays. */
static enum err_code check_needed(struct db_tx *tx, struct image_delete *del, struct err *err)
{
    const char *version = json_string_value(json_object_get(del->item, "version"));
    const char *component = json_string_value(json_object_get(del->item, "component"));
    del->minimum = firmware_minimum(del->base.app->world->fabric, component);
    if (firmware_judge(version, del->minimum) != FIRMWARE_COMPLIANT)
        return ERR_OK;
    enum err_code code = image_each_of(db_tx_ro(tx), component, on_other, del, err);
    if (code != ERR_OK || del->other)
        return code;
    return task_refuse(&del->base, 409, "image-needed", err,
                       "the fabric profile wants %s of at least %s, and this is the last image "
                       "that is new enough; upload another or lower the minimum first",
                       component, del->minimum);
}

/* A campaign that is not over brings it to devices. */
static enum err_code check_unused(struct image_delete *del, struct err *err)
{
    const struct campaign *c = campaigns_of_image(del->base.app->world, del->id);
    if (c == NULL)
        return ERR_OK;
    return task_refuse(&del->base, 409, "image-in-use", err,
                       "firmware campaign c-%lld, which is %s, brings this image to devices; let "
                       "it end, or cancel it",
                       (long long)c->number, campaign_state_name(c->state));
}

static enum err_code run_delete(struct db_tx *tx, struct task *task, struct err *err)
{
    struct image_delete *del = (struct image_delete *)task;
    struct err absent = ERR_INIT;
    enum err_code code = image_get(db_tx_ro(tx), del->id, keep_item, &del->item, &absent);
    if (code == ERR_NOT_FOUND)
        return task_refuse(task, 404, "not-found", err, "there is no image '%s'", del->id);
    if (code != ERR_OK)
        *err = absent;
    else if (del->item == NULL)
        code = err_nomem(err);
    if (code == ERR_OK)
        code = task_check_match(task, "the image", IMAGE_REVISION, err);
    if (code == ERR_OK)
        code = check_unused(del, err);
    if (code == ERR_OK)
        code = check_needed(tx, del, err);
    if (code == ERR_OK)
        code = image_delete(tx, del->id, err);
    if (code == ERR_OK)
        code = record(tx, task->request, del->id, "image.delete",
                      json_string_value(json_object_get(del->item, "sha256")), err);
    if (code == ERR_OK)
        code = effects_add(&task->effects, EFFECT_IMAGE_REMOVED, del->id, err);
    if (code != ERR_OK)
        return code;
    task->status = 204;
    task->revision = 0;
    return ERR_OK;
}

static void release_delete(struct task *task)
{
    struct image_delete *del = (struct image_delete *)task;
    json_decref(del->item);
    task_release(task);
    free(del);
}

void api_image_delete(struct request *request)
{
    struct image_delete *del = api_alloc(request, sizeof(*del));
    if (del == NULL)
        return;
    task_init(&del->base, request, run_delete, release_delete);
    const char *id = request_param(request, 0);
    if (strlen(id) < sizeof(del->id))
        snprintf(del->id, sizeof(del->id), "%s", id);
    task_submit(&del->base);
}
