#include "tests/unit/cli/cli_test.h"

#include "cli/write.h"

#define POLICY "{\"qos_policy\":{\"j\":{\"priority\":3}}}"

static void each_status_has_its_exit_code(void **state)
{
    (void)state;
    static const struct {
        long status;
        enum exit_code code;
    } table[] = {{200, EXIT_DONE},        {400, EXIT_REFUSED},     {422, EXIT_REFUSED},
                 {404, EXIT_MISSING},     {401, EXIT_AUTH},        {403, EXIT_AUTH},
                 {409, EXIT_CONFLICT},    {412, EXIT_CONFLICT},    {428, EXIT_CONFLICT},
                 {500, EXIT_UNREACHABLE}, {503, EXIT_UNREACHABLE}, {429, EXIT_UNREACHABLE},
                 {302, EXIT_UNREACHABLE}};
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        script_count = script_at = 0;
        server_says(table[i].status, NULL, "{\"code\":\"c\",\"detail\":\"d\"}");
        assert_int_equal(CTL("api", "fabric_get"), table[i].code);
    }
    script_count = script_at = 0;
    assert_int_equal(CTL("api", "fabric_get"), EXIT_UNREACHABLE);
    assert_string_equal(err_text, "stellarctl: no answer\n");
}

static void wrong_command_lines_are_usage_and_say_why(void **state)
{
    (void)state;
    static const struct {
        const char *words[6], *text;
    } bad[] = {
        {{"gett"}, "there is no command 'gett'; did you mean get?"},
        {{"rollout"}, "rollout what? There are:\n  rollout start  "},
        {{"node", "relase"},
         "there is no command 'node relase'; there are:\n  node join-token NODE"},
        {{"get", "knobs"}, "there is no kind 'knobs'; stellarctl help kinds lists them"},
        {{"get"}, "get needs KIND [NAME]"},
        {{"get", "nodes", "a", "b"}, "get: 'b' is one word too many"},
        {{"get", "nodes", "-f", "x"}, "get takes no --file"},
        {{"get", "nodes", "-o", "xml"}, "--output 'xml'"},
        {{"get", "plan"}, "plans need a name"},
        {{"get", "receipts"}, "receipts need --node"},
        {{"get", "nodes", "--limit", "0"}, "from 1 to"},
        {{"api", "fabric_gett"}, "did you mean fabric_get?"},
        {{"api", "tenant_get", "--param", "x"}, "NAME=VALUE is wanted"},
        {{"delete", "rules", "x"}, "rules cannot be deleted"},
        {{"delete", "placement", "x"}, "a placement needs --tenant"},
        {{"rollback", "policy", "a"}, "rollback needs --to"},
        {{"rollback", "nodes", "a"}, "only policies and the fabric"},
        {{"diff"}, "diff -f FILE, or"},
        {{"apply"}, "-f FILE is wanted"},
        {{"apply", "-f", "/nowhere.json"}, "cannot read /nowhere.json"},
        {{"wait", "nodes", "1"}, "wait generation N"},
        {{"completion", "ksh"}, "bash, zsh and fish"},
        {{"help", "nothing"}, "there is no command 'nothing'"},
        {{"get", "nodes", "--profile", "x"}, "there is no profile 'x'"},
        {{"get", "nodes", "--token-file", "/nowhere"}, "cannot read /nowhere"},
        {{"apply", "-f", "x", "--override", "r"}, "--override needs --reason"},
        {{"user", "create", "x"}, "user create needs --role"},
        {{"user"}, "user what?"},
        {{"image", "upload", "/nowhere", "c", "1"}, "cannot read /nowhere"},
        {{"get", "nodes", "--timeout", "soon"}, "a time such as"},
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        const char *const *w = bad[i].words;
        assert_int_equal(run_ctl("", w[0], w[1], w[2], w[3], w[4], NULL), EXIT_USAGE);
        if (strstr(err_text, bad[i].text) == NULL)
            fail_msg("'%s' is not in '%s'", bad[i].text, err_text);
        assert_string_equal(asked, "");
    }
    assert_int_equal(run_ctl("", NULL), EXIT_USAGE);
    assert_int_equal(CTL("--help"), EXIT_DONE);
    assert_non_null(strstr(out_text, "rollout start"));
    assert_int_equal(CTL("backup", "--help"), EXIT_DONE);
    assert_non_null(strstr(out_text, "  backup create  "));
    assert_null(strstr(out_text, "rollout"));
    assert_int_equal(CTL("help", "backup"), EXIT_DONE);
    assert_non_null(strstr(out_text, "  backup get BACKUP"));
}

