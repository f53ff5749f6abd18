/*
 * fleet/evidence/read_dmesg.c - kernel logs, by dmesg, journalctl, syslog or copied out of one.
 *
 * A log that begins with the nvidia driver's messages is of kind xid, every other of kind dmesg;
 * both are read alike. Messages that the table (log_table.c) does not hold are read over.
 */
#include <string.h>

#include "fleet/evidence/kernel_gpu.h"
#include "fleet/evidence/kernel_line.h"
#include "fleet/evidence/log_subject.h"
#include "fleet/evidence/log_table.h"
#include "fleet/evidence/readers.h"
#include "fleet/evidence/rules_logs.h"

#define CUT_TEXT_MAX 160 /* of a message in a finding */

/* Messages that are known without a time before them. */
static bool is_bare(struct slice line)
{
    static const char *const heads[] = {
        "mlx5_core 0",
        "mlx5_core: ",
        "mlx4_core 0",
        "bnxt_en 0",
        "ice 0",
        "i40e 0",
        "hns3 0",
        "irdma 0",
        "RDMA CMA: ",
        "infiniband ",
        "NVRM: ",
        "pcieport 0",
        "ib_core: ",
        "nvidia-peermem ",
        "nvidia_peermem: ",
        "INFO: task ",
        "bnxt_re ",
        "ixgbe 0",
        "ionic 0",
        "NETDEV WATCHDOG: ",
        "nvidia-nvswitch",
        "Out of memory: Kill",
        "nvidia 0",
        "efa 0",
        "erdma 0",
        "qede 0",
        "mana ",
        "rdma_rxe: ",
        "irdma: ",
        "mlx4_en: ",
        "BUG: unable to handle",
        "BUG: kernel NULL pointer",
        "BUG: KASAN: ",
        "watchdog: BUG: ",
        "WARNING: CPU: ",
        "general protection fault",
    };
    for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++) {
        if (slice_starts(line, heads[i]))
            return true;
    }
    return slice_has(line, "NVRM: Xid (") && !slice_has(line, "NCCL");
}

static bool is_resource(struct slice line)
{
    return slice_has(line, " pd ") && slice_has(line, " cq ") && slice_has(line, " qp ") &&
           slice_has(line, " mr ");
}

/* The message of a line of the log; false when it is none. */
static bool read_line(const struct evidence_job *job, size_t i, struct kernel_line *out)
{
    struct slice line = job_line(job, i);
    return kernel_line_read(line, out) || is_bare(line);
}

/* "[12.5] 97.1" of a table: the kernel prints six decimals, and who speaks before a colon. A log
 * that somebody typed may have fewer, or a message without: not both. */
static bool is_table(const struct kernel_line *line)
{
    struct slice whole, decimals;
    return slice_split(line->time, '.', &whole, &decimals) && decimals.len != 6 &&
           !slice_has(line->time, ":") && !slice_has(line->time, " ") &&
           (!slice_has(line->message, ": ") || slice_starts(line->message, ":"));
}

static bool begins_log(const struct evidence_job *job, size_t i, bool gpu)
{
    struct kernel_line line;
    if (!read_line(job, i, &line) || is_table(&line) || !line.kernel) {
        line.message = job_line(job, i);
        return !gpu && slice_starts(line.message, "[rdma resource]") && is_resource(line.message);
    }
    return (slice_starts(line.message, "NVRM: ") ||
            slice_starts(line.message, "nvidia-nvswitch")) == gpu;
}

static bool begins_dmesg(const struct evidence_job *job, size_t i)
{
    return begins_log(job, i, false);
}

static bool begins_xid(const struct evidence_job *job, size_t i)
{
    return begins_log(job, i, true);
}

/* What stands behind `after` is a number, or words up to a comma or a bracket. */
static void put_behind(struct evidence_job *job, size_t i, struct slice message,
                       const struct log_value *value)
{
    struct slice rest, behind;
    if (!slice_after(message, value->after, &rest) || rest.len == 0)
        return;
    struct number number = number_front(rest, &behind);
    if (number.kind != NUMBER_NONE) {
        put_number(job, i, value->name, slice_of(number.text), value->unit);
        return;
    }
    size_t n = 0;
    while (n < rest.len && strchr(",()", rest.at[n]) == NULL)
        n++;
    put_text(job, i, value->name, slice_trim((struct slice){.at = rest.at, .len = n}));
}

