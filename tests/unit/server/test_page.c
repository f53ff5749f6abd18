/*
 * What lists are made of: tokens that fit one list only, members picked, tables, selectors.
 */
#include "tests/unit/test.h"

#include "base/own.h"
#include "server/contract.h"
#include "server/page_shape.h"
#include "server/page_token.h"
#include "server/selector.h"

static const unsigned char key[MAC_KEY_SIZE] = "0123456789abcdef0123456789abcde";
static const unsigned char other_key[MAC_KEY_SIZE] = "0123456789abcdef0123456789abcdf";

static void a_token_gives_its_key_back(void **state)
{
    char token[PAGE_TOKEN_SIZE], last[PAGE_KEY_SIZE], longest[PAGE_KEY_SIZE];
    (void)state;
    memset(longest, 'x', sizeof(longest));
    longest[PAGE_KEY_SIZE - 1] = '\0';
    const char *const lasts[] = {"n1", "a", "9223372036854775807", longest};
    for (size_t i = 0; i < sizeof(lasts) / sizeof(lasts[0]); i++) {
        page_token_seal(key, "list", lasts[i], token);
        assert_true(page_token_open(key, "list", token, last));
        assert_string_equal(last, lasts[i]);
    }
}

static void a_token_fits_no_other_list_or_store(void **state)
{
    char token[PAGE_TOKEN_SIZE], last[PAGE_KEY_SIZE];
    (void)state;
    page_token_seal(key, "[\"tenants_list\",\"/v1/tenants\",\"\"]", "n1", token);
    assert_false(page_token_open(key, "[\"tenants_list\",\"/v1/tenants\",\"a\"]", token, last));
    assert_false(page_token_open(key, "", token, last));
    assert_false(
        page_token_open(other_key, "[\"tenants_list\",\"/v1/tenants\",\"\"]", token, last));
}

static void a_token_with_any_other_digit_is_refused(void **state)
{
    char token[PAGE_TOKEN_SIZE], last[PAGE_KEY_SIZE];
    (void)state;
    page_token_seal(key, "list", "node-17", token);
    for (size_t i = 0; token[i] != '\0'; i++) {
        char kept = token[i];
        token[i] = kept == '0' ? '1' : '0';
        assert_false(page_token_open(key, "list", token, last));
        token[i] = kept;
    }
    assert_true(page_token_open(key, "list", token, last));
}

