/*
 * fleet/evidence/nccl_line.c - one line of NCCL's log.
 */
#include "fleet/evidence/nccl_line.h"

#include <stdio.h>
#include <string.h>

#include "fleet/evidence/mlx5_cqe.h"
#include "fleet/evidence/rules_logs.h"

#define CUT_TEXT_MAX 200
#define FLUSHED      5 /* IBV_WC_WR_FLUSH_ERR */

/* "12: ": the task, by srun --label. */
static struct slice label_skip(struct slice line)
{
    struct slice number, rest;
    uint64_t task;
    if (!slice_split(line, ':', &number, &rest) || number.len > 6 || !slice_uint(number, &task) ||
        rest.len == 0 || rest.at[0] != ' ')
        return line;
    return slice_trim(rest);
}

struct slice tag_skip(struct slice line)
{
    line = label_skip(line);
    const char *end = slice_find(line, ">:");
    if (slice_starts(line, "[") && end != NULL && end - line.at < 32 &&
        memchr(line.at, '<', (size_t)(end - line.at)) != NULL) {
        size_t used = (size_t)(end + 2 - line.at);
        return slice_trim((struct slice){.at = line.at + used, .len = line.len - used});
    }
    return line;
}

bool nccl_line_is_failure(struct slice line)
{
    static const char *const words[] = {
        "NCCL error in:",           "ncclSystemError: ", "ncclInternalError: ",
        "ncclUnhandledCudaError: ", "ncclRemoteError: ", "ncclInvalidUsage: ",
    };
    if (slice_starts(line, "NET/IB") && slice_has(line, "Got completion "))
        return true;
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (slice_has(line, words[i]))
            return true;
    }
    return slice_has(line, "atchdog caught collective operation timeout") &&
           slice_has(line, "NCCL");
}

