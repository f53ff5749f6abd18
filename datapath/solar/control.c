/*
 * datapath/solar/control.c - see control.h.
 */
#include "datapath/solar/control.h"

#include <assert.h>
#include <dirent.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <unistd.h>

#include "datapath/solar/board.h"
#include "datapath/solar/keyring.h"
#include "datapath/solar/qp.h"
#include "datapath/solar/report.h"
#include "datapath/solar/share.h"

#define PATH_SIZE 512
#define MICRO     1e6

_Static_assert(CONTROL_LABELS_MAX == ARBITER_LABELS_MAX, "all labels of a context");
_Static_assert(PAGE_IFNAME_SIZE == IF_NAMESIZE, "names of interfaces");

struct told { /* a label that the context uses */
    uint32_t label;
    int64_t may_bps; /* its share; 0 = as the page says */
    struct board board;
    char path[PATH_SIZE];
    size_t epoch_count; /* of keys that the agent gave; the first is the one to open under */
    uint64_t epochs[KEYRING_KEYS_MAX];
};

struct control {
    struct solar_context *context;
    char folder[CONTROL_FOLDER_MAX], ifname[IF_NAMESIZE];
    char page_path[PATH_SIZE], shares_path[PATH_SIZE];
    struct board page_board, shares_board;
    bool has_page;
    struct page page;
    uint64_t process;
    int64_t next_ns, retry_ns, report_ns, shared_ns;
    size_t count;
    struct told told[CONTROL_LABELS_MAX];
    struct report report; /* too large for a stack */
    uint8_t bytes[REPORT_BYTES_MAX];
};

_Static_assert(sizeof(((struct control *)0)->bytes) >= PAGE_BYTES_MAX &&
                   sizeof(((struct control *)0)->bytes) >= SHARE_BYTES_MAX,
               "one buffer for all");

/* Making -------------------------------------------------------------------------------------- */

static bool has_address(const struct ifaddrs *entry, const struct udp_address *own)
{
    if (entry->ifa_addr == NULL || entry->ifa_addr->sa_family != own->u.any.sa_family)
        return false;
    if (own->u.any.sa_family == AF_INET)
        return ((const struct sockaddr_in *)(const void *)entry->ifa_addr)->sin_addr.s_addr ==
               own->u.v4.sin_addr.s_addr;
    return memcmp(&((const struct sockaddr_in6 *)(const void *)entry->ifa_addr)->sin6_addr,
                  &own->u.v6.sin6_addr, sizeof(own->u.v6.sin6_addr)) == 0;
}

static enum err_code find_interface(const struct udp_address *own, char out[IF_NAMESIZE],
                                    struct err *err)
{
    struct ifaddrs *list;
    if (getifaddrs(&list) != 0)
        return err_set(err, ERR_IO, "cannot list the addresses of this host");
    out[0] = '\0';
    for (const struct ifaddrs *at = list; at != NULL && out[0] == '\0'; at = at->ifa_next)
        if (has_address(at, own))
            snprintf(out, IF_NAMESIZE, "%s", at->ifa_name);
    freeifaddrs(list);
    if (out[0] == '\0')
        return err_set(err, ERR_INVALID,
                       "no interface has this address: name the one whose control page counts");
    return ERR_OK;
}

static enum err_code place_of(const struct solar_config *config, const struct udp_address *own,
                              struct control *control, struct err *err)
{
    if (strlen(config->control) >= sizeof(control->folder))
        return err_set(err, ERR_INVALID, "control: the folder's name has more than %d bytes",
                       CONTROL_FOLDER_MAX - 1);
    snprintf(control->folder, sizeof(control->folder), "%s", config->control);
    if (config->interface == NULL)
        return find_interface(own, control->ifname, err);
    if (strlen(config->interface) >= IF_NAMESIZE)
        return err_set(err, ERR_INVALID, "interface: a name of more than %d bytes",
                       IF_NAMESIZE - 1);
    snprintf(control->ifname, sizeof(control->ifname), "%s", config->interface);
    return ERR_OK;
}

enum err_code control_new(struct solar_context *context, const struct udp_address *own,
                          struct control **out, struct err *err)
{
    struct control *control = calloc(1, sizeof(*control));
    if (control == NULL)
        return err_nomem(err);
    control->context = context;
    control->page_board.fd = control->shares_board.fd = -1;
    enum err_code code = place_of(&context->config, own, control, err);
    while (code == ERR_OK && control->process == 0)
        if (getrandom(&control->process, sizeof(control->process), 0) != sizeof(control->process))
            code = err_set(err, ERR_IO, "no random bytes");
    if (code != ERR_OK) {
        free(control);
        return code;
    }
    control_look(control, context_now_ns());
    *out = control;
    return ERR_OK;
}

