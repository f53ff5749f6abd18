/*
 * server/image_params.c - see image_params.h.
 */
#include "server/image_params.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/finding.h"
#include "base/text.h"
#include "fleet/version.h"

#define LETTERS    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
#define PSID_MAX   63
#define SHA256_HEX 64

static void problem(struct finding_list *findings, const char *parameter, const char *text)
{
    finding_addf(findings, "parameter", FINDING_ERROR, NULL, "%s: %s", parameter, text);
}

static bool is_word(const char *text, const char *chars, size_t max)
{
    size_t len = strlen(text);
    return len > 0 && len <= max && strspn(text, chars) == len;
}

static int compare(const void *a, const void *b)
{
    return strcmp(a, b);
}

static void join(char list[][PSID_MAX + 1], size_t count, char out[IMAGE_PSIDS_SIZE])
{
    size_t used = 0;
    qsort(list, count, sizeof(list[0]), compare);
    out[0] = '\0';
    for (size_t i = 0; i < count; i++)
        if (i == 0 || strcmp(list[i], list[i - 1]) != 0)
            used += (size_t)snprintf(out + used, IMAGE_PSIDS_SIZE - used, "%s%s",
                                     used == 0 ? "" : ",", list[i]);
}

static void read_psids(const char *text, char out[IMAGE_PSIDS_SIZE], struct finding_list *findings)
{
    char list[IMAGE_PSIDS_MAX][PSID_MAX + 1];
    size_t count = 0;
    out[0] = '\0';
    for (const char *p = text; p != NULL; count++) {
        size_t len = strcspn(p, ",");
        if (count == IMAGE_PSIDS_MAX) {
            problem(findings, "psid", "at most 32 boards, with commas between them");
            return;
        }
        if (len == 0 || len > PSID_MAX) {
            problem(findings, "psid", "a board id has 1 to 63 letters, digits, '_', '.' and '-'");
            return;
        }
        memcpy(list[count], p, len);
        list[count][len] = '\0';
        if (!is_word(list[count], LETTERS "_.-", PSID_MAX)) {
            problem(findings, "psid", "a board id has 1 to 63 letters, digits, '_', '.' and '-'");
            return;
        }
        p = p[len] == ',' ? p + len + 1 : NULL;
    }
    join(list, count, out);
}

static void take(const char *text, char *out, size_t size)
{
    snprintf(out, size, "%s", text == NULL ? "" : text);
}

bool image_params_read(struct request *request, struct image_params *out)
{
    const char *component = request_query(request, "component");
    const char *version = request_query(request, "version");
    const char *sha256 = request_query(request, "sha256");
    const char *name = request_query(request, "name");
    uint32_t hidden;
    OWN_FINDINGS struct finding_list findings;
    finding_list_init(&findings);
    *out = (struct image_params){0};
    if (component == NULL || !is_word(component, LETTERS "_-", IMAGE_COMPONENT_SIZE - 1))
        problem(&findings, "component", "the driver of the device, such as mlx5_core, is needed");
    if (version == NULL || strlen(version) >= IMAGE_VERSION_SIZE || !version_is_known(version) ||
        !is_word(version, LETTERS "._+~-", IMAGE_VERSION_SIZE - 1))
        problem(&findings, "version", "a version such as 22.41.1000 is needed");
    if (sha256 == NULL || strlen(sha256) != SHA256_HEX ||
        strspn(sha256, "0123456789abcdef") != SHA256_HEX)
        problem(&findings, "sha256", "64 lower-case hexadecimal digits of the image are needed");
    if (name != NULL &&
        (name[0] == '\0' || strlen(name) >= IMAGE_NAME_SIZE ||
         text_find_hidden(name, strlen(name), &hidden) || strchr(name, '/') != NULL))
        problem(&findings, "name", "a file's name has 1 to 127 bytes, no '/' and nothing hidden");
    read_psids(request_query(request, "psid"), out->psids, &findings);
    if (finding_list_has_errors(&findings)) {
        request_reply_problem(request, 400, "invalid-parameter", &findings, NULL,
                              "%zu parameter%s of the address cannot be used; see errors",
                              findings.count, findings.count == 1 ? "" : "s");
        return false;
    }
    take(component, out->component, sizeof(out->component));
    take(version, out->version, sizeof(out->version));
    take(sha256, out->sha256, sizeof(out->sha256));
    take(name, out->name, sizeof(out->name));
    return true;
}
