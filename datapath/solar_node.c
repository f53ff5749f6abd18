/*
 * datapath/solar_node.c - see solar_node.h.
 */
#include "datapath/solar_node.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "datapath/solar/board.h"
#include "datapath/solar/page.h"
#include "datapath/solar/share.h"

#define FOLDER_SIZE 192
#define PATH_SIZE   512
#define LIST_NS     INT64_C(200000000) /* between looks at which pages there are */
#define GONE_NS     INT64_C(100000000) /* one that did not report for so long does not count */
#define RATE_PART   4                  /* of a new measurement in the rate */
#define NS_BITS     8e9

/* Reports ------------------------------------------------------------------------------------- */

/* A process holds a lock on its file while it lives. */
static bool is_left(const struct board *board)
{
    if (flock(board->fd, LOCK_SH | LOCK_NB) != 0)
        return false;
    flock(board->fd, LOCK_UN);
    struct stat st;
    return fstat(board->fd, &st) != 0 || st.st_mtime + SOLAR_NODE_LEFT_S < time(NULL);
}

static bool read_report(const char *path, struct report *out)
{
    struct board board = BOARD_INIT;
    size_t len;
    static _Thread_local uint8_t bytes[REPORT_BYTES_MAX];
    if (board_open(path, BOARD_REPORT, &board, NULL) != ERR_OK)
        return false;
    bool left = is_left(&board);
    bool good = !left && board_read(&board, bytes, sizeof(bytes), &len, NULL) == ERR_OK &&
                report_decode(bytes, len, out, NULL) == ERR_OK;
    board_release(&board);
    if (left)
        unlink(path);
    return good;
}

static size_t reports_of_job(const char *folder, uint32_t label, solar_report_fn *tell, void *arg)
{
    static _Thread_local struct report report;
    char path[PATH_SIZE];
    size_t told = 0;
    int looked = 0;
    DIR *dir = opendir(folder);
    for (struct dirent *entry;
         dir != NULL && looked < SOLAR_NODE_FILES_MAX && (entry = readdir(dir)) != NULL;) {
        if (!board_has_end(entry->d_name, BOARD_REPORT_END) ||
            snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name) >= (int)sizeof(path))
            continue;
        looked++;
        if (!read_report(path, &report))
            continue;
        tell(arg, label, &report);
        told++;
    }
    if (dir != NULL)
        closedir(dir);
    return told;
}

/* "7", and no other way to write it. */
static bool label_of(const char *name, uint32_t *out)
{
    char text[16];
    char *end;
    unsigned long value = strtoul(name, &end, 10);
    snprintf(text, sizeof(text), "%lu", value);
    *out = (uint32_t)value;
    return *end == '\0' && value <= UINT32_MAX && strcmp(text, name) == 0;
}

size_t solar_node_jobs(const char *folder, uint32_t *out, size_t room)
{
    char path[PATH_SIZE];
    size_t count = 0;
    snprintf(path, sizeof(path), "%.*s/jobs", FOLDER_SIZE, folder);
    DIR *dir = opendir(path);
    for (struct dirent *entry; dir != NULL && count < room && (entry = readdir(dir)) != NULL;)
        count += label_of(entry->d_name, &out[count]);
    if (dir != NULL)
        closedir(dir);
    return count;
}

size_t solar_reports(const char *folder, solar_report_fn *tell, void *arg)
{
    static _Thread_local uint32_t labels[SOLAR_NODE_JOBS_MAX];
    char job[PATH_SIZE];
    size_t told = 0, count = solar_node_jobs(folder, labels, SOLAR_NODE_JOBS_MAX);
    for (size_t i = 0; i < count; i++) {
        snprintf(job, sizeof(job), "%.*s/jobs/%u", FOLDER_SIZE, folder, labels[i]);
        told += reports_of_job(job, labels[i], tell, arg);
    }
    return told;
}

/* Shares -------------------------------------------------------------------------------------- */

struct line {
    char name[128]; /* of the page's file, without its end */
    struct board page_board, shares;
    struct page page;
    bool has_page;
};

struct process {
    uint64_t id;
    uint32_t label;
    int64_t sent_bytes, made_ns, seen_ns;
    double rate_bps;
    bool waits;
    char ifname[PAGE_IFNAME_SIZE];
};

struct solar_node {
    char folder[FOLDER_SIZE];
    int64_t list_ns, now_ns;
    size_t port_count, process_count;
    struct line ports[SOLAR_NODE_PORTS_MAX];
    struct process processes[SHARE_PROCESSES_MAX];
    struct share_process shares[SHARE_PROCESSES_MAX];
    uint8_t bytes[SHARE_BYTES_MAX > PAGE_BYTES_MAX ? SHARE_BYTES_MAX : PAGE_BYTES_MAX];
};

enum err_code solar_node_new(const char *folder, struct solar_node **out, struct err *err)
{
    if (strlen(folder) >= FOLDER_SIZE)
        return err_set(err, ERR_LIMIT, "the folder's name has more than %d bytes", FOLDER_SIZE - 1);
    struct solar_node *node = calloc(1, sizeof(*node));
    if (node == NULL)
        return err_nomem(err);
    snprintf(node->folder, sizeof(node->folder), "%s", folder);
    *out = node;
    return ERR_OK;
}

static void drop_port(struct solar_node *node, size_t index)
{
    board_release(&node->ports[index].page_board);
    board_release(&node->ports[index].shares);
    node->ports[index] = node->ports[--node->port_count];
}

void solar_node_free(struct solar_node *node)
{
    if (node == NULL)
        return;
    while (node->port_count > 0)
        drop_port(node, 0);
    free(node);
}

