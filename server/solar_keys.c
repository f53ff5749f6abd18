/*
 * server/solar_keys.c - see solar_keys.h.
 */
#include "server/solar_keys.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "base/own.h"
#include "base/text.h"

#define PATH_SIZE 4096
#define FILE_MAX  256
#define HEX_SIZE  (2 * MAC_KEY_SIZE + 1)
#define US_PER_S  INT64_C(1000000)

/* Secret -------------------------------------------------------------------------------------- */

static enum err_code make_secret(const char *path, struct err *err)
{
    unsigned char secret[MAC_KEY_SIZE];
    char text[HEX_SIZE + 1];
    random_bytes(secret, sizeof(secret));
    hex_encode(secret, sizeof(secret), text);
    text[HEX_SIZE - 1] = '\n';
    enum err_code code = file_write_atomic(path, text, HEX_SIZE, 0600, err);
    explicit_bzero(secret, sizeof(secret));
    explicit_bzero(text, sizeof(text));
    if (code == ERR_OK)
        log_info("stellard", "made the secret of Solar-RDMA's keys in %s", path);
    return code;
}

static enum err_code read_secret(const char *path, unsigned char out[MAC_KEY_SIZE], struct err *err)
{
    char *text = NULL;
    size_t len;
    if (file_is_open_to_others(path))
        return err_set(err, ERR_DENIED,
                       "%s can be read by others than its owner; chmod 0600 it, or remove it for a "
                       "new one",
                       path);
    enum err_code code = file_read(path, FILE_MAX, &text, &len, err);
    if (code != ERR_OK)
        return code;
    if (len == HEX_SIZE && text[len - 1] == '\n')
        text[--len] = '\0';
    if (!hex_decode(text, out, MAC_KEY_SIZE))
        code = err_set(err, ERR_INVALID,
                       "%s does not hold 64 hexadecimal digits; remove it for a new one", path);
    explicit_bzero(text, len);
    free(text);
    return code;
}

enum err_code solar_secret_open(const char *data_dir, unsigned char out[MAC_KEY_SIZE],
                                struct err *err)
{
    char path[PATH_SIZE];
    snprintf(path, sizeof(path), "%s/solar.key", data_dir);
    enum err_code code = access(path, F_OK) == 0 ? ERR_OK : make_secret(path, err);
    return code == ERR_OK ? read_secret(path, out, err) : code;
}

/* Keys ---------------------------------------------------------------------------------------- */

int64_t solar_epoch_at(int64_t wall_us)
{
    int64_t epoch = wall_us / US_PER_S / SOLAR_KEY_PERIOD_S;
    return epoch > 1 ? epoch : 2; /* a clock that was never set: there is one before it */
}

/* Names have no line ends (fleet/name.h), so no two jobs and epochs have the same text. */
void solar_job_key(const unsigned char secret[MAC_KEY_SIZE], const struct placement *placement,
                   int64_t epoch, unsigned char out[MAC_KEY_SIZE])
{
    char text[2 * NAME_SIZE + 80];
    int len = snprintf(text, sizeof(text), "stellar solar job key\n%s\n%s\n%u\n%lld",
                       placement->tenant, placement->job, placement->label, (long long)epoch);
    mac_sha256(secret, text, (size_t)len, out);
}

static json_t *epoch_to_json(const unsigned char secret[MAC_KEY_SIZE],
                             const struct placement *placement, int64_t epoch)
{
    unsigned char key[MAC_KEY_SIZE];
    char hex[HEX_SIZE];
    solar_job_key(secret, placement, epoch, key);
    hex_encode(key, sizeof(key), hex);
    json_t *object = json_pack("{sI, ss}", "epoch", (json_int_t)epoch, "key", hex);
    explicit_bzero(key, sizeof(key));
    explicit_bzero(hex, sizeof(hex));
    return object;
}

static json_t *job_to_json(const unsigned char secret[MAC_KEY_SIZE],
                           const struct placement *placement, int64_t now)
{
    static const int order[SOLAR_KEY_EPOCHS] = {0, -1, 1};
    json_t *epochs = json_array();
    for (size_t i = 0; epochs != NULL && i < SOLAR_KEY_EPOCHS; i++)
        if (json_array_append_new(epochs, epoch_to_json(secret, placement, now + order[i])) != 0) {
            json_decref(epochs);
            epochs = NULL;
        }
    return epochs == NULL
               ? NULL
               : json_pack("{sI, so}", "label", (json_int_t)placement->label, "epochs", epochs);
}

static int by_label(const void *a, const void *b)
{
    const struct placement *x = *(const struct placement *const *)a;
    const struct placement *y = *(const struct placement *const *)b;
    return (x->label > y->label) - (x->label < y->label);
}

static bool runs_on(const struct view *view, const struct placement *placement,
                    const struct view_node *node)
{
    const struct view_tenant *tenant = view_tenant_get(view, placement->tenant);
    return tenant != NULL && tenant->policy != NULL &&
           policy_job_get(tenant->policy, placement->job) != NULL &&
           view_placed_on(placement, node);
}

enum err_code solar_keys_to_json(const unsigned char secret[MAC_KEY_SIZE], const struct view *view,
                                 const struct view_node *node, int64_t wall_us, json_t **out,
                                 struct err *err)
{
    OWN(mem) void *memory = calloc(view->placement_count + 1, sizeof(struct placement *));
    OWN(json) json_t *keys = json_array();
    const struct placement **here = memory;
    size_t count = 0;
    if (memory == NULL || keys == NULL)
        return err_nomem(err);
    for (size_t i = 0; i < view->placement_count; i++)
        if (runs_on(view, view->placements[i], node))
            here[count++] = view->placements[i];
    qsort(here, count, sizeof(*here), by_label);
    for (size_t i = 0; i < count && i < SOLAR_KEY_JOBS_MAX; i++)
        if (json_array_append_new(keys, job_to_json(secret, here[i], solar_epoch_at(wall_us))) != 0)
            return err_nomem(err);
    *out = json_pack("{sO, sb}", "keys", keys, "truncated", count > SOLAR_KEY_JOBS_MAX);
    return *out == NULL ? err_nomem(err) : ERR_OK;
}
