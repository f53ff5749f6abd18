/*
 * agent/trial.c - the timer of a plan on trial, on the loop: looks at the time that is left, saves
 * it, and sends the node back when it is over. The time itself is confirm.c's.
 */
#include "agent/agent_private.h"

/* The loop's timers stand still in suspend, the trial's time does not: no longer waits than this.
 */
void agent_trial_watch(struct agent *agent)
{
    int64_t left_ns = reconcile_left_ns(agent->reconcile), delay_ns = agent->look_ns;
    if (left_ns == 0)
        delay_ns = AGENT_RETURN_RETRY_NS; /* the way back failed */
    else if (left_ns < delay_ns)
        delay_ns = left_ns; /* -1: nothing is on trial */
    loop_timer_set(agent->trial, delay_ns);
}

void agent_trial_look(void *arg)
{
    struct agent *agent = arg;
    if (reconcile_left_ns(agent->reconcile) == 0) {
        agent_check(agent, RECONCILE_CHECK); /* a pause of repairs does not hold it up */
        return;
    }
    reconcile_save_left(agent->reconcile, false);
    agent_trial_watch(agent);
}

/* The rollout's gate wants to hear from the node after its receipt, on the plan that is on trial;
 * the question for a plan is on its way already and may be answered much later. */
void agent_trial_receipted(struct agent *agent)
{
    if (reconcile_left_ns(agent->reconcile) <= 0)
        return;
    agent->inventory[0] = '\0'; /* told again, although it is the same */
    agent_tell_inventory(agent);
}