static void what_is_no_token_is_refused(void **state)
{
    char token[PAGE_TOKEN_SIZE + 2], last[PAGE_KEY_SIZE], long_text[2 * PAGE_TOKEN_SIZE];
    (void)state;
    memset(long_text, 'a', sizeof(long_text) - 1);
    long_text[sizeof(long_text) - 1] = '\0';
    page_token_seal(key, "list", "n1", token);
    const char *const bad[] = {"",
                               "616263",
                               "zz",
                               long_text,
                               "00000000000000000000000000000000",
                               "0000000000000000000000000000000061",
                               "0000000000000000000000000000000000"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_false(page_token_open(key, "list", bad[i], last));
    token[strlen(token) - 1] = '\0';
    assert_false(page_token_open(key, "list", token, last));
}

static json_t *contract_new(void)
{
    json_t *contract = json_loads(
        "{\"paths\":{\"/v1/x\":{\"parameters\":[],\"get\":{\"operationId\":\"x_list\","
        "\"responses\":{\"200\":{\"content\":{\"application/json\":{\"schema\":{\"properties\":{"
        "\"items\":{\"items\":{\"$ref\":\"#/components/schemas/X\"}}}}}}}}}}},"
        "\"components\":{\"schemas\":{\"X\":{\"type\":\"object\",\"properties\":{"
        "\"name\":{\"type\":\"string\"},\"labels\":{\"type\":\"object\"},"
        "\"doc\":{\"$ref\":\"#/components/schemas/Doc\"},\"n\":{\"type\":\"integer\"}}},"
        "\"Doc\":{\"type\":\"object\",\"properties\":{\"a\":{\"$ref\":\"#/$defs/q\"}}},"
        "\"Loop\":{\"$ref\":\"#/components/schemas/Loop\"}}}}",
        0, NULL);
    assert_non_null(contract);
    return contract;
}

static void the_contract_knows_the_members_of_items(void **state)
{
    OWN(json) json_t *contract = contract_new();
    const json_t *item = contract_item(contract, "x_list");
    static const char *const good[] = {"name",       "labels", "labels.rack",
                                       "labels.a.b", "doc.a",  "doc.a.b"};
    static const char *const bad[] = {"",      "nam",  "name.x", "doc.b", ".name",
                                      "name.", "doc.", ".",      "n.0"};
    (void)state;
    assert_non_null(item);
    assert_null(contract_item(contract, "y_list"));
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
        if (!contract_has(contract, item, good[i]))
            fail_msg("'%s' is unknown", good[i]);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        if (contract_has(contract, item, bad[i]))
            fail_msg("'%s' is known", bad[i]);
}

static void check_pick(const char *fields, const char *item, const char *wanted)
{
    struct err err = ERR_INIT;
    struct page_fields parsed;
    OWN(json) json_t *contract = contract_new();
    OWN(json) json_t *value = json_loads(item, 0, NULL);
    assert_ok(
        page_fields_parse(fields, contract, contract_item(contract, "x_list"), &parsed, &err));
    OWN(json) json_t *picked = page_fields_pick(&parsed, value);
    OWN(json) json_t *same = json_loads(wanted, 0, NULL);
    assert_true(json_equal(picked, same));
}

static void fields_pick_members_and_members_of_members(void **state)
{
    static const char item[] =
        "{\"name\":\"n\",\"labels\":{\"a.b\":\"1\",\"a\":\"2\",\"c\":\"3\"},\"n\":7}";
    (void)state;
    check_pick("name", item, "{\"name\":\"n\"}");
    check_pick("labels.a", item, "{\"labels\":{\"a\":\"2\"}}");
    check_pick("labels.a.b,n", item, "{\"labels\":{\"a.b\":\"1\"},\"n\":7}");
    check_pick("labels.a,labels", item, "{\"labels\":{\"a.b\":\"1\",\"a\":\"2\",\"c\":\"3\"}}");
    check_pick("labels.x,doc", item, "{}");
}

static void fields_have_their_limits(void **state)
{
    struct err err = ERR_INIT;
    struct page_fields fields;
    OWN(json) json_t *contract = contract_new();
    const json_t *item = contract_item(contract, "x_list");
    char text[PAGE_FIELDS_SIZE + 1] = "n";
    (void)state;
    for (int i = 1; i < PAGE_FIELDS_MAX; i++)
        strcat(text, ",n");
    assert_ok(page_fields_parse(text, contract, item, &fields, &err));
    strcat(text, ",n");
    assert_fails(page_fields_parse(text, contract, item, &fields, &err), ERR_LIMIT);
    assert_fails(page_fields_parse("n,,name", contract, item, &fields, &err), ERR_INVALID);
    assert_fails(page_fields_parse("", contract, item, &fields, &err), ERR_INVALID);
    memset(text, 'n', PAGE_FIELDS_SIZE);
    text[PAGE_FIELDS_SIZE] = '\0';
    assert_fails(page_fields_parse(text, contract, item, &fields, &err), ERR_LIMIT);
}

static void check_csv(const char *items, const char *wanted)
{
    struct page_fields fields = {.count = 0};
    OWN(json) json_t *contract = contract_new();
    OWN(json) json_t *list = json_loads(items, 0, NULL);
    const json_t *members = contract_members(contract, contract_item(contract, "x_list"));
    OWN(str) char *text = page_csv(&fields, members, list);
    assert_string_equal(text, wanted);
}

static void a_table_has_a_header_and_flat_members(void **state)
{
    (void)state;
    check_csv("[]", "name,labels,doc,n\r\n");
    check_csv(
        "[{\"name\":\"a\",\"labels\":{\"r\":\"1\"},\"n\":-1},"
        "{\"name\":\"b\",\"labels\":{\"s\":\"x\",\"t\":{}},\"doc\":{\"a\":[1,\"y\"]},\"z\":true}]",
        "name,labels.r,labels.s,doc.a,n,z\r\n"
        "a,1,,,-1,\r\nb,,x,\"[1,\"\"y\"\"]\",,true\r\n");
}

static void a_cell_is_quoted_and_never_a_formula(void **state)
{
    (void)state;
    check_csv("[{\"name\":\"a,b\",\"n\":\"x\\\"y\"},{\"name\":\"1\\r\\n2\",\"n\":null}]",
              "name,labels,doc,n\r\n\"a,b\",,,\"x\"\"y\"\r\n\"1\r\n2\",,,\r\n");
    check_csv("[{\"name\":\"=1+2\"},{\"name\":\"+1\"},{\"name\":\"-1\"},{\"name\":\"@a\"},"
              "{\"name\":\"\\ta\"},{\"name\":\"\\ra\"},{\"name\":\"a=1\"}]",
              "name,labels,doc,n\r\n\"'=1+2\",,,\r\n\"'+1\",,,\r\n\"'-1\",,,\r\n\"'@a\",,,\r\n"
              "\"'\ta\",,,\r\n\"'\ra\",,,\r\na=1,,,\r\n");
}

static bool matches(const char *text)
{
    struct err err = ERR_INIT;
    struct selector selector;
    OWN(json) json_t *labels = json_loads("{\"rack\":\"a\",\"gpu\":\"\"}", 0, NULL);
    assert_ok(selector_parse(text, &selector, &err));
    return selector_matches(&selector, labels);
}

static void a_selector_holds_when_every_term_does(void **state)
{
    (void)state;
    assert_true(matches("rack=a"));
    assert_false(matches("rack=b"));
    assert_true(matches("rack!=b"));
    assert_false(matches("rack!=a"));
    assert_true(matches("other!=a"));
    assert_true(matches("rack"));
    assert_false(matches("other"));
    assert_true(matches("!other"));
    assert_false(matches("!rack"));
    assert_true(matches("gpu="));
    assert_false(matches("gpu!="));
    assert_true(matches("rack=a,gpu,!other,rack!=z"));
    assert_false(matches("rack=a,gpu,!other,rack!=a"));
}

static void what_is_no_selector_is_refused(void **state)
{
    static const char *const bad[] = {"",
                                      ",",
                                      "a,",
                                      "=a",
                                      "!=a",
                                      "!",
                                      "!!a",
                                      "a==b",
                                      "a b",
                                      "a=b=c",
                                      "!a=b",
                                      "a=b,",
                                      "a\x01",
                                      "a=\xff",
                                      "-a",
                                      ("0123456789012345678901234567890123456789012345678901234567"
                                       "890123")};
    struct err err = ERR_INIT;
    struct selector selector;
    char text[8 * SELECTOR_TERMS_MAX] = "a";
    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        if (selector_parse(bad[i], &selector, &err) != ERR_INVALID)
            fail_msg("'%s' was taken", bad[i]);
    for (int i = 1; i < SELECTOR_TERMS_MAX; i++)
        strcat(text, ",a");
    assert_ok(selector_parse(text, &selector, &err));
    strcat(text, ",a");
    assert_fails(selector_parse(text, &selector, &err), ERR_LIMIT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_token_gives_its_key_back),
        cmocka_unit_test(a_token_fits_no_other_list_or_store),
        cmocka_unit_test(a_token_with_any_other_digit_is_refused),
        cmocka_unit_test(what_is_no_token_is_refused),
        cmocka_unit_test(the_contract_knows_the_members_of_items),
        cmocka_unit_test(fields_pick_members_and_members_of_members),
        cmocka_unit_test(fields_have_their_limits),
        cmocka_unit_test(a_table_has_a_header_and_flat_members),
        cmocka_unit_test(a_cell_is_quoted_and_never_a_formula),
        cmocka_unit_test(a_selector_holds_when_every_term_does),
        cmocka_unit_test(what_is_no_selector_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