static void all_pages_are_fetched_and_a_limit_ends_it(void **state)
{
    (void)state;
    server_says(200, NULL, "{\"items\":[{\"name\":\"a\"}],\"next_page_token\":\"t/1\"}");
    server_says(200, NULL, "{\"items\":[{\"name\":\"b\"},{\"name\":\"c\"}]}");
    assert_int_equal(CTL("get", "tenants", "-o", "name"), EXIT_DONE);
    assert_string_equal(out_text, "a\nb\nc\n");
    assert_string_equal(asked, "GET /v1/tenants?page_size=1000\n"
                               "GET /v1/tenants?page_size=1000&page_token=t%2F1\n");
    script_at = 0;
    assert_int_equal(CTL("get", "tenants", "-o", "name", "--limit", "2"), EXIT_DONE);
    assert_string_equal(out_text, "a\nb\n");
    script_at = 0;
    assert_int_equal(CTL("get", "tenants", "-o", "name", "--limit", "1"), EXIT_DONE);
    assert_string_equal(asked, "GET /v1/tenants?page_size=1000\n");
}

static void a_list_that_does_not_go_on_is_an_error(void **state)
{
    (void)state;
    server_says(200, NULL, "{\"items\":[],\"next_page_token\":\"t\"}");
    server_says(200, NULL, "{\"items\":[],\"next_page_token\":\"t\"}");
    server_says(200, NULL, "{\"items\":[]}");
    assert_int_equal(CTL("get", "tenants"), EXIT_UNREACHABLE);
    assert_non_null(strstr(err_text, "the same page again"));
    assert_int_equal(script_at, 2);
}

static void policies_of_all_tenants_are_one_table(void **state)
{
    (void)state;
    server_says(200, NULL, "{\"items\":[{\"name\":\"a\"},{\"name\":\"b\"}]}");
    server_says(200, "\"1\"", "{\"qos_policy\":{\"j\":{\"priority\":3,\"bw_limit\":\"60%\"}}}");
    server_says(404, NULL, "{\"code\":\"not-found\"}");
    assert_int_equal(CTL("get", "policies", "-o", "csv", "--no-headers"), EXIT_DONE);
    assert_string_equal(out_text, "a,j,3,,60%,,\r\n");
    assert_string_equal(err_text, "");
}

static void a_policy_is_made_when_there_is_none(void **state)
{
    (void)state;
    server_says(404, NULL, "{\"code\":\"not-found\"}");
    server_says(201, "\"1\"",
                "{\"revision\":1,\"generation\":4,\"findings\":[{\"rule\":\"r\",\"severity\":"
                "\"warning\",\"message\":\"m\"}]}");
    assert_int_equal(run_ctl(POLICY, "apply", "-f", "-", "-t", "a", "-m", "x y", NULL), EXIT_DONE);
    assert_string_equal(asked,
                        "GET /v1/tenants/a/policy\n"
                        "PUT /v1/tenants/a/policy?message=x%20y [If-None-Match: *] " POLICY "\n");
    assert_string_equal(out_text, "policy a: created, revision 1, generation 4\n");
    assert_string_equal(err_text, "  warning r: m\n");
}

/* Somebody else writes between our look and our write. */
static void overtake(int times)
{
    server_says(200, "\"1\"", "{\"qos_policy\":{\"j\":{\"priority\":1}}}");
    for (int i = 0; i < times; i++) {
        server_says(412, "\"2\"", "{\"code\":\"precondition-failed\"}");
        server_says(200, "\"2\"", "{\"qos_policy\":{\"j\":{\"priority\":2}}}");
    }
}

static void who_was_overtaken_sees_the_difference_and_tries_again(void **state)
{
    (void)state;
    overtake(1);
    server_says(200, "\"3\"", "{\"revision\":3,\"generation\":9,\"findings\":[]}");
    assert_int_equal(run_ctl(POLICY, "apply", "-f", "-", "-t", "a", NULL), EXIT_DONE);
    assert_non_null(strstr(asked, "[If-Match: \"1\"]"));
    assert_non_null(strstr(asked, "[If-Match: \"2\"]"));
    assert_non_null(strstr(err_text, "policy a was changed by somebody else in between"));
    assert_non_null(strstr(err_text, "-      \"priority\": 1"));
    assert_non_null(strstr(err_text, "+      \"priority\": 2"));
    assert_string_equal(out_text, "policy a: changed, revision 3, generation 9\n");
}

static void an_etag_of_ones_own_is_never_replaced(void **state)
{
    (void)state;
    overtake(1);
    assert_int_equal(run_ctl(POLICY, "apply", "-f", "-", "-t", "a", "--if-match", "\"1\"", NULL),
                     EXIT_CONFLICT);
    assert_int_equal(script_at, script_count);
    assert_non_null(strstr(err_text, "+      \"priority\": 2"));
    assert_non_null(strstr(err_text, "precondition-failed"));
}

