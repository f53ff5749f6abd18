/*
 * tests/fuzz/fuzz_datapath_solar_page.c - what agent and processes write for each other: pages,
 * shares, reports, the boards that hold them, and keys. What is taken is in range and is written as
 * it was read; a slot counts with the check that stands in it alone. The first byte chooses.
 */
#include "tests/fuzz/fuzz.h"

#include "datapath/solar/board.h"
#include "datapath/solar/bytes.h"
#include "datapath/solar/keyring.h"
#include "datapath/solar/page.h"
#include "datapath/solar/report.h"
#include "datapath/solar/share.h"

static void check_page(const uint8_t *data, size_t len)
{
    static struct page page, again;
    static uint8_t bytes[PAGE_BYTES_MAX];
    if (page_decode(data, len, &page, NULL) != ERR_OK)
        return;
    must(page_check(&page, NULL) == ERR_OK);
    size_t n = page_encode(&page, bytes);
    must(n == len && page_decode(bytes, n, &again, NULL) == ERR_OK);
    must(memcmp(bytes + PAGE_HEAD_SIZE, data + PAGE_HEAD_SIZE, len - PAGE_HEAD_SIZE) == 0);
    /* Whoever sends what under it, each gets something, and nobody more than its label may. */
    static struct share_process processes[8];
    for (size_t i = 0; i < 8; i++)
        processes[i] = (struct share_process){
            .process = i + 1,
            .label = page.count > 0 ? page.labels[i % page.count].label : (uint32_t)i,
            .sends_bps = (int64_t)(bytes_get(bytes, 8) >> (i + 1)),
            .waits = i % 3 == 0};
    share_divide(&page, processes, 8);
    for (size_t i = 0; i < 8; i++) {
        const struct page_label *l = page_find(&page, processes[i].label);
        int64_t most = l != NULL && l->limit_bps > 0 && l->limit_bps < page.line_bps
                           ? l->limit_bps
                           : page.line_bps;
        must(processes[i].may_bps >= 0 && processes[i].may_bps <= most + SHARE_RATE_MIN_BPS);
    }
}

static void check_report(const uint8_t *data, size_t len)
{
    static struct report report, again;
    static uint8_t bytes[REPORT_BYTES_MAX];
    if (report_decode(data, len, &report, NULL) != ERR_OK)
        return;
    must(report.count <= REPORT_QPS_MAX && report.process != 0 && report.sent_bytes >= 0);
    must(memchr(report.ifname, '\0', sizeof(report.ifname)) != NULL);
    size_t n = report_encode(&report, bytes);
    must(n == len && report_decode(bytes, n, &again, NULL) == ERR_OK);
}

static void check_share(const uint8_t *data, size_t len)
{
    int64_t rate = -1;
    uint64_t process = len >= 12 ? bytes_get(data + 4, 8) : 1;
    if (share_find(data, len, process, &rate, NULL) == ERR_OK)
        must(rate >= 0 && rate <= PAGE_LINE_MAX_BPS);
}

static void check_board(const uint8_t *data, size_t len)
{
    uint32_t room;
    uint64_t newest;
    size_t value = 0;
    if (len < BOARD_HEAD_SIZE || board_head(data, BOARD_PAGE, &room, &newest, NULL) != ERR_OK)
        return;
    must(room >= 1 && room <= BOARD_ROOM_MAX);
    if (len - BOARD_HEAD_SIZE < BOARD_SLOT_HEAD + (size_t)room)
        return;
    if (board_slot(data + BOARD_HEAD_SIZE, room, newest, &value, NULL) == ERR_OK)
        must(value <= room);
}

static void check_keys(const uint8_t *data, size_t len)
{
    struct keyring ring;
    char text[KEYRING_TEXT_MAX];
    if (keyring_parse((const char *)data, len, &ring, NULL) != ERR_OK)
        return;
    must(ring.count >= 1 && ring.count <= KEYRING_KEYS_MAX);
    must(keyring_text(&ring, text) == len && memcmp(text, data, len) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static void (*const checks[])(const uint8_t *data, size_t len) = {
        check_page, check_report, check_share, check_board, check_keys};
    if (size == 0)
        return 0;
    /* A copy of the right size, so that one byte too far is seen. */
    uint8_t *copy = malloc(size);
    must(copy != NULL);
    memcpy(copy, data + 1, size - 1);
    checks[data[0] % 5](copy, size - 1);
    free(copy);
    return 0;
}
