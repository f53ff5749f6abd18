/*
 * datapath/solar/region.c - protection domains and memory regions. A key is the place in the table
 * (12 bits) and how often that place was used (4 bits), so that a key that outlived its region is
 * refused for the next 15 of them.
 */
#include <assert.h>
#include <stdlib.h>

#include "base/own.h"
#include "datapath/solar/context.h"

#define SLOT_BITS  12
#define SLOT_MASK  ((1u << SLOT_BITS) - 1)
#define ACCESS_ALL (SOLAR_REMOTE_WRITE | SOLAR_REMOTE_READ)

_Static_assert(SOLAR_REGIONS_MAX == SLOT_MASK, "a key names each region");

enum err_code solar_pd_new(struct solar_context *context, struct solar_pd **out, struct err *err)
{
    struct solar_pd *pd = calloc(1, sizeof(*pd));
    if (pd == NULL)
        return err_nomem(err);
    pd->context = context;
    context->domains++;
    *out = pd;
    return ERR_OK;
}

void solar_pd_free(struct solar_pd *pd)
{
    if (pd == NULL)
        return;
    assert(pd->users == 0);
    pd->context->domains--;
    free(pd);
}

enum err_code solar_mr_new(struct solar_pd *pd, void *memory, uint64_t size_bytes, unsigned access,
                           struct solar_mr **out, struct err *err)
{
    struct solar_context *context = pd->context;
    if (memory == NULL || size_bytes == 0 || size_bytes > SOLAR_REGION_MAX)
        return err_set(err, ERR_INVALID, "a region of %llu bytes (has 1 to %lld, and memory)",
                       (unsigned long long)size_bytes, (long long)SOLAR_REGION_MAX);
    if ((access & ~(unsigned)ACCESS_ALL) != 0)
        return err_set(err, ERR_INVALID, "a region's access 0x%x (has the bits 0x%x)", access,
                       (unsigned)ACCESS_ALL);
    unsigned slot = 1;
    while (slot <= SOLAR_REGIONS_MAX && context->regions[slot] != NULL)
        slot++;
    if (slot > SOLAR_REGIONS_MAX)
        return err_set(err, ERR_LIMIT, "the context has %d regions already", SOLAR_REGIONS_MAX);
    struct solar_mr *mr = malloc(sizeof(*mr));
    if (mr == NULL)
        return err_nomem(err);
    context->generations[slot]++;
    *mr = (struct solar_mr){
        .pd = pd,
        .base = memory,
        .size_bytes = size_bytes,
        .access = access,
        .key = (uint16_t)((unsigned)context->generations[slot] << SLOT_BITS | slot)};
    context->regions[slot] = mr;
    pd->users++;
    *out = mr;
    return ERR_OK;
}

uint32_t solar_mr_key(const struct solar_mr *mr)
{
    return mr->key;
}

enum err_code solar_mr_free(struct solar_mr *mr, struct err *err)
{
    if (mr == NULL)
        return ERR_OK;
    if (mr->users > 0)
        return err_set(err, ERR_CONFLICT,
                       "%d operations that are posted use the region; let them complete, or free "
                       "their queue pairs",
                       mr->users);
    udp_drop(mr->pd->context->udp); /* repairs for nothing may still point into it */
    mr->pd->context->regions[mr->key & SLOT_MASK] = NULL;
    mr->pd->users--;
    free(mr);
    return ERR_OK;
}

struct solar_mr *region_find(const struct solar_context *context, const struct solar_pd *pd,
                             uint16_t key, unsigned access)
{
    struct solar_mr *mr = context->regions[key & SLOT_MASK];
    if (mr == NULL || mr->key != key || mr->pd != pd || (mr->access & access) != access)
        return NULL;
    return mr;
}

bool region_holds(const struct solar_mr *mr, uint64_t offset, uint64_t length)
{
    return offset <= mr->size_bytes && length <= mr->size_bytes - offset;
}