void control_free(struct control *control)
{
    if (control == NULL)
        return;
    for (size_t i = 0; i < control->count; i++) {
        if (control->told[i].board.fd >= 0)
            unlink(control->told[i].path);
        board_release(&control->told[i].board);
    }
    board_release(&control->page_board);
    board_release(&control->shares_board);
    free(control);
}

/* Page and shares ----------------------------------------------------------------------------- */

static void tune_qps(const struct control *control, uint32_t label)
{
    const struct solar_context *context = control->context;
    for (int i = 1; i <= context->qp_top; i++) {
        struct solar_qp *qp = context->qps[i];
        if (qp == NULL || qp->state != QP_OPEN || qp->config.label != label)
            continue;
        const struct cc_params *had = &qp->pump.cc.params;
        struct cc_params params = cc_defaults(had->line_bps, had->base_rtt_ns, had->packet_bytes);
        params.weight = had->weight;
        params.weight_assumed = had->weight_assumed;
        control_tune(control, label, &params);
        if (cc_retune(&qp->pump.cc, &params, NULL) != ERR_OK)
            continue; /* it goes on as it was; page_check() lets nothing through that is refused */
    }
}

/* What all processes of the label may send is the page's limit; this one, its share of it. */
static void apply(const struct control *control, const struct told *told)
{
    const struct page_label *l = control->has_page ? page_find(&control->page, told->label) : NULL;
    struct solar_share share = {.weight = 1, .limit_bps = told->may_bps};
    struct err err = ERR_INIT;
    if (l != NULL) {
        share = (struct solar_share){.guarantee_bps = l->guarantee_bps,
                                     .limit_bps = l->limit_bps,
                                     .weight = l->weight,
                                     .dscp = l->dscp,
                                     .priority = l->priority};
        if (told->may_bps > 0 && (l->limit_bps == 0 || told->may_bps < l->limit_bps))
            share.limit_bps = told->may_bps;
        if (share.limit_bps > 0 && share.guarantee_bps > share.limit_bps)
            share.guarantee_bps = share.limit_bps;
    }
    if (context_set_label(control->context, told->label, &share, &err) == ERR_OK)
        tune_qps(control, told->label);
}

static void apply_all(const struct control *control)
{
    for (size_t i = 0; i < control->count; i++)
        apply(control, &control->told[i]);
}

/* Whether a page of the folder is that of our interface; it is open then, and read. */
static bool take_page(struct control *control, const char *name)
{
    struct board board = BOARD_INIT;
    struct page page;
    size_t len, stem = strlen(name) - strlen(BOARD_PAGE_END);
    snprintf(control->page_path, PATH_SIZE, "%s/%s", control->folder, name);
    if (board_open(control->page_path, BOARD_PAGE, &board, NULL) != ERR_OK)
        return false;
    if (board_read(&board, control->bytes, sizeof(control->bytes), &len, NULL) != ERR_OK ||
        page_decode(control->bytes, len, &page, NULL) != ERR_OK ||
        strcmp(page.ifname, control->ifname) != 0) {
        board_release(&board);
        return false;
    }
    snprintf(control->shares_path, PATH_SIZE, "%s/%.*s" BOARD_SHARES_END, control->folder,
             (int)stem, name);
    board_release(&control->page_board);
    control->page_board = board;
    control->page = page;
    control->has_page = true;
    return true;
}

static void find_page(struct control *control)
{
    DIR *dir = opendir(control->folder);
    bool found = false, had = control->has_page;
    control->has_page = false;
    board_release(&control->page_board);
    int looked = 0;
    for (struct dirent *entry;
         dir != NULL && !found && looked++ < CONTROL_FILES_MAX && (entry = readdir(dir)) != NULL;)
        found = board_has_end(entry->d_name, BOARD_PAGE_END) && take_page(control, entry->d_name);
    if (dir != NULL)
        closedir(dir);
    if (found || had)
        apply_all(control);
}

static void read_page(struct control *control)
{
    size_t len;
    struct page page;
    if (control->page_board.fd < 0 ||
        board_read(&control->page_board, control->bytes, sizeof(control->bytes), &len, NULL) !=
            ERR_OK ||
        page_decode(control->bytes, len, &page, NULL) != ERR_OK)
        return;
    control->page = page;
    apply_all(control);
}

