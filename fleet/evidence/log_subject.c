/*
 * fleet/evidence/log_subject.c - whom a kernel's message is about.
 */
#include "fleet/evidence/log_subject.h"

#include <stdio.h>
#include <string.h>

/* Hexadecimal digits up to c (or the end, c = '\0') off the front; at most max of them. */
static bool take_hex(struct slice *s, char c, size_t max, uint64_t *out)
{
    size_t n = 0;
    while (n < s->len && s->at[n] != c && n <= max)
        n++;
    if (n == 0 || n > max || (c != '\0' && n == s->len))
        return false;
    if (!slice_hex((struct slice){.at = s->at, .len = n}, out))
        return false;
    size_t skip = c != '\0' ? n + 1 : n;
    s->at += skip;
    s->len -= skip;
    return true;
}

bool pci_text(struct slice s, char out[PCI_TEXT_MAX])
{
    uint64_t domain = 0, bus, device, function = 0;
    size_t colons = 0;
    for (size_t i = 0; i < s.len; i++)
        colons += s.at[i] == ':';
    if (colons != 1 && colons != 2)
        return false;
    if (colons == 2 && (!take_hex(&s, ':', 8, &domain) || domain > 0xffff))
        return false;
    if (!take_hex(&s, ':', 2, &bus))
        return false;
    bool dot = memchr(s.at, '.', s.len) != NULL;
    if (!take_hex(&s, dot ? '.' : '\0', 2, &device) || device > 0x1f)
        return false;
    if (dot && (!take_hex(&s, '\0', 1, &function) || function > 7))
        return false;
    snprintf(out, PCI_TEXT_MAX, "%04x:%02x:%02x.%x", (unsigned)(domain & 0xffff),
             (unsigned)(bus & 0xff), (unsigned)device, (unsigned)function);
    return true;
}

static bool is_pci_char(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F') || c == ':' ||
           c == '.';
}

bool pci_find(struct slice text, char out[PCI_TEXT_MAX], struct slice *behind)
{
    for (size_t i = 0; i < text.len;) {
        size_t n = 0;
        while (i + n < text.len && is_pci_char(text.at[i + n]))
            n++;
        struct slice word = {.at = text.at + i, .len = n};
        while (word.len > 0 && (word.at[word.len - 1] == ':' || word.at[word.len - 1] == '.'))
            word.len--;
        while (word.len > 0 && word.at[0] == ':') { /* "PCI:0000:3b:00" */
            word.at++;
            word.len--;
        }
        bool domain = word.len >= 10 && (word.at[4] == ':' || word.at[8] == ':');
        if (domain && pci_text(word, out)) {
            behind->at = word.at + word.len;
            behind->len = (size_t)(text.at + text.len - behind->at);
            return true;
        }
        i += n > 0 ? n : 1;
    }
    return false;
}

/* "eth0:" and "mlx5_0:" are names; "mlx5_core:" and "pcieport:" are not. */
static bool is_interface(struct slice word)
{
    bool digit = false;
    for (size_t i = 0; i + 1 < word.len; i++) {
        char c = word.at[i];
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                     strchr("_-.@", c) != NULL;
        if (!plain)
            return false;
        digit = digit || (c >= '0' && c <= '9');
    }
    return digit && slice_ends(word, ":") && word.len < 24;
}

static bool is_rdma(struct slice name)
{
    static const char *const prefixes[] = {"mlx5_", "mlx4_", "bnxt_re", "irdma", "hns_",
                                           "rocep", "ibp",   "ionic_",  "rxe",   "siw",
                                           "i40iw", "qedr",  "erdma",   "efa"};
    for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
        if (slice_starts(name, prefixes[i]))
            return !slice_starts(name, "mlx5_core") && !slice_starts(name, "mlx5_ib");
    }
    return false;
}

static void name_subject(struct evidence_job *job, struct slice name)
{
    if (slice_ends(name, ":"))
        name.len--;
    job_subject(job, "%s %.*s", is_rdma(name) ? "rdma" : "netdev", (int)name.len, name.at);
}