static void path_of(const struct solar_node *node, const struct line *port, const char *end,
                    char out[PATH_SIZE])
{
    snprintf(out, PATH_SIZE, "%s/%s%s", node->folder, port->name, end);
}

static bool is_listed(const struct solar_node *node, const char *name, size_t len)
{
    for (size_t i = 0; i < node->port_count; i++)
        if (strlen(node->ports[i].name) == len && memcmp(node->ports[i].name, name, len) == 0)
            return true;
    return false;
}

static void add_port(struct solar_node *node, const char *file)
{
    struct line *port = &node->ports[node->port_count];
    size_t len = strlen(file) - strlen(BOARD_PAGE_END);
    char path[PATH_SIZE];
    if (len >= sizeof(port->name) || is_listed(node, file, len))
        return;
    *port = (struct line){.page_board = BOARD_INIT, .shares = BOARD_INIT};
    memcpy(port->name, file, len);
    path_of(node, port, BOARD_PAGE_END, path);
    if (board_open(path, BOARD_PAGE, &port->page_board, NULL) == ERR_OK)
        node->port_count++;
}

static void list_ports(struct solar_node *node)
{
    char path[PATH_SIZE];
    for (size_t i = node->port_count; i > 0; i--) {
        path_of(node, &node->ports[i - 1], BOARD_PAGE_END, path);
        if (board_is_replaced(&node->ports[i - 1].page_board, path))
            drop_port(node, i - 1);
    }
    DIR *dir = opendir(node->folder);
    for (struct dirent *entry;
         dir != NULL && node->port_count < SOLAR_NODE_PORTS_MAX && (entry = readdir(dir)) != NULL;)
        if (board_has_end(entry->d_name, BOARD_PAGE_END))
            add_port(node, entry->d_name);
    if (dir != NULL)
        closedir(dir);
}

/* NULL: there is no room. A job that reports processes that are not, under another name with each
 * look, has no more of them than files: the others' room is theirs. */
static struct process *find_process(struct solar_node *node, uint64_t id, uint32_t label)
{
    size_t of_label = 0;
    for (size_t i = 0; i < node->process_count; i++) {
        of_label += node->processes[i].label == label;
        if (node->processes[i].id == id && node->processes[i].label == label)
            return &node->processes[i];
    }
    if (node->process_count == SHARE_PROCESSES_MAX || of_label >= SOLAR_NODE_FILES_MAX)
        return NULL;
    struct process *fresh = &node->processes[node->process_count++];
    *fresh = (struct process){.id = id, .label = label};
    return fresh;
}

/* What a report says goes into what is known of the process. A clock or a count that goes back, or
 * leaps, says nothing. */
static void take_report(void *arg, uint32_t label, const struct report *report)
{
    struct solar_node *node = arg;
    struct process *p = find_process(node, report->process, label);
    if (p == NULL)
        return;
    int64_t took_ns = report->made_ns - p->made_ns, sent = report->sent_bytes - p->sent_bytes;
    if (took_ns == 0)
        return; /* the same as last time */
    if (p->seen_ns != 0 && took_ns > 0 && sent >= 0) {
        double rate = (double)sent * NS_BITS / (double)took_ns;
        p->rate_bps +=
            ((rate < (double)PAGE_LINE_MAX_BPS ? rate : (double)PAGE_LINE_MAX_BPS) - p->rate_bps) /
            RATE_PART;
    }
    p->made_ns = report->made_ns;
    p->sent_bytes = report->sent_bytes;
    p->waits = report->waits;
    p->seen_ns = node->now_ns;
    memcpy(p->ifname, report->ifname, sizeof(p->ifname));
}

static void forget(struct solar_node *node)
{
    for (size_t i = node->process_count; i > 0; i--)
        if (node->now_ns - node->processes[i - 1].seen_ns > GONE_NS)
            node->processes[i - 1] = node->processes[--node->process_count];
}

static void read_page(struct solar_node *node, struct line *port)
{
    size_t len;
    struct page page;
    if (board_read(&port->page_board, node->bytes, sizeof(node->bytes), &len, NULL) != ERR_OK ||
        page_decode(node->bytes, len, &page, NULL) != ERR_OK)
        return;
    port->page = page;
    port->has_page = true;
}

static void divide(struct solar_node *node, struct line *port)
{
    char path[PATH_SIZE];
    size_t count = 0;
    read_page(node, port);
    for (size_t i = 0; port->has_page && i < node->process_count; i++) {
        const struct process *p = &node->processes[i];
        if (strcmp(p->ifname, port->page.ifname) == 0)
            node->shares[count++] = (struct share_process){.process = p->id,
                                                           .label = p->label,
                                                           .sends_bps = (int64_t)p->rate_bps,
                                                           .waits = p->waits};
    }
    if (count == 0)
        return;
    share_divide(&port->page, node->shares, count);
    path_of(node, port, BOARD_SHARES_END, path);
    if (port->shares.fd >= 0 && board_is_replaced(&port->shares, path))
        board_release(&port->shares);
    if (port->shares.fd < 0 &&
        board_create(path, BOARD_SHARES, SHARE_BYTES_MAX, 0644, &port->shares, NULL) != ERR_OK)
        return;
    size_t len = share_encode(node->shares, count, node->bytes);
    if (board_publish(&port->shares, node->bytes, len, NULL) != ERR_OK)
        board_release(&port->shares); /* made anew with the next look */
}

size_t solar_node_look(struct solar_node *node, int64_t now_ns)
{
    node->now_ns = now_ns;
    if (now_ns >= node->list_ns) {
        node->list_ns = now_ns + LIST_NS;
        list_ports(node);
    }
    size_t told = solar_reports(node->folder, take_report, node);
    forget(node);
    for (size_t i = 0; i < node->port_count; i++)
        divide(node, &node->ports[i]);
    return told;
}