static const struct log_row *find_row(struct slice message)
{
    for (size_t i = 0; i < log_row_count; i++) {
        const struct log_row *row = &log_rows[i];
        if (slice_has(message, row->text) && (row->also == NULL || slice_has(message, row->also)))
            return row;
    }
    return NULL;
}

/* "mlx5_core 0000:af:00.2 ens4f2: text": which interface of the device. */
static void put_interface(struct evidence_job *job, size_t i, struct slice message)
{
    char address[PCI_TEXT_MAX];
    struct slice behind;
    if (!pci_find(message, address, &behind) || slice_starts(behind, ":"))
        return;
    struct slice word = slice_word(&behind);
    if (word.len > 1 && slice_ends(word, ":") && word.at[0] != '(' && word.at[0] != ')')
        put_text(job, i, "interface", (struct slice){.at = word.at, .len = word.len - 1});
}

/* The finding, and with its first message the facts. */
static void put_row(struct evidence_job *job, size_t i, const struct kernel_line *line,
                    const struct log_row *row)
{
    const struct slice message = line->message;
    size_t before = job->out->findings.count;
    if (row->rule != NULL)
        put_finding(job, i, row->rule, "%.*s",
                    (int)(message.len < CUT_TEXT_MAX ? message.len : CUT_TEXT_MAX), message.at);
    if (row->rule != NULL && job->out->findings.count == before)
        return;
    put_text(job, i, row->event != NULL ? row->event : row->rule, message);
    if (line->time.len > 0)
        put_value(job, i, "time", line->time, "");
    put_interface(job, i, message);
    for (size_t v = 0; v < LOG_VALUES_MAX && row->values[v].name != NULL; v++)
        put_behind(job, i, message, &row->values[v]);
}

/* mlx5: "...: CREATE_QP(0x500) op_mod(0x0) failed, status bad resource(0x5), syndrome (0x65b500)".
 */
static bool read_command(struct evidence_job *job, size_t i, const struct kernel_line *line)
{
    const char *end = slice_find(line->message, "(0x");
    struct slice rest;
    if (end == NULL || !slice_has(line->message, " op_mod(") ||
        !slice_after(line->message, "status ", &rest))
        return false;
    struct slice head = {.at = line->message.at, .len = (size_t)(end - line->message.at)};
    const char *blank = head.len > 0 ? memrchr(head.at, ' ', head.len) : NULL;
    if (blank == NULL)
        return false;
    struct slice command = {.at = blank + 1, .len = (size_t)(end - blank - 1)};
    bool full = slice_is(command, "CREATE_QP") &&
                (slice_starts(rest, "bad resource") || slice_starts(rest, "no resources") ||
                 slice_starts(rest, "exceed"));
    struct log_row row = {.rule = full ? RULE_QP_EXHAUSTED : RULE_COMMAND_FAILED,
                          .values = {{"status", "status ", ""},
                                     {"syndrome", "syndrome (", ""},
                                     {"error", "err(", ""}}};
    size_t before = job->out->findings.count;
    put_row(job, i, line, &row);
    if (job->out->findings.count > before)
        put_text(job, i, "command", command);
    return true;
}

static bool hex_behind(struct slice message, const char *after, uint64_t *out)
{
    struct slice rest, value, behind;
    return slice_after(message, after, &rest) && slice_split(rest, ')', &value, &behind) &&
           slice_hex(value, out);
}

/* The same partition when only the membership bit (0x8000) differs: IBTA 10.9.1. */
static bool read_pkeys(struct evidence_job *job, size_t i, const struct kernel_line *line)
{
    uint64_t got, path;
    if (!hex_behind(line->message, "BTH P_Key (", &got) ||
        !hex_behind(line->message, "path P_Key (", &path))
        return false;
    bool same = (got & 0x7fff) == (path & 0x7fff);
    put_finding(job, i, same ? RULE_PKEY_MEMBERSHIP : RULE_PKEY_MISMATCH,
                "packets carry P_Key 0x%04llx, the path has 0x%04llx%s", (unsigned long long)got,
                (unsigned long long)path,
                same ? ": the same partition, limited against full member" : "");
    put_uint(job, i, "pkey_received", got, "");
    put_uint(job, i, "pkey_path", path, "");
    return true;
}

