/*
 * fleet/evidence/walk.c - where sections begin and end, and the commands between them.
 */
#include <string.h>

#include "fleet/evidence/common.h"

/* Programs whose echoed command line may stand in a file without a prompt. */
static const char *const programs[] = {
    "ethtool",
    "ibstat",
    "ibstatus",
    "ibv_devinfo",
    "ibv_devices",
    "show_gids",
    "cma_roce_tos",
    "cma_roce_mode",
    "niccli",
    "ibping",
    "rdma",
    "dcb",
    "mlnx_qos",
    "tc",
    "lspci",
    "devlink",
    "flint",
    "mstflint",
    "mlxconfig",
    "mstconfig",
    "mlxfwmanager",
    "mstfwmanager",
    "mlxlink",
    "mlxfwreset",
    "mst",
    "ibdev2netdev",
    "nvidia-smi",
    "dmesg",
    "journalctl",
    "cat",
    "cd",
    "ls",
    "grep",
    "egrep",
    "zgrep",
    "head",
    "tail",
    "watch",
    "perfquery",
    "ibnetdiscover",
    "iblinkinfo",
    "ibswinfo",
    "sminfo",
    "smpquery",
    "ibportstate",
    "ibqueryerrors",
    "show_irq_affinity.sh",
    "qperf",
    "ibdiagnet",
    "opensm",
    "saquery",
    "ib_write_bw",
    "ib_read_bw",
    "ib_send_bw",
    "ib_atomic_bw",
    "ib_write_lat",
    "ib_read_lat",
    "ib_send_lat",
    "ib_atomic_lat",
    "raw_ethernet_bw",
    "rping",
    "ucmatose",
    "udaddy",
    "ibv_rc_pingpong",
    "ibv_ud_pingpong",
    "ibv_uc_pingpong",
    "show",
    "sonic-clear",
    "nv",
    "kubectl",
    "mpirun",
    "all_reduce_perf",
    "./all_reduce_perf",
    "./build/all_reduce_perf",
    "curl",
    "for",
    "while",
    "echo",
    "numactl",
    "taskset",
    "ip",
    "ifconfig",
    "modprobe",
    "lsmod",
    "uname",
    "lldptool",
    "dcbtool",
    "redis-cli",
    "docker",
    "ssh",
    "pdsh",
    "clush",
    "sudo",
    "time",
    "date",
};

static bool is_program(struct slice command)
{
    struct slice word = slice_word(&command);
    const char *slash = word.len > 0 ? memrchr(word.at, '/', word.len) : NULL;
    if (slash != NULL && word.at[0] == '/') {
        word.len -= (size_t)(slash + 1 - word.at);
        word.at = slash + 1;
    }
    for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
        if (slice_is(word, programs[i]))
            return true;
    }
    return false;
}

/* "user@host:~$ ", "[root@host ~]# ", "host:~ # ", "root@sonic:/home# ": the command behind it. */
static bool host_prompt(struct slice line, struct slice *command)
{
    for (size_t i = 0; i + 1 < line.len && i < 96; i++) {
        char c = line.at[i];
        if ((c != '$' && c != '#' && c != '>' && c != '%') || line.at[i + 1] != ' ' || i == 0)
            continue;
        struct slice before = slice_trim((struct slice){.at = line.at, .len = i});
        struct slice after = slice_trim((struct slice){.at = line.at + i, .len = line.len - i});
        (void)slice_word(&after);
        bool user = slice_has(before, "@") || slice_ends(before, "]") || slice_ends(before, "~") ||
                    slice_ends(before, ")");
        struct slice rest = before;
        if (slice_has(before, "<")) /* flags: "eth0@if3: <UP> mtu ..." */
            return false;
        (void)slice_word(&rest);
        bool shell = user && (slice_has(before, "@") || is_program(after));
        bool word = rest.len == 0 && is_program(after); /* "host# ethtool ..." */
        if (!shell && !word)
            return false;
        *command = after;
        return true;
    }
    return false;
}

bool job_is_prompt(const struct evidence_job *job, size_t i, struct slice *command)
{
    struct slice line = job_line(job, i), found = {.len = 0};
    bool dollar = slice_skip(&line, "$ ");
    bool hash =
        !dollar && (slice_skip(&line, "# ") || slice_skip(&line, "> ") || slice_skip(&line, "% "));
    line = slice_trim(line);
    if (dollar || (hash && is_program(line)))
        found = line;
    else if (hash || !host_prompt(line, &found))
        return false;
    (void)slice_skip(&found, "sudo ");
    if (command != NULL)
        *command = slice_trim(found);
    return true;
}

struct slice job_line(const struct evidence_job *job, size_t i)
{
    return i < job->line_count ? job->lines[i].text : (struct slice){.at = "", .len = 0};
}

bool job_is_blank(const struct evidence_job *job, size_t i)
{
    return job_line(job, i).len == 0;
}

static const struct evidence_reader *find_reader(const struct evidence_job *job, size_t i)
{
    for (size_t r = 0; evidence_readers[r] != NULL; r++) {
        if (evidence_readers[r]->begins(job, i))
            return evidence_readers[r];
    }
    return NULL;
}

