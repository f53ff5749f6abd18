/*
 * agent/hold.c - see hold.h.
 */
#include "agent/hold.h"

#include <string.h>

bool hold_covers(const char *device, const char *subject)
{
    size_t len = strlen(device);
    return len > 0 && strncmp(device, subject, len) == 0 && subject[len] == '/';
}

enum err_code hold_view(const struct plan *plan, const char *device, struct plan **out,
                        struct err *err)
{
    OWN(plan) struct plan *view = NULL;
    enum err_code code = plan_new(plan->node, plan->generation, &view, err);
    for (size_t i = 0; code == ERR_OK && i < plan->knob_count; i++)
        if (!hold_covers(device, plan->knobs[i].subject))
            code = plan_add_copy(view, &plan->knobs[i], err);
    if (code == ERR_OK)
        code = plan_seal(view, err);
    if (code == ERR_OK)
        *out = GIVE(view);
    return code;
}

void hold_filter(struct plan_steps *steps, const char *device)
{
    size_t kept = 0;
    for (size_t i = 0; i < steps->count; i++) {
        if (hold_covers(device, steps->items[i].subject))
            plan_step_release(&steps->items[i]);
        else
            steps->items[kept++] = steps->items[i];
    }
    steps->count = kept;
}