/* "0: mlx5_0: pd 3 cq 27 qp 261935 cm_id 0 mr 0 ctx 1 srq 0" between the messages of a test. */
static bool read_resource(struct evidence_job *job, size_t i)
{
    static const char *const names[] = {"pd", "cq", "qp", "cm_id", "mr", "ctx", "srq"};
    struct slice words[24], line = job_line(job, i);
    size_t n = slice_words(line, words, 24), device = 0;
    if (!is_resource(line))
        return false;
    for (size_t w = 0; w + 1 < n && w + 1 < 24; w++) {
        if (device == 0 && w > 0 && slice_ends(words[w], ":") && slice_is(words[w + 1], "pd"))
            device = w;
    }
    if (device == 0)
        return false;
    job_subject(job, "rdma %.*s", (int)words[device].len - 1, words[device].at);
    for (size_t w = device + 1; w + 1 < n && w + 1 < 24; w += 2) {
        for (size_t k = 0; k < sizeof(names) / sizeof(names[0]); k++) {
            if (slice_is(words[w], names[k]))
                put_number(job, i, names[k], words[w + 1], "");
        }
    }
    return true;
}

/* "63.008 Gb/s available PCIe bandwidth" */
static void put_available(struct evidence_job *job, size_t i, struct slice message)
{
    const char *end = slice_find(message, "Gb/s available PCIe bandwidth");
    if (end == NULL)
        return;
    struct slice head = {.at = message.at, .len = (size_t)(end - message.at)};
    head = slice_trim(head);
    const char *blank = head.len > 0 ? memrchr(head.at, ' ', head.len) : NULL;
    if (blank != NULL)
        put_number(job, i, "pcie_bandwidth",
                   (struct slice){.at = blank, .len = (size_t)(head.at + head.len - blank)},
                   "Gb/s");
}

/* mlx5 tells each queue after "TX timeout detected"; a grep or the end of the log may have lost it.
 */
static bool queue_follows(const struct evidence_job *job, size_t i)
{
    char own[PCI_TEXT_MAX], other[PCI_TEXT_MAX];
    struct slice behind;
    if (!pci_find(job_line(job, i), own, &behind))
        return false;
    for (size_t k = i + 1; k < job->line_count && k <= i + 4; k++) {
        if (slice_has(job_line(job, k), "TX timeout on queue") &&
            pci_find(job_line(job, k), other, &behind) && strcmp(own, other) == 0)
            return true;
    }
    return false;
}

static void read_message(struct evidence_job *job, size_t i, const struct kernel_line *line)
{
    struct slice rest;
    if (kernel_gpu_read(job, i, line->message))
        return;
    log_subject(job, line->message);
    if (read_command(job, i, line) || read_pkeys(job, i, line))
        return;
    if (slice_after(line->message, "firmware version: ", &rest)) {
        put_text(job, i, "firmware_version", rest);
        return;
    }
    put_available(job, i, line->message);
    if (slice_has(line->message, "Gb/s available PCIe bandwidth (")) {
        static const struct log_value values[] = {{"pcie_speed", "PCIe bandwidth (", "GT/s"},
                                                  {"pcie_width", "PCIe x", ""}};
        for (size_t v = 0; v < sizeof(values) / sizeof(values[0]); v++)
            put_behind(job, i, line->message, &values[v]);
        return;
    }
    const struct log_row *row = find_row(line->message);
    if (row == NULL)
        return;
    struct log_row own = *row;
    if (own.rule == NULL && slice_has(line->message, "TX timeout detected") &&
        !queue_follows(job, i))
        own.rule = RULE_TX_TIMEOUT;
    put_row(job, i, line, &own);
}

static size_t read(struct evidence_job *job, size_t i)
{
    struct kernel_line line;
    size_t next = i;
    for (; i < job->line_count && !job_is_prompt(job, i, NULL); i++) {
        if (job_is_blank(job, i))
            continue;
        bool is_log = read_line(job, i, &line);
        if (is_log && line.kernel)
            read_message(job, i, &line);
        else if (!is_log && !read_resource(job, i))
            break;
        next = i + 1;
    }
    return next;
}

const struct evidence_reader reader_dmesg = {
    .kind = "dmesg", .tool = "kernel log", .begins = begins_dmesg, .read = read};
const struct evidence_reader reader_xid = {
    .kind = "xid", .tool = "kernel log", .begins = begins_xid, .read = read};