static void set_share(struct control *control, struct told *told, int64_t may_bps)
{
    if (told->may_bps == may_bps)
        return;
    told->may_bps = may_bps;
    apply(control, told);
}

/* Without an agent that divides, each process holds itself to what the page says. */
static void read_shares(struct control *control, int64_t now_ns)
{
    size_t len;
    if (control->shares_board.fd >= 0 && board_read(&control->shares_board, control->bytes,
                                                    sizeof(control->bytes), &len, NULL) == ERR_OK) {
        control->shared_ns = now_ns;
        for (size_t i = 0; i < control->count; i++) {
            int64_t may_bps;
            if (share_find(control->bytes, len, control->process + i, &may_bps, NULL) == ERR_OK)
                set_share(control, &control->told[i], may_bps);
        }
    } else if (now_ns - control->shared_ns > CONTROL_STALE_NS) {
        for (size_t i = 0; i < control->count; i++)
            set_share(control, &control->told[i], 0);
    }
}

/* Reports ------------------------------------------------------------------------------------- */

static void fill_qp(const struct solar_qp *qp, struct report_qp *out)
{
    struct solar_qp_stats stats;
    solar_qp_stats(qp, &stats);
    *out = (struct report_qp){.number = qp->number,
                              .paths = (uint8_t)stats.paths,
                              .bad_paths = (uint8_t)stats.bad_paths,
                              .sent_bytes = (int64_t)stats.sent_bytes,
                              .sent_packets = (int64_t)stats.sent_packets,
                              .received_bytes = (int64_t)stats.received_bytes,
                              .resent_packets = (int64_t)stats.resent_packets,
                              .lost_packets = (int64_t)stats.lost_packets,
                              .spurious_packets = (int64_t)stats.spurious_packets,
                              .timeouts = (int64_t)stats.timeouts,
                              .rtt_ns = stats.rtt_ns,
                              .rate_bps = stats.rate_bps,
                              .window_bytes = cc_window_bytes(&qp->pump.cc, INT64_MAX),
                              .latency = qp->latency};
}

static void fill_report(struct control *control, size_t index, int64_t now_ns)
{
    const struct solar_context *context = control->context;
    const struct told *told = &control->told[index];
    const struct arbiter_share *share = arbiter_label_share(context->arbiter, told->label);
    struct report *r = &control->report;
    r->process = control->process + index;
    r->made_ns = now_ns;
    r->sent_bytes = arbiter_label_bytes(context->arbiter, told->label);
    r->may_bps = share == NULL ? 0 : share->limit_bps;
    r->pid = (uint32_t)getpid();
    r->waits = arbiter_label_waits(context->arbiter, told->label);
    r->truncated = false;
    memcpy(r->ifname, control->ifname, sizeof(r->ifname));
    r->count = 0;
    for (int i = 1; i <= context->qp_top; i++) {
        const struct solar_qp *qp = context->qps[i];
        if (qp == NULL || qp->state != QP_OPEN || qp->config.label != told->label)
            continue;
        if (r->count == REPORT_QPS_MAX)
            r->truncated = true;
        else
            fill_qp(qp, &r->qps[r->count++]);
    }
}

/* The lock goes with the process, whatever ends it. */
static void open_report(struct control *control, struct told *told, size_t index)
{
    snprintf(told->path, PATH_SIZE, "%s/jobs/%u/%016llx" BOARD_REPORT_END, control->folder,
             told->label, (unsigned long long)(control->process + index));
    if (told->board.fd >= 0 && !board_is_replaced(&told->board, told->path))
        return;
    board_release(&told->board);
    if (board_create(told->path, BOARD_REPORT, REPORT_BYTES_MAX, 0644, &told->board, NULL) ==
            ERR_OK &&
        flock(told->board.fd, LOCK_EX | LOCK_NB) != 0)
        board_release(&told->board);
}

static void tell(struct control *control, int64_t now_ns)
{
    for (size_t i = 0; i < control->count; i++) {
        struct told *told = &control->told[i];
        if (told->board.fd < 0)
            continue;
        fill_report(control, i, now_ns);
        size_t len = report_encode(&control->report, control->bytes);
        if (board_publish(&told->board, control->bytes, len, NULL) != ERR_OK)
            board_release(&told->board); /* the next look for files makes it anew */
    }
}

/* Keys ---------------------------------------------------------------------------------------- */

static void forget_keys(struct control *control, struct told *told, const struct keyring *but)
{
    for (size_t i = 0; i < told->epoch_count; i++)
        if (keyring_find(but, told->epochs[i]) == NULL)
            solar_key_drop(control->context, told->label, told->epochs[i]);
    told->epoch_count = 0;
}

