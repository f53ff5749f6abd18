/*
 * tests/unit/base/test_schema_suite.c - the validator against the JSON Schema test suite that
 * Debian ships (json-schema-test-suite, drafts 3 to 7).
 *
 * The validator speaks draft 2020-12, so schemas of draft 7 are translated first (array-form items,
 * additionalItems, dependencies, $id as an anchor, siblings of $ref). What cannot hold is left out
 * by name below, with the reason; everything else must pass, and there must not be fewer cases than
 * now. The documents that refRemote.json fetches are put under $defs with their $id instead.
 */
#include "tests/unit/test.h"

#include <dirent.h>
#include <unistd.h>

#include <jansson.h>

#include "base/schema.h"

#define ROOT      "/usr/share/json-schema-test-suite"
#define SUITE     ROOT "/tests/draft7"
#define CASES_MIN 479 /* cases that pass; the suite of Debian 12 */

struct skip {
    const char *file, *group; /* group NULL = the whole file */
    const char *reason;
};

static const struct skip skips[] = {
    {"definitions.json", NULL, "refers to the meta-schema by its URL; nothing is fetched"},
    {"ref.json", "relative pointer ref to array",
     "points into array-form items, which draft 2020-12 calls prefixItems"},
    {"ref.json", "remote ref, containing refs itself",
     "refers to the meta-schema by its URL; nothing is fetched"},
};

struct score {
    unsigned passed, failed, left_out;
};

static json_t *translate(json_t *schema);

static bool is_one_of(const char *name, const char *const *names)
{
    for (; *names != NULL; names++)
        if (strcmp(name, *names) == 0)
            return true;
    return false;
}

static void translate_items(json_t *schema)
{
    json_t *items = json_object_get(schema, "items");
    json_t *additional = json_object_get(schema, "additionalItems");
    if (json_is_array(items)) {
        if (json_array_size(items) > 0)
            json_object_set(schema, "prefixItems", items);
        if (additional != NULL)
            json_object_set(schema, "items", additional);
        else
            json_object_del(schema, "items");
    }
    json_object_del(schema, "additionalItems");
}

static void translate_dependencies(json_t *schema)
{
    json_t *dependencies = json_object_get(schema, "dependencies");
    if (dependencies == NULL)
        return;
    json_t *required = json_object(), *schemas = json_object(), *value;
    const char *key;
    json_object_foreach(dependencies, key, value)
        json_object_set(json_is_array(value) ? required : schemas, key, value);
    json_object_set_new(schema, "dependentRequired", required);
    json_object_set_new(schema, "dependentSchemas", schemas);
    json_object_del(schema, "dependencies");
}

/* Draft 7: beside $ref nothing counts. */
static void translate_ref(json_t *schema)
{
    json_t *ref = json_object_get(schema, "$ref");
    if (!json_is_string(ref))
        return;
    json_t *definitions = json_object_get(schema, "definitions");
    json_incref(ref);
    json_incref(definitions);
    json_object_clear(schema);
    json_object_set_new(schema, "$ref", ref);
    if (definitions != NULL)
        json_object_set_new(schema, "definitions", definitions);
}

static void translate_id(json_t *schema)
{
    const char *id = json_string_value(json_object_get(schema, "$id"));
    if (id == NULL || id[0] != '#')
        return;
    json_object_set_new(schema, "$anchor", json_string(id + 1));
    json_object_del(schema, "$id");
}

static json_t *translate(json_t *schema)
{
    static const char *const maps[] = {"properties", "patternProperties", "definitions",
                                       "dependentSchemas", NULL};
    static const char *const values[] = {"enum", "const", "default", "examples", NULL};
    if (!json_is_object(schema))
        return schema;
    translate_ref(schema);
    translate_id(schema);
    translate_items(schema);
    translate_dependencies(schema);
    const char *key, *name;
    json_t *value, *member;
    size_t i;
    json_object_foreach(schema, key, value)
    {
        if (is_one_of(key, values))
            continue;
        if (is_one_of(key, maps)) {
            json_object_foreach(value, name, member) translate(member);
        } else if (json_is_array(value)) {
            json_array_foreach(value, i, member) translate(member);
        } else {
            translate(value);
        }
    }
    return schema;
}

