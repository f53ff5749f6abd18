/*
 * cli/input.c - see input.h.
 */
#include "cli/input.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/json.h"
#include "cli/split.h"

void documents_release(struct documents *documents)
{
    for (size_t i = 0; i < documents->count; i++)
        json_decref(documents->items[i].body);
    free(documents->items);
    memset(documents, 0, sizeof(*documents));
}

enum err_code input_read(FILE *in, char **out, size_t *out_len, struct err *err)
{
    OWN(str) char *text = malloc(INPUT_BYTES_MAX + 1);
    if (text == NULL)
        return err_nomem(err);
    size_t len = fread(text, 1, INPUT_BYTES_MAX + 1, in);
    if (ferror(in))
        return err_set_errno(err, ERR_IO, errno, "cannot read standard input");
    if (len > INPUT_BYTES_MAX)
        return err_set(err, ERR_LIMIT, "standard input has more than %d bytes", INPUT_BYTES_MAX);
    text[len] = '\0';
    *out = GIVE(text);
    *out_len = len;
    return ERR_OK;
}

static enum err_code add_document(struct documents *documents, const struct document *document,
                                  struct err *err)
{
    if (documents->count == INPUT_DOCUMENTS_MAX)
        return err_set(err, ERR_LIMIT, "more than %d documents", INPUT_DOCUMENTS_MAX);
    if (documents->count == documents->room) {
        size_t room = documents->room > 0 ? 2 * documents->room : 16;
        struct document *items = realloc(documents->items, room * sizeof(*items));
        if (items == NULL)
            return err_nomem(err);
        documents->items = items;
        documents->room = room;
    }
    documents->items[documents->count] = *document;
    json_incref(document->body);
    documents->count++;
    return ERR_OK;
}

/* {"kind": ..., "name": ..., "tenant": ..., "document": {...}} */
static enum err_code read_envelope(const json_t *value, struct document *document, struct err *err)
{
    OWN_FINDINGS struct finding_list findings;
    struct json_reader reader, body;
    const char *kind = NULL, *name = "", *tenant = "";
    finding_list_init(&findings);
    json_reader_init(&reader, value, "", &findings);
    json_reader_string(&reader, "kind", true, 1, 64, &kind);
    json_reader_string(&reader, "name", false, 1, sizeof(document->name) - 1, &name);
    json_reader_string(&reader, "tenant", false, 1, sizeof(document->tenant) - 1, &tenant);
    json_reader_object(&reader, "document", true, &body);
    json_reader_end(&reader);
    if (findings.count > 0)
        return err_set_at(err, ERR_INVALID, findings.items[0].pointer, "%s",
                          findings.items[0].message);
    enum err_code code = kind_need(kind, &document->kind, err);
    if (code != ERR_OK)
        return code;
    if (document->kind->put == NULL)
        return err_set(err, ERR_INVALID, "%s cannot be written", document->kind->name);
    snprintf(document->name, sizeof(document->name), "%s", name);
    snprintf(document->tenant, sizeof(document->tenant), "%s", tenant);
    document->body = json_object_get(value, "document");
    return ERR_OK;
}

static enum err_code read_bare(json_t *value, struct document *document, struct err *err)
{
    static const struct {
        const char *member, *kind;
    } known[] = {{"fabric_profile", "fabric"}, {"qos_policy", "policies"}};
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (json_object_get(value, known[i].member) == NULL)
            continue;
        document->kind = kind_find(known[i].kind);
        document->body = value;
        return ERR_OK;
    }
    return err_set(err, ERR_INVALID,
                   "it is neither {\"fabric_profile\": ...} nor {\"qos_policy\": ...} nor "
                   "{\"kind\": ..., \"name\": ..., \"document\": {...}}");
}

/* The name that the options and the document give must be there, and one of them only. */
static enum err_code settle_names(struct document *document, const char *tenant, struct err *err)
{
    const struct kind *kind = document->kind;
    bool of_tenant = kind->key != NULL && strcmp(kind->key, "tenant") == 0;
    if (of_tenant && document->name[0] == '\0' && document->tenant[0] != '\0')
        snprintf(document->name, sizeof(document->name), "%s", document->tenant);
    char *wanted = kind->parent != NULL ? document->tenant : document->name;
    if ((kind->parent != NULL || (of_tenant && kind->rows != NULL)) && wanted[0] == '\0' &&
        tenant != NULL)
        snprintf(wanted, sizeof(document->name), "%s", tenant);
    if (kind->key != NULL && document->name[0] == '\0')
        return err_set(err, ERR_INVALID, "a %s needs %s", kind->single,
                       of_tenant && kind->rows != NULL ? "--tenant" : "a \"name\"");
    if (kind->parent != NULL && document->tenant[0] == '\0')
        return err_set(err, ERR_INVALID, "a %s needs --tenant or a \"tenant\"", kind->single);
    return ERR_OK;
}

