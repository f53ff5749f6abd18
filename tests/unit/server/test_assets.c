/*
 * tests/unit/server/test_assets.c - the built-in files and the table they come from.
 */
#include "tests/unit/test.h"

#include "server/assets.h"
#include "server/http.h"

static const unsigned char plain[] = "<!doctype html>", packed[] = "\x1f\x8b";

static const struct asset_file table[] = {
    {"/assets/a-1.js",
     "text/javascript",
     "00112233445566aa",
     true,
     {[ASSET_BROTLI] = {packed, 2}, [ASSET_GZIP] = {packed, 2}, [ASSET_PLAIN] = {plain, 15}}},
    {"/index.html", "text/html", "00112233445566bb", false, {[ASSET_PLAIN] = {plain, 15}}},
    {.path = NULL}};

static void a_path_finds_its_file_and_the_root_the_index(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    OWN(assets) struct assets *assets = NULL;
    assert_ok(assets_new(table, &assets, &err));
    const struct asset *script = assets_find(assets, "/assets/a-1.js");
    assert_non_null(script);
    assert_true(asset_is_hashed(script));
    assert_ptr_equal(assets_find(assets, "/"), assets_find(assets, "/index.html"));
    assert_false(asset_is_hashed(assets_find(assets, "/")));
    assert_null(assets_find(assets, "/assets/a-2.js"));
    assert_null(assets_find(assets, "/assets/../index.html"));
    assert_null(assets_find(assets, ""));
}

static void each_coding_has_bytes_and_a_tag_of_its_own(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    OWN(assets) struct assets *assets = NULL;
    assert_ok(assets_new(table, &assets, &err));
    const struct asset *script = assets_find(assets, "/assets/a-1.js");
    assert_string_equal(asset_blob(script, ASSET_PLAIN)->etag, "\"00112233445566aa\"");
    assert_string_equal(asset_blob(script, ASSET_GZIP)->etag, "\"00112233445566aa-gzip\"");
    assert_string_equal(asset_blob(script, ASSET_BROTLI)->etag, "\"00112233445566aa-br\"");
    assert_int_equal(asset_blob(script, ASSET_GZIP)->len, 2);
    assert_null(asset_blob(assets_find(assets, "/"), ASSET_GZIP));
    assert_null(asset_coding_name(ASSET_PLAIN));
}

static void a_table_without_an_index_or_plain_bytes_is_refused(void **state)
{
    (void)state;
    static const struct asset_file none[] = {{.path = NULL}};
    static const struct asset_file only_packed[] = {
        {"/index.html", "text/html", "00", false, {[ASSET_GZIP] = {packed, 2}}}, {.path = NULL}};
    struct err err = ERR_INIT;
    struct assets *assets = NULL;
    assert_int_equal(assets_new(none, &assets, &err), ERR_INVALID);
    err = (struct err)ERR_INIT;
    assert_int_equal(assets_new(only_packed, &assets, &err), ERR_INVALID);
    assert_null(assets);
}

static void no_screen_is_below_the_api_or_among_the_files(void **state)
{
    (void)state;
    static const struct {
        const char *path;
        bool may;
    } cases[] = {{"/nodes", true},        {"/nodes/n1", true}, {"/v1", false},
                 {"/v1/nope", false},     {"/v10", true},      {"/v1x/a", true},
                 {"/assets/a.js", false}, {"/assets", false},  {"/assetsx", true},
                 {"/tenants/v1", true}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_int_equal(assets_may_be_screen(cases[i].path), cases[i].may);
}

static void what_was_built_in_has_an_index(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    OWN(assets) struct assets *assets = NULL;
    assert_ok(assets_new(asset_files, &assets, &err));
    const struct blob *index = asset_blob(assets_find(assets, "/"), ASSET_PLAIN);
    assert_true(index->len > 0);
    assert_string_equal(index->content_type, "text/html; charset=utf-8");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_path_finds_its_file_and_the_root_the_index),
        cmocka_unit_test(each_coding_has_bytes_and_a_tag_of_its_own),
        cmocka_unit_test(a_table_without_an_index_or_plain_bytes_is_refused),
        cmocka_unit_test(no_screen_is_below_the_api_or_among_the_files),
        cmocka_unit_test(what_was_built_in_has_an_index),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
