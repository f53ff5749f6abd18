#include "tests/unit/test.h"

#include "base/own.h"
#include "cli/kind.h"
#include "cli/operation.h"

static struct err err;

static struct call call_of(const char *id)
{
    struct call call;
    assert_non_null(operation_find(id));
    call_init(&call, operation_find(id));
    return call;
}

static void every_operation_of_a_kind_is_in_the_api(void **state)
{
    (void)state;
    for (size_t i = 0; i < kind_count; i++) {
        const struct kind *kind = &kinds[i];
        const char *const ids[] = {kind->list,   kind->get,        kind->put,
                                   kind->remove, kind->list_alone, kind->get_alone};
        for (size_t j = 0; j < sizeof(ids) / sizeof(ids[0]); j++)
            if (ids[j] != NULL && operation_find(ids[j]) == NULL)
                fail_msg("%s: there is no operation %s", kind->name, ids[j]);
        const struct operation *get = kind->get != NULL ? operation_find(kind->get) : NULL;
        if (get != NULL && kind->key != NULL)
            assert_non_null(operation_param(get, OPERATION_PATH, kind->key));
        assert_true(kind->order < KIND_ORDERS);
    }
}

static void every_path_parameter_of_the_table_is_named_in_its_path(void **state)
{
    (void)state;
    assert_true(operation_count > 40);
    for (size_t i = 0; i < operation_count; i++)
        for (size_t j = 0; j < operations[i].param_count; j++) {
            const struct operation_param *param = &operations[i].params[j];
            char mark[80];
            snprintf(mark, sizeof(mark), "{%s}", param->name);
            if (param->in == OPERATION_PATH)
                assert_non_null(strstr(operations[i].path, mark));
        }
}

static void values_are_encoded_in_path_and_query(void **state)
{
    (void)state;
    struct call call = call_of("policy_put");
    OWN(str) char *url = NULL;
    call_add(&call, OPERATION_PATH, "tenant", "a/b ?#%\xc3\xa9~");
    call_add(&call, OPERATION_QUERY, "message", "x&y=z\n");
    call_add(&call, OPERATION_QUERY, "reason", NULL);
    call.body = "{}";
    assert_ok(call_check(&call, &err));
    assert_ok(call_url(&call, "http://h:1//", &url, &err));
    assert_string_equal(
        url, "http://h:1/v1/tenants/a%2Fb%20%3F%23%25%C3%A9~/policy?message=x%26y%3Dz%0A");
}

static void names_that_would_leave_the_path_are_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {"", ".", ".."};
    for (size_t i = 0; i < 3; i++) {
        struct call call = call_of("tenant_get");
        call_add(&call, OPERATION_PATH, "tenant", bad[i]);
        assert_fails(call_check(&call, &err), ERR_INVALID);
    }
    struct call call = call_of("tenant_get");
    call_add(&call, OPERATION_PATH, "tenant", "...");
    assert_ok(call_check(&call, &err));
}

static void what_is_missing_unknown_or_too_much_is_named(void **state)
{
    (void)state;
    struct call call = call_of("tenant_get");
    assert_fails(call_check(&call, &err), ERR_INVALID);
    assert_string_equal(err.text, "tenant_get needs the path parameter 'tenant'");
    call = call_of("events_list");
    call_add(&call, OPERATION_QUERY, "aftr", "1");
    assert_fails(call_check(&call, &err), ERR_INVALID);
    assert_non_null(strstr(err.text, "no query parameter 'aftr'; it has: after"));
    call = call_of("fabric_put");
    assert_fails(call_check(&call, &err), ERR_INVALID);
    assert_non_null(strstr(err.text, "needs a body of type application/json"));
    call = call_of("fabric_get");
    call.body = "{}";
    assert_fails(call_check(&call, &err), ERR_INVALID);
    assert_string_equal(err.text, "fabric_get takes no body");
}

static void values_up_to_the_maximum_fit_and_one_more_is_refused(void **state)
{
    (void)state;
    struct call call = call_of("fabric_get");
    for (int i = 0; i < CALL_VALUES_MAX; i++)
        call_add(&call, OPERATION_HEADER, "X-A", "b");
    assert_ok(call_check(&call, &err));
    call_add(&call, OPERATION_HEADER, "X-A", "b");
    assert_fails(call_check(&call, &err), ERR_LIMIT);
}

static void misspelt_ids_and_kinds_are_guessed(void **state)
{
    (void)state;
    const struct kind *kind;
    assert_string_equal(operation_suggest("polcy_get"), "policy_get");
    assert_null(operation_suggest("zzzzzzzz"));
    assert_fails(kind_need("nods", &kind, &err), ERR_INVALID);
    assert_non_null(strstr(err.text, "did you mean nodes?"));
    assert_fails(kind_need("zzz", &kind, &err), ERR_INVALID);
    assert_non_null(strstr(err.text, "stellarctl help kinds lists them"));
    assert_ptr_equal(kind_find("node"), kind_find("nodes"));
    assert_non_null(operation_at("POST", "/v1/tokens"));
    assert_null(operation_at("PUT", "/v1/tokens"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_operation_of_a_kind_is_in_the_api),
        cmocka_unit_test(every_path_parameter_of_the_table_is_named_in_its_path),
        cmocka_unit_test(values_are_encoded_in_path_and_query),
        cmocka_unit_test(names_that_would_leave_the_path_are_refused),
        cmocka_unit_test(what_is_missing_unknown_or_too_much_is_named),
        cmocka_unit_test(values_up_to_the_maximum_fit_and_one_more_is_refused),
        cmocka_unit_test(misspelt_ids_and_kinds_are_guessed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
