/*
 * agent/solar_keys.c - see solar_keys.h.
 */
#include "agent/solar_keys.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/backoff.h"
#include "agent/link_http.h"
#include "base/json.h"
#include "base/log.h"
#include "base/text.h"
#include "datapath/solar/keyring.h"
#include "datapath/solar_node.h"
#include "fleet/name.h"

#define FOLDER_SIZE 160
#define JOB_SIZE    (FOLDER_SIZE + 24)
#define PATH        "/v1/agent/solar-keys"
#define LABEL_MAX   UINT16_MAX
#define BODY_MAX    (256 * 1024)

/* What the server says ------------------------------------------------------------------------ */

struct job_keys {
    uint32_t label;
    struct keyring ring;
};

struct answer {
    size_t count;
    struct job_keys jobs[SOLAR_NODE_JOBS_MAX];
};

static void wipe(struct answer *answer)
{
    if (answer != NULL)
        explicit_bzero(answer, sizeof(*answer));
    free(answer);
}
OWN_DEFINE(answer, struct answer *, wipe)

static const struct job_keys *find(const struct answer *answer, uint32_t label)
{
    for (size_t i = 0; i < answer->count; i++)
        if (answer->jobs[i].label == label)
            return &answer->jobs[i];
    return NULL;
}

static void read_epoch(const struct json_reader *job, size_t i, const json_t *element,
                       struct keyring *ring, struct finding_list *findings)
{
    struct json_reader r;
    struct keyring_key *key = &ring->keys[ring->count];
    const char *hex = NULL;
    int64_t epoch = 0;
    json_reader_element(job, "epochs", i, element, &r);
    bool good = json_reader_int(&r, "epoch", true, 1, INT64_MAX / 10, &epoch);
    good = json_reader_string(&r, "key", true, 2 * MAC_KEY_SIZE, 2 * MAC_KEY_SIZE, &hex) && good;
    if (good &&
        (!hex_decode(hex, key->key, MAC_KEY_SIZE) || keyring_find(ring, (uint64_t)epoch) != NULL))
        finding_addf(findings, "schema", FINDING_ERROR, r.pointer, "no key of an epoch of its own");
    key->epoch = (uint64_t)epoch;
    ring->count++;
    json_reader_end(&r);
}

static void read_job(const struct json_reader *all, size_t i, const json_t *element,
                     struct answer *out, struct finding_list *findings)
{
    struct json_reader r;
    struct job_keys *job = &out->jobs[out->count];
    const json_t *epochs = NULL;
    int64_t label = 0;
    json_reader_element(all, "keys", i, element, &r);
    if (json_reader_int(&r, "label", true, 1, LABEL_MAX, &label) &&
        find(out, (uint32_t)label) != NULL)
        finding_addf(findings, "schema", FINDING_ERROR, r.pointer, "a label that was there before");
    json_reader_array(&r, "epochs", true, KEYRING_KEYS_MAX, &epochs);
    for (size_t e = 0; epochs != NULL && e < json_array_size(epochs); e++)
        read_epoch(&r, e, json_array_get(epochs, e), &job->ring, findings);
    json_reader_end(&r);
    if (job->ring.count == 0)
        finding_addf(findings, "schema", FINDING_ERROR, r.pointer, "a job without a key");
    job->label = (uint32_t)label;
    out->count++;
}

static enum err_code read_answer(const char *body, size_t len, struct answer *out, struct err *err)
{
    OWN(json) json_t *document = NULL;
    struct finding_list findings;
    struct json_reader r;
    const json_t *keys = NULL;
    bool truncated;
    enum err_code code = json_parse_limit(body, len, BODY_MAX, false, &document, NULL);
    if (code != ERR_OK)
        return err_set(err, code, "the server's answer is no JSON");
    finding_list_init(&findings);
    json_reader_init(&r, document, "", &findings);
    json_reader_bool(&r, "truncated", true, &truncated);
    json_reader_array(&r, "keys", true, SOLAR_NODE_JOBS_MAX, &keys);
    for (size_t i = 0; keys != NULL && i < json_array_size(keys); i++)
        read_job(&r, i, json_array_get(keys, i), out, &findings);
    json_reader_end(&r);
    if (findings.count > 0) /* its words may repeat what is wrong, which may be a key */
        code = err_set(err, ERR_INVALID, "the server's answer is not right at \"%s\"",
                       findings.items[0].pointer);
    finding_list_release(&findings);
    return code;
}

enum err_code solar_keys_take(const char *folder, const char *body, size_t len, size_t *out_left,
                              struct err *err)
{
    OWN(answer) struct answer *answer = calloc(1, sizeof(*answer));
    uint32_t labels[SOLAR_NODE_JOBS_MAX];
    char job[JOB_SIZE];
    size_t left = 0, count = solar_node_jobs(folder, labels, SOLAR_NODE_JOBS_MAX);
    struct err why = ERR_INIT;
    if (answer == NULL)
        return err_nomem(err);
    enum err_code code = read_answer(body, len, answer, err);
    if (code != ERR_OK)
        return code;
    for (size_t i = 0; i < count; i++) {
        const struct job_keys *keys = find(answer, labels[i]);
        snprintf(job, sizeof(job), "%s/jobs/%u", folder, labels[i]);
        if (keys == NULL)
            keyring_drop(job);
        bool given = keys != NULL && keyring_write(job, &keys->ring, &why) == ERR_OK;
        left += !given;
    }
    *out_left = left;
    if (why.code != ERR_OK && err != NULL)
        *err = why;
    return why.code;
}

