/*
 * agent/apply.c - see apply.h.
 */
#include "agent/apply.h"

#include <string.h>

#include "agent/report.h"

bool apply_check(const struct apply *apply, struct err *first)
{
    for (size_t i = 0; i < apply->steps->count; i++) {
        struct err why = ERR_INIT;
        if (dp_check(apply->dp, &apply->steps->items[i], &why) == ERR_OK)
            continue;
        struct receipt_step *told = report_step(apply->receipt, i);
        if (told != NULL)
            memcpy(told->problem, why.text, sizeof(told->problem));
        if (first->code == ERR_OK)
            *first = why;
    }
    return first->code == ERR_OK;
}

static void tell_failed(const struct apply *apply, size_t i, const struct err *failed)
{
    char name[256];
    struct receipt_step *told = report_step(apply->receipt, i);
    if (told != NULL)
        memcpy(told->problem, failed->text, sizeof(told->problem));
    plan_step_describe(&apply->steps->items[i], name, sizeof(name));
    report_problem(apply->receipt, "step %zu of %zu, %s: %.200s", i + 1, apply->steps->count, name,
                   failed->text);
}

bool apply_run(const struct apply *apply, size_t *out_begun, struct err *failed)
{
    const struct plan_steps *steps = apply->steps;
    *out_begun = 0;
    for (size_t i = 0; i < steps->count; i = *out_begun) {
        struct dp_progress did;
        enum err_code code =
            dp_apply_run(apply->dp, &steps->items[i], steps->count - i, &did, failed);
        *out_begun = i + did.begun;
        if (apply->killed != NULL && apply->killed(apply->killed_arg))
            return false;
        for (size_t k = i; k < i + did.failed; k++) {
            struct receipt_step *told = report_step(apply->receipt, k);
            if (told != NULL)
                told->done = true;
        }
        if (code != ERR_OK) {
            tell_failed(apply, i + did.failed, failed);
            break;
        }
    }
    return true;
}
