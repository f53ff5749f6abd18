/*
 * fleet/enforcement.c - who makes a job's guarantee and limit true on a port.
 */
#include "fleet/rules.h"

const char *enforcement_name(enum enforcement enforcement)
{
    static const char *const names[] = {"nic", "kernel", "solar", "none"};
    return names[enforcement];
}
