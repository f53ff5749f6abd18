/*
 * datapath/sys/rdma_class.c - see rdma_class.h.
 */
#include "datapath/sys/rdma_class.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "datapath/facts.h"
#include "datapath/sys/sys.h"

#define TEXT_SIZE   128
#define STATE_MAX   24
#define FOLDER_SIZE 96

static bool read_attr(const char *root, const char *folder, const char *name, char *out)
{
    char path[SYS_PATH_MAX];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    return sys_read(root, path, out, TEXT_SIZE, NULL) == ERR_OK;
}

bool rdma_class_state(const char *text, char *out, size_t size)
{
    const char *colon = strchr(text, ':');
    size_t len = 0;
    if (colon == NULL || !isdigit((unsigned char)text[0]))
        return false;
    colon += 1 + strspn(colon + 1, " ");
    for (; isalnum((unsigned char)colon[len]) || colon[len] == '_' || colon[len] == '-'; len++) {
        if (len >= STATE_MAX || len + 1 >= size)
            return false;
        out[len] = (char)tolower((unsigned char)colon[len]);
    }
    out[len] = '\0';
    return len > 0 && colon[len] == '\0';
}

int64_t rdma_class_rate(const char *text)
{
    /* One decimal: "2.5 Gb/sec (1X SDR)". */
    char *end;
    if (!isdigit((unsigned char)text[0]))
        return -1;
    unsigned long whole = strtoul(text, &end, 10);
    unsigned tenth = 0;
    if (*end == '.' && isdigit((unsigned char)end[1])) {
        tenth = (unsigned)(end[1] - '0');
        end += 2;
    }
    if (strncmp(end, " Gb/sec", 7) != 0 || whole > 100000)
        return -1;
    int64_t bps = (int64_t)whole * INT64_C(1000000000) + tenth * INT64_C(100000000);
    return bps > 0 ? bps : -1;
}

static json_t *port_facts(const char *root, const char *folder, int number)
{
    char text[TEXT_SIZE], state[STATE_MAX + 1];
    bool active = false;
    json_t *port = json_pack("{s:i}", "port", number);
    if (read_attr(root, folder, "state", text) && rdma_class_state(text, state, sizeof(state))) {
        active = strcmp(state, "active") == 0;
        fact_text(port, "state", state);
    }
    if (read_attr(root, folder, "phys_state", text) && rdma_class_state(text, state, sizeof(state)))
        fact_text(port, "phys_state", state);
    if (read_attr(root, folder, "link_layer", text) &&
        (strcmp(text, "Ethernet") == 0 || strcmp(text, "InfiniBand") == 0))
        fact_text(port, "link_layer", text[0] == 'E' ? "ethernet" : "infiniband");
    if (active && read_attr(root, folder, "rate", text))
        fact_int(port, "rate_bps", rdma_class_rate(text), 1);
    return port;
}

static json_t *ports_facts(const char *root, const char *device)
{
    char path[FOLDER_SIZE + 16];
    json_t *list = json_array();
    for (int number = 1; number <= RDMA_CLASS_PORTS_MAX; number++) {
        snprintf(path, sizeof(path), "%s/ports/%d", device, number);
        if (sys_exists(root, path))
            json_array_append_new(list, port_facts(root, path, number));
    }
    return list;
}

json_t *rdma_class_facts(const char *root, const char *name)
{
    static const struct {
        const char *file, *key;
    } texts[] = {{"fw_ver", "fw_version"},
                 {"node_guid", "node_guid"},
                 {"sys_image_guid", "sys_image_guid"},
                 {"board_id", "board_id"},
                 {"hca_type", "model"}};
    char device[FOLDER_SIZE], path[FOLDER_SIZE + 16], text[TEXT_SIZE];
    json_t *facts = json_pack("{s:s}", "name", name);
    if (facts == NULL)
        return NULL;
    snprintf(device, sizeof(device), "/sys/class/infiniband/%.64s", name);
    /* rxe and siw stand on no device; rxe names its netdev in "parent". */
    snprintf(path, sizeof(path), "%s/device", device);
    bool has_device = sys_link_name(root, path, text, sizeof(text));
    if (has_device)
        fact_text(facts, "device", text);
    snprintf(path, sizeof(path), "%s/parent", device);
    if (sys_exists(root, device))
        fact_bool(facts, "software", !has_device || sys_exists(root, path));
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        if (read_attr(root, device, texts[i].file, text))
            fact_text(facts, texts[i].key, text);
    fact_part(facts, "ports", ports_facts(root, device));
    return facts;
}
