/*
 * fleet/arp.c - see arp.h.
 */
#include "fleet/arp.h"

#include "fleet/read.h"

const struct arp_param arp_params[ARP_IDS] = {
    [ARP_ANNOUNCE] = {"arp_announce", 2},
    [ARP_IGNORE] = {"arp_ignore", 8},
    [ARP_RP_FILTER] = {"rp_filter", 2},
};

void arp_read(struct json_reader *r, struct arp *out)
{
    *out = (struct arp){.present = 0};
    for (int i = 0; i < ARP_IDS; i++) {
        int64_t number = 0;
        if (!json_reader_int(r, arp_params[i].name, false, 0, arp_params[i].max, &number))
            continue;
        out->values[i] = (int)number;
        out->present |= arp_bit(i);
    }
}

json_t *arp_to_json(const struct arp *value)
{
    OWN(json) json_t *object = json_object();
    for (int i = 0; i < ARP_IDS; i++)
        if ((value->present & arp_bit(i)) != 0 &&
            !write_member(object, arp_params[i].name, json_integer(value->values[i])))
            return NULL;
    return GIVE(object);
}
