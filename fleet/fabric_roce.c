/*
 * fleet/fabric_roce.c - what the operator wants of RoCE in the NIC: the priority of connections
 * that ask for none, and congestion control.
 */
#include "fleet/fabric_roce.h"

#include "fleet/read.h"

static void check_priorities(const struct json_reader *r, const char *key, uint8_t mask,
                             const struct fabric *fabric)
{
    for (int i = 0; i < PRIORITY_COUNT; i++)
        if ((mask >> i & 1) != 0 && !fabric->priorities[i].used)
            read_problem(r, key, "'%s' names priority %d, which the profile does not offer", key,
                         i);
}

static void congestion_from_json(struct json_reader *r, struct fabric *fabric)
{
    roce_cc_read(r, true, &fabric->cc);
    check_priorities(r, "notify", fabric->cc.notify, fabric);
    check_priorities(r, "react", fabric->cc.react, fabric);
    json_reader_end(r);
}

void fabric_roce_from_json(struct json_reader *profile, struct fabric *fabric)
{
    struct json_reader r, sub;
    int64_t priority = 0;
    if (!json_reader_object(profile, "roce", false, &r))
        return;
    if (json_reader_int(&r, "priority", false, 0, PRIORITY_COUNT - 1, &priority)) {
        fabric->has_roce_priority = true;
        fabric->roce_priority = (int)priority;
        if (!fabric->priorities[priority].used || fabric->priorities[priority].dscp_count == 0)
            read_problem(&r, "priority",
                         "the profile gives priority %d no DSCP that its packets could carry",
                         (int)priority);
    }
    if (json_reader_object(&r, "congestion_control", false, &sub))
        congestion_from_json(&sub, fabric);
    json_reader_end(&r);
}