/* Whether the context has these keys, of the agent, and no others of it. */
static bool has_keys(const struct control *control, const struct told *told,
                     const struct keyring *ring)
{
    bool same = told->epoch_count == ring->count;
    for (size_t i = 0; same && i < ring->count; i++) {
        const struct job_key *had = context_key(control->context, told->label, ring->keys[i].epoch);
        same = told->epochs[i] == ring->keys[i].epoch && had != NULL &&
               bytes_equal_secret(had->key, ring->keys[i].key, MAC_KEY_SIZE);
    }
    return same;
}

static void set_keys(struct control *control, struct told *told, const struct keyring *ring)
{
    forget_keys(control, told, ring);
    for (size_t i = 0; i < ring->count; i++)
        if (solar_key_set(control->context, told->label, ring->keys[i].epoch, ring->keys[i].key,
                          NULL) == ERR_OK)
            told->epochs[told->epoch_count++] = ring->keys[i].epoch;
    control->context->stats.key_changes++;
}

/* One that is no sensible file changes nothing, nor does one that says the same again; one that is
 * gone, was taken away: the job is not of this node any more. Queue pairs that are open have keys
 * of their own, and stay. */
static void take_keys(struct control *control, struct told *told)
{
    char folder[PATH_SIZE];
    struct keyring ring = {.count = 0};
    snprintf(folder, sizeof(folder), "%s/jobs/%u", control->folder, told->label);
    enum err_code code = keyring_read(folder, &ring, NULL);
    if ((code == ERR_OK || code == ERR_NOT_FOUND) && !has_keys(control, told, &ring))
        set_keys(control, told, &ring);
    explicit_bzero(&ring, sizeof(ring));
}

uint64_t control_epoch(struct control *control, uint32_t label)
{
    for (size_t i = 0; i < control->count; i++) {
        struct told *told = &control->told[i];
        if (told->label != label)
            continue;
        if (told->epoch_count == 0)
            take_keys(control, told);
        return told->epoch_count > 0 ? told->epochs[0] : 0;
    }
    return 0;
}

/* What is due --------------------------------------------------------------------------------- */

static void look_for_files(struct control *control)
{
    if (control->page_board.fd < 0 || board_is_replaced(&control->page_board, control->page_path))
        find_page(control);
    if (control->has_page && (control->shares_board.fd < 0 ||
                              board_is_replaced(&control->shares_board, control->shares_path))) {
        board_release(&control->shares_board);
        if (board_open(control->shares_path, BOARD_SHARES, &control->shares_board, NULL) != ERR_OK)
            control->shares_board.fd = -1;
    }
    for (size_t i = 0; i < control->count; i++) {
        open_report(control, &control->told[i], i);
        take_keys(control, &control->told[i]);
    }
}

void control_look(struct control *control, int64_t now_ns)
{
    if (now_ns < control->next_ns)
        return;
    control->next_ns = now_ns + CONTROL_PERIOD_NS;
    if (now_ns >= control->retry_ns) {
        control->retry_ns = now_ns + CONTROL_RETRY_NS;
        look_for_files(control);
    }
    read_page(control);
    read_shares(control, now_ns);
    if (now_ns < control->report_ns)
        return;
    control->report_ns = now_ns + CONTROL_REPORT_NS;
    tell(control, now_ns);
}

int64_t control_next_ns(const struct control *control)
{
    return control->next_ns;
}

void control_add(struct control *control, uint32_t label)
{
    for (size_t i = 0; i < control->count; i++)
        if (control->told[i].label == label)
            return;
    assert(control->count < CONTROL_LABELS_MAX); /* the arbiter refused one more */
    size_t index = control->count++;
    control->told[index] = (struct told){.label = label, .board = BOARD_INIT};
    open_report(control, &control->told[index], index);
    take_keys(control, &control->told[index]);
    if (control_has(control, label))
        apply(control, &control->told[index]);
}

bool control_has(const struct control *control, uint32_t label)
{
    return control->has_page && page_find(&control->page, label) != NULL;
}

void control_tune(const struct control *control, uint32_t label, struct cc_params *params)
{
    const struct page_label *l = control->has_page ? page_find(&control->page, label) : NULL;
    if (l != NULL && l->eta_micro > 0)
        params->eta = l->eta_micro / MICRO;
    if (l != NULL && l->beta_micro > 0)
        params->beta = l->beta_micro / MICRO;
}