static void tries_end_at_their_maximum(void **state)
{
    (void)state;
    overtake(WRITE_TRIES_MAX);
    assert_int_equal(run_ctl(POLICY, "apply", "-f", "-", "-t", "a", NULL), EXIT_CONFLICT);
    assert_int_equal(script_at, script_count);
}

static void documents_are_applied_in_order_and_some_may_fail(void **state)
{
    (void)state;
    static const char input[] =
        "{\"kind\":\"placement\",\"tenant\":\"a\",\"name\":\"j\",\"document\":{\"nodes\":[]}}\n"
        "{\"items\":[{\"kind\":\"tenant\",\"name\":\"a\",\"document\":{}}, " POLICY "]}";
    server_says(404, NULL, "{}");
    server_says(201, NULL, "{\"revision\":1,\"generation\":1}");
    server_says(404, NULL, "{}");
    server_says(422, NULL, "{\"code\":\"policy-refused\"}");
    server_says(404, NULL, "{}");
    server_says(201, NULL, "{\"revision\":1,\"generation\":2,\"label\":3}");
    assert_int_equal(run_ctl(input, "apply", "-f", "-", "-t", "a", NULL), EXIT_PARTIAL);
    assert_string_equal(out_text, "tenant a: created, revision 1, generation 1\n"
                                  "placement a/j: created, revision 1, generation 2, label 3\n");
    assert_non_null(strstr(err_text, "document 2, item 1"));
    assert_non_null(strstr(err_text, "1 of 3 documents failed"));
    script_count = script_at = 0;
    for (int i = 0; i < 3; i++)
        server_says(403, NULL, "{\"code\":\"forbidden\"}");
    assert_int_equal(run_ctl(input, "apply", "-f", "-", "-t", "a", NULL), EXIT_AUTH);
}

static void wrong_documents_are_refused_before_anything_is_sent(void **state)
{
    (void)state;
    static const struct {
        const char *input, *text;
    } bad[] = {
        {"", "standard input"},
        {"[]", "standard input"},
        {"{\"x\":1}", "it is neither"},
        {"{\"kind\":\"tenant\",\"name\":\"a\"}", "document"},
        {"{\"kind\":\"tenant\",\"document\":{}}", "a tenant needs a \"name\""},
        {"{\"kind\":\"rules\",\"name\":\"a\",\"document\":{}}", "rules cannot be written"},
        {"{\"kind\":\"tenant\",\"name\":\"a\",\"document\":{},\"x\":1}", "x"},
        {"{\"kind\":\"placement\",\"name\":\"a\",\"document\":{}}", "needs --tenant"},
        {POLICY, "a policy needs --tenant"},
        {POLICY POLICY "{", "document 1"},
        {"{\"items\":[1]}", "item 0"},
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_int_equal(run_ctl(bad[i].input, "apply", "-f", "-", NULL), EXIT_USAGE);
        if (strstr(err_text, bad[i].text) == NULL)
            fail_msg("'%s' is not in '%s'", bad[i].text, err_text);
        assert_string_equal(asked, "");
    }
}

static void a_difference_is_exit_code_1_and_none_is_0(void **state)
{
    (void)state;
    server_says(200, "\"1\"", POLICY);
    assert_int_equal(run_ctl(POLICY, "diff", "-f", "-", "-t", "a", NULL), EXIT_DONE);
    assert_string_equal(out_text, "");
    server_says(404, NULL, "{}");
    assert_int_equal(run_ctl(POLICY, "diff", "-f", "-", "-t", "a", NULL), EXIT_REFUSED);
    assert_non_null(strstr(out_text, "+++ standard input"));
    server_says(200, NULL, "{\"document\":{\"a\":1}}");
    server_says(200, NULL, "{\"document\":{\"a\":2}}");
    assert_int_equal(CTL("diff", "policy", "a", "--from", "1", "--to", "2", "-o", "jsonl"),
                     EXIT_REFUSED);
    assert_string_equal(out_text, "[{\"op\":\"replace\",\"path\":\"/a\",\"value\":2}]\n");
}

static void a_verdict_of_not_valid_is_exit_code_1(void **state)
{
    (void)state;
    server_says(200, NULL, "{\"valid\":true,\"findings\":[]}");
    server_says(200, NULL,
                "{\"valid\":false,\"findings\":[{\"rule\":\"r\",\"severity\":\"error\"}]}");
    assert_int_equal(run_ctl(POLICY, "validate", "-f", "-", "-t", "a", NULL), EXIT_DONE);
    assert_int_equal(run_ctl(POLICY, "validate", "-f", "-", "-t", "a", NULL), EXIT_REFUSED);
    assert_string_equal(out_text, "policy a: not valid\n");
    assert_string_equal(err_text, "  error r\n");
}