/* "INFO: task kworker/u1664:6:1514 blocked ...", "Killed process 123 (name)". */
static bool task_subject(struct evidence_job *job, struct slice message)
{
    struct slice rest, word;
    if (slice_after(message, "INFO: task ", &rest)) {
        word = slice_word(&rest);
        const char *colon = word.len > 0 ? memrchr(word.at, ':', word.len) : NULL;
        if (colon == NULL)
            return false;
        job_subject(job, "process %.*s", (int)(word.at + word.len - colon - 1), colon + 1);
        return true;
    }
    word = message; /* "name[4242]: segfault at ..." */
    struct slice name, pid;
    if (slice_has(message, ": segfault at ") && slice_split(word, '[', &name, &rest) &&
        slice_split(rest, ']', &pid, &rest) && pid.len < 12) {
        job_subject(job, "process %.*s", (int)pid.len, pid.at);
        return true;
    }
    if (slice_after(message, "Killed process ", &rest) ||
        slice_after(message, "Kill process ", &rest)) {
        word = slice_word(&rest);
        job_subject(job, "process %.*s", (int)word.len, word.at);
        return true;
    }
    return false;
}

static bool watchdog_subject(struct evidence_job *job, struct slice message)
{
    struct slice rest;
    if (!slice_after(message, "NETDEV WATCHDOG: ", &rest) || slice_starts(rest, "CPU: "))
        return false; /* newer kernels say the CPU here, and the interface before it */
    name_subject(job, slice_word(&rest));
    return true;
}

/* "DMAR: [DMA Read] Request device [18:00.0] ...", "AMD-Vi: Event logged [... device=18:00.0 ...".
 */
static bool iommu_subject(struct evidence_job *job, struct slice message)
{
    static const char *const heads[] = {"equest device [", "device="};
    char address[PCI_TEXT_MAX];
    struct slice rest;
    if (!slice_starts(message, "DMAR: ") && !slice_has(message, "AMD-Vi: "))
        return false;
    for (size_t k = 0; k < 2; k++) {
        size_t n = 0;
        if (!slice_after(message, heads[k], &rest))
            continue;
        while (n < rest.len && is_pci_char(rest.at[n]))
            n++;
        if (!pci_text((struct slice){.at = rest.at, .len = n}, address))
            continue;
        job_subject(job, "pci %s", address);
        return true;
    }
    return false;
}

/* "nvme nvme0: text" */
static bool nvme_subject(struct evidence_job *job, struct slice message)
{
    struct slice name;
    if (!slice_skip(&message, "nvme "))
        return false;
    name = slice_word(&message);
    if (!slice_starts(name, "nvme") || !slice_ends(name, ":"))
        return false;
    job_subject(job, "device %.*s", (int)name.len - 1, name.at);
    return true;
}

void log_subject(struct evidence_job *job, struct slice message)
{
    char address[PCI_TEXT_MAX];
    struct slice behind, rest = message, first = slice_word(&rest);
    if (task_subject(job, message) || watchdog_subject(job, message) ||
        iommu_subject(job, message) || nvme_subject(job, message))
        return;
    if (slice_is(first, "infiniband") || slice_is(first, "infiniband:")) {
        name_subject(job, slice_word(&rest));
        if (strncmp(job->subject, "netdev ", 7) == 0) {
            struct slice name = slice_of(job->subject + 7);
            char copy[EVIDENCE_SUBJECT_MAX];
            slice_copy(name, copy, sizeof(copy));
            job_subject(job, "rdma %s", copy);
        }
        return;
    }
    if (pci_find(message, address, &behind)) {
        bool gpu = slice_starts(message, "NVRM") || slice_is(first, "nvidia");
        job_subject(job, "%s %s", gpu ? "gpu" : "pci", address);
        return;
    }
    struct slice second = slice_word(&rest);
    if (is_interface(first) || (slice_is(first, "ib_core:") && is_rdma(second))) {
        name_subject(job, is_interface(first) ? first : second);
        return;
    }
    if (slice_starts(message, "nvidia-peermem") || slice_starts(message, "nvidia_peermem") ||
        slice_starts(message, "nv_peer_mem"))
        job_subject(job, "driver nvidia-peermem");
    else
        job_subject(job, "host");
}
