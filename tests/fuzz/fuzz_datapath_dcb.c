/*
 * tests/fuzz/fuzz_datapath_dcb.c - replies about dcb and links: what decodes is in range, has a
 * JSON form, and the form reads back as the same value.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "datapath/nl/dcb.h"
#include "datapath/nl/link.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool condition)
{
    if (!condition)
        abort();
}

/* The bytes as one message of the kernel: nlx checks nlmsg_len before anyone decodes. */
static struct nlmsghdr *message_of(const uint8_t *data, size_t size)
{
    struct nlmsghdr *msg = size < sizeof(*msg) ? NULL : malloc(size);
    if (msg != NULL) {
        memcpy(msg, data, size);
        msg->nlmsg_len = (uint32_t)size;
    }
    return msg;
}

static void check_dcb(const struct dcb_state *state)
{
    struct app_value app;
    struct maxrate_value maxrate;
    OWN(json) json_t *app_json = app_value_to_json(&state->app);
    must(app_value_from_json(app_json, &app, NULL) == ERR_OK && app.count == state->app.count);
    OWN(json) json_t *rate_json = maxrate_value_to_json(&state->maxrate);
    if (state->has_maxrate && maxrate_value_from_json(rate_json, &maxrate, NULL) == ERR_OK)
        must(memcmp(&maxrate, &state->maxrate, sizeof(maxrate)) == 0);
    OWN(json) json_t *ets_json = ets_value_to_json(&state->ets);
    OWN(json) json_t *pfc_json = pfc_value_to_json(&state->pfc);
    OWN(json) json_t *buffer_json = buffer_value_to_json(&state->buffer);
    must(ets_json != NULL && buffer_json != NULL);
    struct pfc_value pfc;
    must(pfc_value_from_json(pfc_json, &pfc, NULL) == ERR_OK && pfc.mask == state->pfc.mask);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct nlmsghdr *msg = message_of(data, size);
    if (msg == NULL)
        return 0;
    struct dcb_state state;
    struct link_info link;
    int sys_errno;
    uint8_t mode;
    if (dcb_decode(msg, &state, NULL) == ERR_OK)
        check_dcb(&state);
    if (dcb_decode_set(msg, &sys_errno, NULL) == ERR_OK)
        must(sys_errno >= 0 && sys_errno <= 128);
    if (dcb_decode_mode(msg, &mode, NULL) == ERR_OK && link_decode(msg, &link, NULL) == ERR_OK)
        abort(); /* no message is both */
    if (link_decode(msg, &link, NULL) == ERR_OK)
        must(link.ifindex > 0 && strlen(link.name) < sizeof(link.name));
    free(msg);
    return 0;
}
