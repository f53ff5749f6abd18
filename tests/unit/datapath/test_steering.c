/*
 * tests/unit/datapath/test_steering.c - datapath/verbs/steering: what a refused rule says of the
 * device.
 */
#include "tests/unit/test.h"

#include <errno.h>

#include "datapath/verbs/steering.h"

static void only_a_rule_that_was_made_is_a_yes(void **state)
{
    (void)state;
    assert_int_equal(verbs_steering_answer(true, 0), 1);
    assert_int_equal(verbs_steering_answer(false, 0), -1);
}

static void an_operation_that_is_not_there_is_a_no(void **state)
{
    (void)state;
    assert_int_equal(verbs_steering_answer(false, EOPNOTSUPP), 0);
    assert_int_equal(verbs_steering_answer(false, ENOSYS), 0);
}

static void who_may_not_ask_does_not_know(void **state)
{
    (void)state;
    static const int errors[] = {EPERM, EACCES, ENOMEM, EINVAL, EIO};
    for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
        assert_int_equal(verbs_steering_answer(false, errors[i]), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_a_rule_that_was_made_is_a_yes),
        cmocka_unit_test(an_operation_that_is_not_there_is_a_no),
        cmocka_unit_test(who_may_not_ask_does_not_know),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
