/* What people see of a rollout, and passwords on their way. */
#include "tests/unit/cli/cli_test.h"

#define WAVES(first, receipts)                                                                     \
    "\"waves\":[{\"wave\":1,\"state\":\"" first                                                    \
    "\",\"nodes\":1,\"gates\":[{\"name\":\"receipts\","                                            \
    "\"state\":\"" receipts "\",\"value\":0,\"wanted\":1,\"nodes\":[\"n1\"]}]},"                   \
    "{\"wave\":2,\"state\":\"waiting\",\"nodes\":2,\"gates\":[]}]"
#define ROLLOUT(state, more, waves)                                                                \
    "{\"id\":\"r-1\",\"state\":\"" state                                                           \
    "\",\"nodes\":{\"applied\":0,\"failed\":1,\"waiting\":2}," more waves "}"

static void a_rollout_is_shown_with_its_gates_and_what_comes_next(void **state)
{
    (void)state;
    server_says(200, NULL,
                ROLLOUT("failed", "\"problem\":\"a node failed\",", WAVES("failed", "failed")));
    assert_int_equal(CTL("rollout", "show", "r-1"), EXIT_DONE);
    assert_non_null(strstr(out_text, "rollout r-1: failed\n  nodes: 1 failed, 2 waiting\n"
                                     "  problem: a node failed\n"));
    assert_non_null(strstr(out_text, "failed 0/1"));
    assert_non_null(strstr(out_text, "n1"));
    assert_string_equal(err_text, "  which nodes, and why: stellarctl rollout nodes r-1\n");
    script_at = 0;
    assert_int_equal(CTL("rollout", "show", "r-1", "-o", "csv", "--no-headers"), EXIT_DONE);
    assert_string_equal(out_text, "1,failed,1,failed 0/1,,,,,n1\r\n2,waiting,2,,,,,,\r\n");
    assert_string_equal(err_text, "");
}

static void its_nodes_are_a_list_over_all_pages(void **state)
{
    (void)state;
    server_says(200, NULL,
                "{\"items\":[{\"node\":\"n1\",\"wave\":1,\"state\":\"failed\",\"problem\":\"p\"}],"
                "\"next_page_token\":\"t\"}");
    server_says(200, NULL, "{\"items\":[{\"node\":\"n2\",\"wave\":2,\"state\":\"waiting\"}]}");
    assert_int_equal(CTL("rollout", "nodes", "r-1", "-o", "csv", "--no-headers"), EXIT_DONE);
    assert_string_equal(out_text, "n1,1,failed,p\r\nn2,2,waiting,\r\n");
    assert_string_equal(asked, "GET /v1/rollouts/r-1/nodes?page_size=1000\n"
                               "GET /v1/rollouts/r-1/nodes?page_size=1000&page_token=t\n");
}

static void a_watch_prints_no_row_for_a_clock_that_runs_down(void **state)
{
    (void)state;
    server_says(200, NULL,
                ROLLOUT("confirming", "\"confirm_remaining_s\":9,", WAVES("passed", "ok")));
    server_says(200, NULL,
                ROLLOUT("confirming", "\"confirm_remaining_s\":8,", WAVES("passed", "ok")));
    server_says(200, NULL, ROLLOUT("done", "", WAVES("confirmed", "ok")));
    assert_int_equal(CTL("rollout", "watch", "r-1", "--interval", "1s", "-o", "csv"), EXIT_DONE);
    assert_string_equal(out_text, "ID,STATE,WAVE,NODES,PROBLEM\r\n"
                                  "r-1,confirming,1 of 2,\"1 failed, 2 waiting\",\r\n"
                                  "r-1,done,2 of 2,\"1 failed, 2 waiting\",\r\n");
}

static void rows_of_a_watch_stand_below_each_other(void **state)
{
    (void)state;
    server_says(200, NULL, ROLLOUT("confirming", "", WAVES("passed", "ok")));
    server_says(200, NULL, ROLLOUT("done", "", WAVES("confirmed", "ok")));
    assert_int_equal(CTL("rollout", "watch", "r-1", "--interval", "1s"), EXIT_DONE);
    assert_string_equal(out_text, "ID   STATE       WAVE    NODES                PROBLEM\n"
                                  "r-1  confirming  1 of 2  1 failed, 2 waiting  -\n"
                                  "r-1  done        2 of 2  1 failed, 2 waiting  -\n");
}