bool job_stops(const struct evidence_job *job, size_t i, const struct evidence_reader *self)
{
    if (i >= job->line_count || job_is_prompt(job, i, NULL))
        return true;
    if (job_is_blank(job, i))
        return false;
    const struct evidence_reader *reader = find_reader(job, i);
    return reader != NULL && reader != self;
}

bool job_command_option(const struct evidence_job *job, const char *word, char *out, size_t size)
{
    struct slice rest = job->command;
    for (;;) {
        struct slice found = slice_word(&rest);
        if (found.len == 0)
            return false;
        if (!slice_is(found, word))
            continue;
        struct slice value = slice_word(&rest);
        if (value.len == 0)
            return false;
        slice_copy(value, out, size);
        return true;
    }
}

bool job_netdev(const struct evidence_job *job, const char *option, char *out, size_t size)
{
    if (job_command_option(job, option, out, size))
        return true;
    if (job->heading.len == 0)
        return false;
    slice_copy(job->heading, out, size);
    return true;
}

/* "=== eth0 ===", "Interface: eth0", "[eth0]", "## eth0", "eth0:" on a line of its own. */
static bool is_heading(struct slice line, struct slice *name)
{
    static const char frame[] = "=-#*[]<>: \t";
    static const char *const words[] = {"interface", "device", "netdev", "dev", "nic", "iface"};
    bool digit = false, framed = false;
    while (line.len > 0 && strchr(frame, line.at[0]) != NULL) {
        line.at++;
        line.len--;
        framed = true;
    }
    for (; line.len > 0 && strchr(frame, line.at[line.len - 1]) != NULL; line.len--)
        framed = true;
    struct slice rest = line, first = slice_word(&rest);
    first.len -= slice_ends(first, ":") ? 1 : 0;
    for (size_t i = 0; rest.len > 0 && i < sizeof(words) / sizeof(words[0]); i++) {
        if (slice_is_nocase(first, words[i])) {
            first = slice_word(&rest);
            framed = true;
        }
    }
    for (size_t i = 0; i < first.len; i++)
        digit = digit || (first.at[i] >= '0' && first.at[i] <= '9');
    *name = first;
    return framed && rest.len == 0 && digit && first.len >= 2 && first.len <= 15 &&
           first.at[0] >= 'a' && first.at[0] <= 'z' && is_device_name(first);
}

bool job_command_has(const struct evidence_job *job, const char *text)
{
    return slice_has(job->command, text);
}

void job_name(struct evidence_job *job, const char *name)
{
    const char *slash = strrchr(name, '/'), *base = slash != NULL ? slash + 1 : name;
    if (strstr(base, "_-") == NULL || strlen(base) >= sizeof(job->named))
        return;
    slice_copy(slice_of(base), job->named, sizeof(job->named));
    for (char *c = job->named; *c != '\0'; c++)
        *c = *c == '_' || *c == '\t' ? ' ' : *c;
    if (is_program(slice_of(job->named)))
        job->command = slice_of(job->named);
}

static void begin_section(struct evidence_job *job, const struct evidence_reader *reader, size_t i)
{
    struct evidence *e = job->out;
    struct evidence_section *last =
        e->section_count > 0 ? &e->sections[e->section_count - 1] : NULL;
    bool commanded = last != NULL && job->command.len > 0 && job->command_line >= last->last_line;
    if (last != NULL && last->kind == reader->kind && last->tool == reader->tool && !commanded)
        return;
    if (e->section_count == EVIDENCE_SECTIONS_MAX) {
        e->truncated = true;
        return;
    }
    e->sections[e->section_count++] = (struct evidence_section){
        .kind = reader->kind, .tool = reader->tool, .first_line = (uint32_t)i + 1};
}

static size_t read_section(struct evidence_job *job, const struct evidence_reader *reader, size_t i)
{
    begin_section(job, reader, i);
    job->subject[0] = '\0';
    size_t next = reader->read(job, i);
    if (next <= i) /* our own bug; the file is read on all the same */
        next = i + 1;
    if (next > job->line_count)
        next = job->line_count;
    size_t last = next;
    while (last > i + 1 && job_is_blank(job, last - 1))
        last--;
    job->out->sections[job->out->section_count - 1].last_line = (uint32_t)last;
    return next;
}

void job_walk(struct evidence_job *job)
{
    for (size_t i = 0; i < job->line_count && !job->nomem;) {
        struct slice command;
        if (job_is_blank(job, i)) {
            i++;
            continue;
        }
        bool prompt = job_is_prompt(job, i, &command);
        const struct evidence_reader *reader = prompt ? NULL : find_reader(job, i);
        if (reader != NULL) {
            i = read_section(job, reader, i);
            continue;
        }
        if (prompt || is_program(job_line(job, i))) {
            job->command = prompt ? command : job_line(job, i);
            job->command_line = i;
            job->heading.len = 0;
        } else {
            struct slice name;
            if (is_heading(job_line(job, i), &name))
                job->heading = name;
            job->out->unread_lines++;
        }
        i++;
    }
}