/* When to ask --------------------------------------------------------------------------------- */

struct solar_keys {
    struct http_client *client;
    const struct link *link;
    struct loop_timer *timer;
    char folder[FOLDER_SIZE], node[NAME_SIZE];
    char said[ERR_TEXT_MAX]; /* the last problem; "" = none */
    bool running;
    uint64_t request;
    int64_t next_ns; /* when it is asked again though nothing is new; 0 = now */
    size_t asked_count;
    uint32_t asked[SOLAR_NODE_JOBS_MAX]; /* folders that were there then */
};

static int64_t now_ns(void)
{
    struct clock *clock = clock_system();
    return clock->mono_ns(clock);
}

static void say(struct solar_keys *keys, const struct err *err)
{
    if (strcmp(keys->said, err->text) == 0)
        return;
    if (err->code != ERR_OK)
        log_warning("agent", "node %s: keys of Solar-RDMA's jobs: %s", keys->node, err->text);
    else
        log_info("agent", "node %s: keys of Solar-RDMA's jobs are there", keys->node);
    snprintf(keys->said, sizeof(keys->said), "%s", err->text);
}

static void again_in(struct solar_keys *keys, int64_t seconds)
{
    keys->next_ns = now_ns() + jitter(seconds * NS_PER_S, 20, jitter_random());
}

static void on_answer(void *arg, const struct http_response *response)
{
    struct solar_keys *keys = arg;
    struct err err = response->err;
    size_t left = 1;
    keys->running = false;
    if (err.code == ERR_OK && response->status != 200)
        err_set(&err, ERR_UNAVAILABLE, "the server answers %ld", response->status);
    if (err.code == ERR_OK &&
        solar_keys_take(keys->folder, response->body == NULL ? "" : response->body,
                        response->body_len, &left, &err) != ERR_OK)
        left = left > 0 ? left : 1;
    say(keys, &err);
    again_in(keys, left > 0 ? SOLAR_KEYS_AGAIN_S : SOLAR_KEYS_EVERY_S);
}

static enum err_code ask(struct solar_keys *keys, struct err *err)
{
    struct link_image from;
    enum err_code code = link_http_at(keys->link, PATH, &from, err);
    if (code != ERR_OK)
        return code;
    const struct http_request request = {.method = "GET",
                                         .url = from.url,
                                         .bearer = from.token,
                                         .ca_file = from.ca_file,
                                         .cert_file = from.identity,
                                         .key_file = from.identity};
    code = http_client_start(keys->client, &request, on_answer, keys, &keys->request, err);
    keys->running = code == ERR_OK;
    link_image_release(&from);
    return code;
}

static bool was_asked(const struct solar_keys *keys, uint32_t label)
{
    for (size_t i = 0; i < keys->asked_count; i++)
        if (keys->asked[i] == label)
            return true;
    return false;
}

static void look(struct solar_keys *keys)
{
    uint32_t labels[SOLAR_NODE_JOBS_MAX];
    struct err err = ERR_INIT;
    size_t count = solar_node_jobs(keys->folder, labels, SOLAR_NODE_JOBS_MAX);
    bool due = count > 0 && now_ns() >= keys->next_ns;
    for (size_t i = 0; i < count && !due; i++)
        due = !was_asked(keys, labels[i]);
    if (!due || keys->running)
        return;
    memcpy(keys->asked, labels, count * sizeof(labels[0]));
    keys->asked_count = count;
    if (ask(keys, &err) != ERR_OK) {
        say(keys, &err);
        again_in(keys, SOLAR_KEYS_AGAIN_S);
    }
}

static void on_timer(void *arg)
{
    struct solar_keys *keys = arg;
    look(keys);
    loop_timer_set(keys->timer, SOLAR_KEYS_LOOK_S * NS_PER_S);
}

enum err_code solar_keys_new(struct loop *loop, struct http_client *client,
                             const struct solar_keys_config *config, struct solar_keys **out,
                             struct err *err)
{
    const char *root = config->root == NULL ? "" : config->root;
    OWN(solar_keys) struct solar_keys *keys = calloc(1, sizeof(*keys));
    if (keys == NULL)
        return err_nomem(err);
    int len = snprintf(keys->folder, sizeof(keys->folder), "%s" SOLAR_FOLDER, root);
    if (len < 0 || (size_t)len >= sizeof(keys->folder))
        return err_set(err, ERR_LIMIT, "the root's name has too many bytes");
    snprintf(keys->node, sizeof(keys->node), "%s", config->node);
    keys->client = client;
    keys->link = config->link;
    enum err_code code = loop_timer_new(loop, on_timer, keys, &keys->timer, err);
    if (code != ERR_OK)
        return code;
    loop_timer_set(keys->timer, 0);
    *out = GIVE(keys);
    return ERR_OK;
}

void solar_keys_free(struct solar_keys *keys)
{
    if (keys == NULL)
        return;
    if (keys->running)
        http_client_cancel(keys->client, keys->request);
    loop_timer_free(keys->timer);
    free(keys);
}