static void a_start_says_what_was_begun_and_how_to_follow_it(void **state)
{
    (void)state;
    server_says(201, NULL, ROLLOUT("preparing", "", "\"waves\":[]"));
    assert_int_equal(CTL("rollout", "start", "--all"), EXIT_DONE);
    assert_string_equal(out_text, "rollout r-1: preparing\n");
    assert_string_equal(err_text, "  follow it: stellarctl rollout watch r-1\n");
    server_says(200, NULL,
                "{\"dry_run\":true,\"nodes_total\":1,\"waves\":[{\"wave\":1,\"nodes_total\":1,"
                "\"nodes\":[\"n1\"],\"steps\":4,\"disruption\":\"pause\",\"tenants\":[\"a\"],"
                "\"jobs\":[]}]}");
    assert_int_equal(CTL("rollout", "start", "--all", "--dry-run", "-o", "csv", "--no-headers"),
                     EXIT_DONE);
    assert_string_equal(out_text, "1,1,4,pause,a,n1\r\n");
}

static void a_user_is_made_with_a_password_from_standard_input(void **state)
{
    (void)state;
    server_says(201, NULL, "{\"name\":\"eva\",\"revision\":1}");
    assert_int_equal(
        run_ctl("correct horse battery\n", "user", "create", "eva", "--role", "operator", NULL),
        EXIT_DONE);
    assert_string_equal(asked, "POST /v1/users {\"name\":\"eva\",\"password\":\"correct horse "
                               "battery\",\"role\":\"operator\"}\n");
    assert_string_equal(out_text, "user eva: created, revision 1\n");
}

static void ones_own_password_needs_the_old_one_another_s_does_not(void **state)
{
    (void)state;
    server_says(200, NULL, "{\"name\":\"token:1\",\"user\":\"eva\"}");
    server_says(204, NULL, "");
    assert_int_equal(run_ctl("the old one\nthe new one\n", "user", "password", "eva", NULL),
                     EXIT_DONE);
    assert_non_null(strstr(asked, "POST /v1/users/eva/password {\"new\":\"the new one\",\"old\":"
                                  "\"the old one\"}\n"));
    script_at = 0;
    assert_int_equal(run_ctl("the new one\n", "user", "password", "bob", NULL), EXIT_DONE);
    assert_non_null(strstr(asked, "POST /v1/users/bob/password {\"new\":\"the new one\"}\n"));
    assert_string_equal(out_text, "user bob: password set\n");
}

static void who_has_no_token_is_told_how_to_get_one(void **state)
{
    (void)state;
    server_says(401, NULL, "{\"code\":\"unauthenticated\",\"detail\":\"d\"}");
    assert_int_equal(CTL("whoami"), EXIT_AUTH);
    assert_non_null(strstr(err_text, "  hint: stellarctl login -u NAME"));
    script_at = 0;
    assert_int_equal(CTL("whoami", "-o", "json"), EXIT_AUTH);
    assert_null(strstr(err_text, "hint"));
    setenv("STELLAR_TOKEN", "st_x", 1);
    script_at = 0;
    assert_int_equal(CTL("whoami"), EXIT_AUTH);
    assert_null(strstr(err_text, "hint"));
}

static void the_version_is_told_as_other_programs_tell_it(void **state)
{
    (void)state;
    assert_int_equal(CTL("--version"), EXIT_DONE);
    assert_string_equal(out_text, "stellarctl " STELLAR_VERSION "\n");
}

#define T(test) cmocka_unit_test_setup(test, ctl_setup)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(a_rollout_is_shown_with_its_gates_and_what_comes_next),
        T(its_nodes_are_a_list_over_all_pages),
        T(a_watch_prints_no_row_for_a_clock_that_runs_down),
        T(rows_of_a_watch_stand_below_each_other),
        T(a_start_says_what_was_begun_and_how_to_follow_it),
        T(a_user_is_made_with_a_password_from_standard_input),
        T(ones_own_password_needs_the_old_one_another_s_does_not),
        T(who_has_no_token_is_told_how_to_get_one),
        T(the_version_is_told_as_other_programs_tell_it),
    };
    return cmocka_run_group_tests(tests, NULL, ctl_end);
}