bool nccl_line_is(struct slice line)
{
    return slice_has(line, " NCCL INFO ") || slice_has(line, " NCCL WARN ") ||
           slice_has(line, " NCCL ERROR ") || slice_has(line, " NCCL TRACE ") ||
           slice_has(line, "] NCCL ABORT ");
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* "[2026-03-13 22:26:02] " */
static struct slice skip_date(struct slice line)
{
    struct slice inside, rest;
    if (slice_starts(line, "[20") && slice_split(line, ']', &inside, &rest) && inside.len < 32)
        return slice_trim(rest);
    return line;
}

/* "host:pid:tid [gpu] ..." */
static void set_subject(struct evidence_job *job, struct slice line)
{
    struct slice host, rest = skip_date(line);
    struct slice word = slice_word(&rest);
    if (slice_split(word, ':', &host, &rest) && host.len > 0)
        job_subject(job, "host %.*s", (int)(host.len < 100 ? host.len : 100), host.at);
    else
        job_subject(job, "host");
}

/* The value behind `after` up to a blank or one of ",)>": exact, a text, or unknown where it is
 * masked ("xxx.xx"). */
static bool put_word(struct evidence_job *job, size_t i, const char *name, struct slice text,
                     const char *after)
{
    struct slice rest;
    if (!slice_after(text, after, &rest) || rest.len == 0)
        return false;
    size_t n = 0;
    while (n < rest.len && strchr(" \t,)><(", rest.at[n]) == NULL)
        n++;
    struct slice value = {.at = rest.at, .len = n};
    if (slice_has(value, "xx") || slice_has(value, "XX") || n == 0)
        put_unknown(job, i, name);
    else
        put_value(job, i, name, value, "");
    return true;
}

/* Work completion states of libibverbs (enum ibv_wc_status). */
static const char *const statuses[] = {
    [1] = "local length error",
    [2] = "local QP operation error",
    [3] = "local EE context operation error",
    [4] = "local protection error",
    [5] = "work request flushed: a consequence of an earlier error",
    [6] = "memory window bind error",
    [7] = "bad response",
    [8] = "local access error",
    [9] = "remote invalid request",
    [10] = "remote access error",
    [11] = "remote operation error",
    [12] = "transport retry counter exceeded: the peer did not acknowledge",
    [13] = "receiver not ready, retries exceeded",
    [14] = "local RDD violation",
    [15] = "remote invalid RD request",
    [16] = "remote aborted",
    [17] = "invalid EE context number",
    [18] = "invalid EE context state",
    [19] = "fatal error",
    [20] = "response timeout",
    [21] = "general error",
};

static void put_completion(struct evidence_job *job, size_t i, struct slice text)
{
    static const struct {
        const char *name, *after;
    } fields[] = {
        {"opcode", "opcode="},
        {"opcode", "opcode "},
        {"vendor_error", "vendor err "},
        {"vendor_error", "vendor_err="},
        {"local_gid", "localGid "},
        {"remote_gid", "remoteGids "},
        {"remote_gid", "remoteGids"},
        {"remote_gid", "remoteGid "},
        {"hca", "hca "},
        {"length", "len="},
        {"length", "len "},
    };
    for (size_t f = 0; f < sizeof(fields) / sizeof(fields[0]); f++) {
        if (f > 0 && strcmp(fields[f].name, fields[f - 1].name) == 0 &&
            slice_has(text, fields[f - 1].after))
            continue;
        put_word(job, i, fields[f].name, text, fields[f].after);
    }
}

/* "Got completion from peer A<port> with status=12 opcode=0 ..." and the older "Got completion with
 * error 12, opcode 1, len 0, vendor err 129"; newest ones have "status=IBV_WC_RETRY_EXC_ERR(12)".
 */
static bool read_completion(struct evidence_job *job, size_t i, struct slice text,
                            const struct nccl_seen *seen)
{
    struct slice rest, behind, peer;
    struct number number = {.kind = NUMBER_NONE};
    if (!slice_has(text, "Got completion "))
        return false;
    if (slice_after(text, "with error ", &rest) || slice_after(text, "status=", &rest)) {
        struct slice word = rest, inside;
        if (slice_starts(rest, "IBV_WC_") && slice_split(word, '(', &inside, &rest))
            (void)slice_split(rest, ')', &rest, &inside);
        number = number_front(rest, &behind);
        if (number.kind == NUMBER_NONE && slice_split(rest, ',', &word, &behind))
            number = number_read(word);
    }
    if (slice_after(text, "from peer ", &rest)) {
        peer = slice_word(&rest);
        const char *port = memchr(peer.at, '<', peer.len);
        size_t len = port != NULL ? (size_t)(port - peer.at) : peer.len;
        job_subject(job, "peer %.*s", (int)len, peer.at);
    }
    size_t status = number.is_unsigned && number.value < sizeof(statuses) / sizeof(statuses[0])
                        ? (size_t)number.value
                        : 0;
    const char *rule = status == 12   ? RULE_NCCL_RETRY
                       : status == 13 ? RULE_NCCL_RNR
                                      : RULE_NCCL_COMPLETION;
    if (status == FLUSHED && seen->network)
        put_text(job, i, "consequence", slice_of(statuses[status]));
    else
        put_finding(job, i, rule, "completion status %s: %s", number.text,
                    statuses[status] != NULL ? statuses[status] : "unknown");
    if (number.is_unsigned)
        put_uint(job, i, "completion_status", number.value, "");
    else
        put_unknown(job, i, "completion_status");
    put_completion(job, i, text);
    return true;
}

/* "Call to ibv_modify_qp failed with 110 Connection timed out, on dev mlx5_0:1, curr state INIT,
 * next state RTR, local GID index 3, local GID ..., remote GID ...". */
static bool read_modify(struct evidence_job *job, size_t i, struct slice text)
{
    struct slice rest;
    if (!slice_has(text, "ibv_modify_qp failed"))
        return false;
    put_finding(job, i, RULE_NCCL_MODIFY_QP, "%.*s",
                (int)(text.len < CUT_TEXT_MAX ? text.len : CUT_TEXT_MAX), text.at);
    if (slice_after(text, " errno ", &rest) || slice_after(text, "failed with ", &rest)) {
        struct number number = number_front(rest, &rest);
        if (number.kind == NUMBER_INTEGER)
            put_number(job, i, "errno", slice_of(number.text), "");
        else
            put_unknown(job, i, "errno");
    }
    static const struct {
        const char *name, *after;
    } fields[] = {{"device", "on dev "},
                  {"state", "curr state "},
                  {"next_state", "next state "},
                  {"gid_index", "local GID index "},
                  {"remote_gid", "remote GID "}};
    for (size_t f = 0; f < sizeof(fields) / sizeof(fields[0]); f++)
        put_word(job, i, fields[f].name, text, fields[f].after);
    if (slice_after(text, "local GID index ", &rest))
        text = rest; /* what is behind it is the GID itself */
    put_word(job, i, "local_gid", text, "local GID ");
    return true;
}

/* "NET/IB : Using [0]mlx5_0:1/RoCE [1]mlx5_1:1/IB [RO]; OOB eth0:10.0.0.1<0>" */
static bool read_devices(struct evidence_job *job, size_t i, struct slice text)
{
    struct slice rest, word, device, layer;
    char host[EVIDENCE_SUBJECT_MAX];
    if (!slice_after(text, "NET/IB : Using ", &rest))
        return false;
    snprintf(host, sizeof(host), "%s", job->subject);
    if (put_word(job, i, "oob_interface", text, "OOB "))
        put_text(job, i, "transport", slice_of("IB"));
    for (word = slice_word(&rest); word.len > 0; word = slice_word(&rest)) {
        struct slice tag, name;
        uint64_t index;
        if (slice_starts(word, ";") || slice_is(word, "OOB"))
            break;
        if (!slice_skip(&word, "[") || !slice_split(word, ']', &tag, &name) ||
            !slice_uint(tag, &index))
            continue;
        if (name.len == 0) /* "[0] mlx5_0:1/RoCE" */
            name = slice_word(&rest);
        if (slice_ends(name, ";"))
            name.len--;
        if (!slice_split(name, '/', &device, &layer))
            continue;
        job_subject(job, "%.90s rdma %.*s", host, (int)device.len, device.at);
        put_text(job, i, "link_layer", layer);
    }
    job_subject(job, "%s", host);
    return true;
}

/* Lines of which the text alone decides. `warn` rows count in WARN lines only. */
static const struct {
    const char *text, *also, *rule;
    bool network;
} rows[] = {
    {"Failed to open libibverbs", NULL, RULE_NCCL_NO_VERBS, false},
    {"NET/IB : No device found", NULL, RULE_NCCL_SOCKET, false},
    {"Using network Socket", NULL, RULE_NCCL_SOCKET, false},
    {"GPU Direct RDMA Disabled", NULL, RULE_NCCL_NO_GDR, false},
    {"GDRDMA", "isabled", RULE_NCCL_NO_GDR, false},
    {"Got async ", NULL, RULE_NCCL_ASYNC, true},
    {"async fatal event", NULL, RULE_NCCL_ASYNC, true},
    {"NET/OFI Request", "completed with error", RULE_NCCL_COMPLETION, true},
    {"Call to ibv_", "failed", RULE_NCCL_VERBS, false},
    {"/dev/shm", "rror", RULE_NCCL_SHM, false},
    {"fallocate failed", NULL, RULE_NCCL_SHM, false},
    {"No space left on device", NULL, RULE_NCCL_SHM, false},
    {"shared memory segment", "rror", RULE_NCCL_SHM, false},
    {"no socket interface found", NULL, RULE_NCCL_SETUP, false},
    {"Duplicate GPU detected", NULL, RULE_NCCL_SETUP, false},
    {"mismatch in rank count", NULL, RULE_NCCL_SETUP, false},
    {"ismatched collective", NULL, RULE_NCCL_SETUP, false},
    {"atchdog caught collective operation timeout", NULL, RULE_NCCL_TIMEOUT, false},
    {"Connection closed by remote peer", NULL, RULE_NCCL_PEER, true},
    {"Connection refused", NULL, RULE_NCCL_PEER, true},
    {"Connection reset by peer", NULL, RULE_NCCL_PEER, true},
    {"No route to host", NULL, RULE_NCCL_PEER, true},
    {"Connection timed out", NULL, RULE_NCCL_PEER, true},
    {"remote process exited or there was a network error", NULL, RULE_NCCL_PEER, true},
    {"NCCL error in:", NULL, RULE_NCCL_FAILED, false},
    {"ncclSystemError: ", NULL, RULE_NCCL_FAILED, false},
    {"ncclInternalError: ", NULL, RULE_NCCL_FAILED, false},
    {"ncclUnhandledCudaError: ", NULL, RULE_NCCL_FAILED, false},
    {"ncclRemoteError: ", NULL, RULE_NCCL_FAILED, false},
    {"ncclInvalidUsage: ", NULL, RULE_NCCL_FAILED, false},
};

static bool read_rows(struct evidence_job *job, size_t i, struct slice text, struct nccl_seen *seen)
{
    for (size_t k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
        if (!slice_has(text, rows[k].text) ||
            (rows[k].also != NULL && !slice_has(text, rows[k].also)))
            continue;
        put_finding(job, i, rows[k].rule, "%.*s",
                    (int)(text.len < CUT_TEXT_MAX ? text.len : CUT_TEXT_MAX), text.at);
        seen->network = seen->network || rows[k].network;
        return true;
    }
    return false;
}

static void read_warning(struct evidence_job *job, size_t i, struct slice text,
                         struct nccl_seen *seen)
{
    if (read_completion(job, i, text, seen) || read_modify(job, i, text)) {
        seen->network = true;
        return;
    }
    if (slice_has(text, "async ")) /* many of one port, each another event */
        put_text(job, i, "async_event", text);
    if (read_rows(job, i, text, seen))
        return;
    bool cuda = slice_has(text, "Cuda failure") || slice_has(text, "CUDA error");
    bool follows = cuda && seen->network;
    put_text(job, i, follows ? "consequence" : "warning", text);
    if (!follows)
        put_finding(job, i, cuda ? RULE_NCCL_CUDA : RULE_NCCL_WARNING, "%.*s",
                    (int)(text.len < CUT_TEXT_MAX ? text.len : CUT_TEXT_MAX), text.at);
}

/* "[rank3]:", "[Rank 3]", "[PG 0 Rank 3]" of PyTorch. */
static void set_rank(struct evidence_job *job, struct slice line)
{
    static const char *const tags[] = {"[Rank ", " Rank ", "[rank"};
    struct slice rest;
    for (size_t k = 0; k < sizeof(tags) / sizeof(tags[0]); k++) {
        struct slice number, behind;
        uint64_t rank;
        if (slice_after(line, tags[k], &rest) && slice_split(rest, ']', &number, &behind) &&
            slice_uint(number, &rank)) {
            job_subject(job, "rank %llu", (unsigned long long)rank);
            return;
        }
    }
    job_subject(job, "host");
}

/* "WorkNCCL(SeqNum=12, OpType=ALLREDUCE, ..., Timeout(ms)=600000) ran for 600410 milliseconds" */
static void put_work(struct evidence_job *job, size_t i, struct slice line)
{
    if (!slice_has(line, "WorkNCCL("))
        return;
    put_word(job, i, "sequence", line, "SeqNum=");
    put_word(job, i, "operation", line, "OpType=");
    put_word(job, i, "timeout_ms", line, "Timeout(ms)=");
    put_word(job, i, "ran_ms", line, "ran for ");
}

/* Lines of a run that are not NCCL's own. */
static bool read_other(struct evidence_job *job, size_t i, struct slice line,
                       struct nccl_seen *seen)
{
    struct slice rest = line;
    set_rank(job, line);
    if (slice_skip(&rest, "NCCL version ") || slice_skip(&rest, "RCCL version ")) {
        put_text(job, i, "nccl_version", slice_trim(rest));
        return true;
    }
    if (slice_starts(line, "NET/IB") && read_completion(job, i, line, seen)) {
        seen->network = true;
        return true;
    }
    if (slice_has(line, "Test NCCL failure") || slice_has(line, "Test CUDA failure")) {
        set_subject(job, line);
        if (!seen->network)
            put_finding(job, i, RULE_TESTS_FAILED, "%.*s",
                        (int)(line.len < CUT_TEXT_MAX ? line.len : CUT_TEXT_MAX), line.at);
        put_text(job, i, "test_failure", line);
        return true;
    }
    put_work(job, i, line);
    if (slice_has(line, "NCCL error in:") && slice_after(line, ", NCCL version ", &rest))
        put_text(job, i, "nccl_version", rest);
    bool nccl = slice_has(line, "NCCL") || slice_starts(line, "socket") ||
                slice_starts(line, "Net : ") || nccl_line_is_failure(line);
    if (nccl && read_rows(job, i, line, seen))
        return true;
    return slice_has(line, "ProcessGroupNCCL") || slice_has(line, "NCCL ");
}

bool nccl_line_read(struct evidence_job *job, size_t i, struct nccl_seen *seen)
{
    struct slice text, line = tag_skip(job_line(job, i));
    if (mlx5_cqe_begins(job, i)) {
        (void)mlx5_cqe_read(job, i);
        seen->network = true;
        return true;
    }
    if (mlx5_cqe_row(line))
        return true;
    if (slice_after(line, " NCCL WARN ", &text) || slice_after(line, " NCCL ERROR ", &text)) {
        set_subject(job, line);
        read_warning(job, i, text, seen);
        return true;
    }
    if (slice_after(line, " NCCL INFO ", &text)) {
        set_subject(job, line);
        if (!read_devices(job, i, text) &&
            (!read_rows(job, i, text, seen) || slice_has(text, "Using network ")))
            nccl_info_put(job, i, text, seen);
        return true;
    }
    if (nccl_line_is(line))
        return true;
    return is_digit(line.len > 0 ? line.at[0] : 'x') ? false : read_other(job, i, line, seen);
}
