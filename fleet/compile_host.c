/*
 * fleet/compile_host.c - host tuning of the profile as knobs.
 */
#include <string.h>

#include "fleet/compile_job.h"

#define SOLAR_SYSCTLS "net.solar."
#define SOLAR_DRIVER  "solar_rdma"

/* Sysctls below net.solar. exist only where the driver is; elsewhere the plan would be refused. */
static bool applies(const struct compile *c, const char *sysctl)
{
    const struct inventory *inventory = c->node->inventory;
    if (strncmp(sysctl, SOLAR_SYSCTLS, strlen(SOLAR_SYSCTLS)) != 0)
        return true;
    for (size_t i = 0; i < inventory->port_count; i++)
        if (strcmp(inventory->ports[i].driver, SOLAR_DRIVER) == 0)
            return true;
    return false;
}

void compile_host(struct compile *c)
{
    const struct fabric *fabric = c->view->fabric;
    for (size_t i = 0; i < fabric->modparam_count; i++)
        compile_add(c, &(struct compile_knob){.kind = "host.modparam",
                                              .id = fabric->modparams[i].name,
                                              .want = json_string(fabric->modparams[i].value),
                                              .enforcement = ENFORCEMENT_KERNEL});
    for (size_t i = 0; i < fabric->sysctl_count; i++)
        if (applies(c, fabric->sysctls[i].name))
            compile_add(c, &(struct compile_knob){.kind = "host.sysctl",
                                                  .id = fabric->sysctls[i].name,
                                                  .want = json_string(fabric->sysctls[i].value),
                                                  .enforcement = ENFORCEMENT_KERNEL});
    if (fabric->thp[0] != '\0')
        compile_add(c, &(struct compile_knob){.kind = "host.thp",
                                              .want = json_string(fabric->thp),
                                              .enforcement = ENFORCEMENT_KERNEL});
}