static void a_delete_looks_first_and_names_what_is_gone(void **state)
{
    (void)state;
    server_says(200, "\"4\"", "{}");
    server_says(200, NULL, "{\"generation\":8}");
    server_says(404, NULL, "{}");
    assert_int_equal(CTL("delete", "tenant", "a", "b"), EXIT_PARTIAL);
    assert_string_equal(asked, "GET /v1/tenants/a\nDELETE /v1/tenants/a [If-Match: \"4\"]\n"
                               "GET /v1/tenants/b\n");
    assert_string_equal(out_text, "tenant a: removed, generation 8\n");
    assert_string_equal(err_text, "stellarctl: there is no tenant b\n");
}

static void a_printed_request_is_not_sent_and_shows_no_token(void **state)
{
    (void)state;
    setenv("STELLAR_TOKEN", "st_secret", 1);
    assert_int_equal(run_ctl(POLICY, "apply", "-f", "-", "-t", "a", "--print-request", NULL),
                     EXIT_DONE);
    assert_string_equal(asked, "");
    assert_null(strstr(out_text, "st_secret"));
    assert_non_null(strstr(out_text, "PUT http://127.0.0.1:8440/v1/tenants/a/policy\n"
                                     "Authorization: Bearer (not shown)\n"));
    assert_non_null(strstr(out_text, POLICY));
}

static void a_token_does_not_cross_the_network_in_the_clear(void **state)
{
    (void)state;
    static const struct {
        const char *server;
        bool sent;
    } servers[] = {{"http://127.0.0.1:1", true},
                   {"http://localhost", true},
                   {"http://[::1]:8440/x", true},
                   {"https://far.example", true},
                   {"http://far.example", false},
                   {"http://127.0.0.1.far.example", false},
                   {"http://127.0.0.1@far.example", false},
                   {"http://localhost:x@far", false},
                   {"HTTP://far.example", false}};
    setenv("STELLAR_TOKEN", "st_secret", 1);
    for (size_t i = 0; i < sizeof(servers) / sizeof(servers[0]); i++) {
        script_count = script_at = 0;
        server_says(200, NULL, "{}");
        assert_int_equal(CTL("api", "fabric_get", "-s", servers[i].server),
                         servers[i].sent ? EXIT_DONE : EXIT_USAGE);
        assert_int_equal(script_at, servers[i].sent ? 1 : 0);
    }
}

static void a_problem_is_json_when_json_is_asked_for(void **state)
{
    (void)state;
    server_says(404, NULL, "{\"code\":\"not-found\",\"detail\":\"d\"}");
    assert_int_equal(CTL("get", "fabric", "-o", "json"), EXIT_MISSING);
    assert_string_equal(err_text, "{\n  \"code\": \"not-found\",\n  \"detail\": \"d\"\n}\n");
    assert_string_equal(out_text, "");
}

static void a_rollback_carries_the_current_etag(void **state)
{
    (void)state;
    server_says(200, "\"5\"", POLICY);
    server_says(200, "\"6\"", "{\"revision\":6,\"generation\":7,\"findings\":[]}");
    assert_int_equal(CTL("rollback", "policy", "a", "--to", "2", "-m", "back"), EXIT_DONE);
    assert_non_null(strstr(asked, "POST /v1/tenants/a/policy:rollback [If-Match: \"5\"] "
                                  "{\"message\":\"back\",\"revision\":2}"));
}

#define T(test) cmocka_unit_test_setup(test, ctl_setup)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(each_status_has_its_exit_code),
        T(wrong_command_lines_are_usage_and_say_why),
        T(all_pages_are_fetched_and_a_limit_ends_it),
        T(a_list_that_does_not_go_on_is_an_error),
        T(policies_of_all_tenants_are_one_table),
        T(a_policy_is_made_when_there_is_none),
        T(who_was_overtaken_sees_the_difference_and_tries_again),
        T(an_etag_of_ones_own_is_never_replaced),
        T(tries_end_at_their_maximum),
        T(documents_are_applied_in_order_and_some_may_fail),
        T(wrong_documents_are_refused_before_anything_is_sent),
        T(a_difference_is_exit_code_1_and_none_is_0),
        T(a_verdict_of_not_valid_is_exit_code_1),
        T(a_delete_looks_first_and_names_what_is_gone),
        T(a_printed_request_is_not_sent_and_shows_no_token),
        T(a_token_does_not_cross_the_network_in_the_clear),
        T(a_problem_is_json_when_json_is_asked_for),
        T(a_rollback_carries_the_current_etag),
    };
    return cmocka_run_group_tests(tests, NULL, ctl_end);
}
