/*
 * datapath/solar/report.c - see report.h.
 */
#include "datapath/solar/report.h"

#include <assert.h>
#include <string.h>

#include "datapath/solar/bytes.h"

#define FLAG_WAITS     1
#define FLAG_TRUNCATED 2

#define AT(member) offsetof(struct report_qp, member)

/* In the order of the bytes. */
static const size_t values[] = {
    AT(sent_bytes),   AT(sent_packets),     AT(received_bytes), AT(resent_packets),
    AT(lost_packets), AT(spurious_packets), AT(timeouts),       AT(rtt_ns),
    AT(rate_bps),     AT(window_bytes),
};
_Static_assert(sizeof(values) / sizeof(values[0]) == REPORT_VALUES, "as report.h says");

static uint8_t *put_qp(uint8_t *at, const struct report_qp *qp)
{
    at = bytes_put(at, qp->number, 2);
    at = bytes_put(at, qp->bad_paths, 1);
    at = bytes_put(at, qp->paths, 1);
    at = bytes_put(at, 0, 4);
    for (size_t i = 0; i < REPORT_VALUES; i++) {
        int64_t value;
        memcpy(&value, (const char *)qp + values[i], sizeof(value));
        at = bytes_put(at, (uint64_t)value, 8);
    }
    for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++)
        at = bytes_put(at, qp->latency.counts[i], 8);
    return at;
}

size_t report_encode(const struct report *report, uint8_t out[REPORT_BYTES_MAX])
{
    assert(report->count <= REPORT_QPS_MAX);
    int flags = (report->waits ? FLAG_WAITS : 0) | (report->truncated ? FLAG_TRUNCATED : 0);
    uint8_t *at = bytes_put(out, report->process, 8);
    at = bytes_put(at, (uint64_t)report->made_ns, 8);
    at = bytes_put(at, (uint64_t)report->sent_bytes, 8);
    at = bytes_put(at, (uint64_t)report->may_bps, 8);
    at = bytes_put(at, report->pid, 4);
    at = bytes_put(at, (uint64_t)flags, 1);
    at = bytes_put(at, 0, 1);
    at = bytes_put(at, report->count, 2);
    memset(at, 0, PAGE_IFNAME_SIZE);
    memcpy(at, report->ifname, strnlen(report->ifname, PAGE_IFNAME_SIZE - 1));
    at += PAGE_IFNAME_SIZE;
    for (size_t i = 0; i < report->count; i++)
        at = put_qp(at, &report->qps[i]);
    return (size_t)(at - out);
}

static bool take(const uint8_t *at, int64_t *out)
{
    uint64_t value = bytes_get(at, 8);
    *out = (int64_t)value;
    return value <= INT64_MAX;
}

static bool take_qp(const uint8_t *at, struct report_qp *qp)
{
    bool whole = true;
    qp->number = (uint16_t)bytes_get(at, 2);
    qp->bad_paths = at[2];
    qp->paths = at[3];
    at += 8;
    for (size_t i = 0; i < REPORT_VALUES; i++, at += 8) {
        int64_t value;
        whole &= take(at, &value);
        memcpy((char *)qp + values[i], &value, sizeof(value));
    }
    for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++, at += 8) {
        qp->latency.counts[i] = bytes_get(at, 8);
        whole &= qp->latency.counts[i] <= INT64_MAX;
    }
    return whole && qp->bad_paths <= qp->paths;
}

static bool is_twice(const struct report *report, size_t index)
{
    for (size_t i = 0; i < index; i++)
        if (report->qps[i].number == report->qps[index].number)
            return true;
    return false;
}

enum err_code report_decode(const uint8_t *data, size_t len, struct report *out, struct err *err)
{
    if (len < REPORT_HEAD_SIZE)
        return err_set(err, ERR_INVALID, "a report of %zu bytes", len);
    size_t count = (size_t)bytes_get(data + 38, 2);
    if (count > REPORT_QPS_MAX || len != REPORT_HEAD_SIZE + count * REPORT_QP_SIZE)
        return err_set(err, ERR_INVALID, "a report of %zu bytes does not hold %zu queue pairs", len,
                       count);
    struct report report = {.process = bytes_get(data, 8)};
    bool whole = report.process != 0;
    whole &= take(data + 8, &report.made_ns);
    whole &= take(data + 16, &report.sent_bytes);
    whole &= take(data + 24, &report.may_bps) && report.may_bps <= PAGE_LINE_MAX_BPS;
    report.pid = (uint32_t)bytes_get(data + 32, 4);
    report.waits = (data[36] & FLAG_WAITS) != 0;
    report.truncated = (data[36] & FLAG_TRUNCATED) != 0;
    memcpy(report.ifname, data + 40, PAGE_IFNAME_SIZE);
    whole &= memchr(report.ifname, '\0', PAGE_IFNAME_SIZE) != NULL;
    report.count = count;
    for (size_t i = 0; i < count && whole; i++)
        whole = take_qp(data + REPORT_HEAD_SIZE + i * REPORT_QP_SIZE, &report.qps[i]) &&
                !is_twice(&report, i);
    if (!whole)
        return err_set(err, ERR_INVALID, "a number that no report has");
    *out = report;
    return ERR_OK;
}