static void bundle_remotes(json_t *schema)
{
    static const char *const names[] = {"integer.json", "subSchemas.json", "name.json",
                                        "folder/folderInteger.json"};
    json_t *defs = json_object();
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        char path[TEST_PATH_MAX], id[128];
        snprintf(path, sizeof(path), "%s/remotes/%s", ROOT, names[i]);
        snprintf(id, sizeof(id), "http://localhost:1234/%s", names[i]);
        json_t *remote = json_load_file(path, 0, NULL);
        assert_non_null(remote);
        json_object_set_new(remote, "$id", json_string(id));
        json_object_set_new(defs, names[i], translate(remote));
    }
    json_object_set_new(schema, "$defs", defs);
}

static const char *skip_reason(const char *file, const char *group)
{
    for (size_t i = 0; i < sizeof(skips) / sizeof(skips[0]); i++)
        if (strcmp(skips[i].file, file) == 0 &&
            (skips[i].group == NULL || strcmp(skips[i].group, group) == 0))
            return skips[i].reason;
    return NULL;
}

/* Both modes must agree: the fast yes/no, and with findings (then a no has at least one). */
static bool verdict_is(const struct schema *schema, const json_t *data, bool wanted)
{
    OWN_FINDINGS struct finding_list findings;
    finding_list_init(&findings);
    bool fast = schema_validate(schema, data, NULL);
    bool told = schema_validate(schema, data, &findings);
    return fast == wanted && told == wanted && (findings.count == 0) == wanted;
}

static void run_group(const char *file, json_t *group, struct score *score)
{
    const char *name = json_string_value(json_object_get(group, "description"));
    json_t *tests = json_object_get(group, "tests"), *test;
    const char *reason = skip_reason(file, name);
    if (reason != NULL) {
        print_message("left out: %s: %s: %s\n", file, name, reason);
        score->left_out += (unsigned)json_array_size(tests);
        return;
    }
    OWN(schema) struct schema *schema = NULL;
    struct err err = ERR_INIT;
    json_t *document = translate(json_object_get(group, "schema"));
    if (strcmp(file, "refRemote.json") == 0)
        bundle_remotes(document);
    if (schema_compile(document, false, &schema, &err)) {
        print_error("%s: %s: %s\n", file, name, err.text);
        score->failed += (unsigned)json_array_size(tests);
        return;
    }
    size_t i;
    json_array_foreach(tests, i, test)
    {
        if (verdict_is(schema, json_object_get(test, "data"),
                       json_is_true(json_object_get(test, "valid")))) {
            score->passed++;
            continue;
        }
        score->failed++;
        print_error("%s: %s: %s\n", file, name,
                    json_string_value(json_object_get(test, "description")));
    }
}

static void run_file(const char *folder, const char *name, struct score *score)
{
    char path[TEST_PATH_MAX];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    json_error_t error;
    OWN(json) json_t *groups = json_load_file(path, JSON_ALLOW_NUL, &error);
    if (groups == NULL)
        fail_msg("%s: %s", path, error.text);
    size_t i;
    json_t *group;
    json_array_foreach(groups, i, group) run_group(name, group, score);
}

static void run_folder(const char *folder, struct score *score)
{
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;)
        if (strstr(entry->d_name, ".json") != NULL)
            run_file(folder, entry->d_name, score);
    closedir(dir);
}

static void draft7_cases_pass_after_translation(void **state)
{
    (void)state;
    if (access(SUITE, R_OK) != 0) {
        print_message("skipped: %s is not installed (package json-schema-test-suite)\n", SUITE);
        skip();
    }
    struct score score = {0};
    run_folder(SUITE, &score);
    /* Optional parts: what the validator claims to do. */
    run_file(SUITE "/optional", "zeroTerminatedFloats.json", &score);
    static const char *const formats[] = {"date-time.json",   "date.json", "time.json",
                                          "ipv4.json",        "ipv6.json", "hostname.json",
                                          "json-pointer.json"};
    for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
        run_file(SUITE "/optional/format", formats[i], &score);
    print_message("JSON Schema test suite, draft 7: %u passed, %u failed, %u left out\n",
                  score.passed, score.failed, score.left_out);
    assert_int_equal(score.failed, 0);
    assert_true(score.passed >= CASES_MIN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(draft7_cases_pass_after_translation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