static enum err_code add_value(struct documents *documents, json_t *value, const char *where,
                               const char *tenant, struct err *err)
{
    struct document document = {.kind = NULL};
    snprintf(document.where, sizeof(document.where), "%s", where);
    enum err_code code = json_object_get(value, "kind") != NULL
                             ? read_envelope(value, &document, err)
                             : read_bare(value, &document, err);
    if (code == ERR_OK)
        code = settle_names(&document, tenant, err);
    return code == ERR_OK ? add_document(documents, &document, err) : code;
}

static enum err_code add_items(struct documents *documents, json_t *value, const char *where,
                               const char *tenant, struct err *err)
{
    json_t *items = json_object_get(value, "items"), *item;
    char place[sizeof(documents->items->where)];
    size_t i;
    if (!json_is_array(items))
        return add_value(documents, value, where, tenant, err);
    json_array_foreach(items, i, item)
    {
        snprintf(place, sizeof(place), "%.240s, item %zu", where, i);
        enum err_code code = json_is_object(item) ? add_value(documents, item, place, tenant, err)
                                                  : err_set(err, ERR_INVALID, "it is no object");
        if (code != ERR_OK)
            return err_context(err, "item %zu", i);
    }
    return ERR_OK;
}

static enum err_code add_text(struct documents *documents, const char *text, size_t len,
                              const char *name, const char *tenant, struct err *err)
{
    struct split split = {text, len, 0, 0};
    const char *part;
    size_t part_len;
    if (!split_is_several(text, len)) {
        OWN(json) json_t *value = NULL;
        enum err_code code = json_parse_limit(text, len, INPUT_BYTES_MAX, false, &value, err);
        return code == ERR_OK ? add_items(documents, value, name, tenant, err) : code;
    }
    while (split_next(&split, &part, &part_len)) {
        OWN(json) json_t *value = NULL;
        char place[sizeof(documents->items->where)];
        snprintf(place, sizeof(place), "%.240s, document %zu", name, split.count);
        enum err_code code = json_parse_limit(part, part_len, INPUT_BYTES_MAX, false, &value, err);
        if (code == ERR_OK)
            code = add_items(documents, value, place, tenant, err);
        if (code != ERR_OK)
            return err_context(err, "document %zu", split.count);
    }
    return ERR_OK;
}

static enum err_code add_file(struct documents *documents, const char *path, const char *tenant,
                              struct err *err)
{
    OWN(str) char *text = NULL;
    size_t len;
    enum err_code code = file_read(path, INPUT_BYTES_MAX, &text, &len, err);
    if (code != ERR_OK)
        return code;
    code = add_text(documents, text, len, path, tenant, err);
    return code == ERR_OK ? code : err_context(err, "%s", path);
}

static int is_json_file(const struct dirent *entry)
{
    size_t len = strlen(entry->d_name);
    return entry->d_name[0] != '.' && len > 5 && strcmp(entry->d_name + len - 5, ".json") == 0;
}

static enum err_code add_folder(struct documents *documents, const char *path, const char *tenant,
                                struct err *err)
{
    struct dirent **entries = NULL;
    int count = scandir(path, &entries, is_json_file, alphasort);
    enum err_code code = ERR_OK;
    if (count < 0)
        return err_set_errno(err, ERR_IO, errno, "cannot read the folder %s", path);
    if (count == 0)
        code = err_set(err, ERR_INVALID, "the folder %s has no file *.json", path);
    if (count > INPUT_FILES_MAX)
        code =
            err_set(err, ERR_LIMIT, "the folder %s has more than %d files", path, INPUT_FILES_MAX);
    for (int i = 0; i < count; i++) {
        OWN(str) char *file = NULL;
        if (code == ERR_OK && asprintf(&file, "%s/%s", path, entries[i]->d_name) < 0) {
            file = NULL;
            code = err_nomem(err);
        }
        if (code == ERR_OK)
            code = add_file(documents, file, tenant, err);
        free(entries[i]);
    }
    free(entries);
    return code;
}

static enum err_code add_path(struct documents *documents, const char *path, FILE *in,
                              const char *tenant, struct err *err)
{
    struct stat st;
    if (strcmp(path, "-") == 0) {
        OWN(str) char *text = NULL;
        size_t len;
        enum err_code code = input_read(in, &text, &len, err);
        if (code == ERR_OK &&
            (code = add_text(documents, text, len, "standard input", tenant, err)) != ERR_OK)
            err_context(err, "standard input");
        return code;
    }
    if (stat(path, &st) != 0)
        return err_set_errno(err, ERR_IO, errno, "cannot read %s", path);
    return S_ISDIR(st.st_mode) ? add_folder(documents, path, tenant, err)
                               : add_file(documents, path, tenant, err);
}

enum err_code input_documents(const struct arguments *arguments, FILE *in, struct documents *out,
                              struct err *err)
{
    const char *tenant = arguments_get(arguments, OPTION_TENANT);
    enum err_code code = ERR_OK;
    if (!arguments_has(arguments, OPTION_FILE))
        return err_set(err, ERR_INVALID, "-f FILE is wanted (- is standard input)");
    for (size_t i = 0; i < arguments->given_count && code == ERR_OK; i++)
        if (arguments->given[i].option == OPTION_FILE)
            code = add_path(out, arguments->given[i].value, in, tenant, err);
    return code;
}
