#pragma once
/*
 * datapath/value.h - the knob values of doc/knobs.md as C structures, and back.
 *
 * Readers take JSON that may be wrong in any way and answer ERR_INVALID naming the member; they
 * check form and range, not what a device makes of it. Unknown members are refused. Writers make
 * the canonical form; NULL means out of memory. Both are pure.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "base/err.h"
#include "datapath/sys/roce_tos.h"

#define VALUE_PRIORITIES 8
#define VALUE_TEXT_MAX   256

/* dcb.ets; tsa holds the kernel's codes: 0 strict, 1 cbs, 2 ets, 255 vendor. The plan only asks for
 * strict and ets; the others occur as what a driver had before and must be given back on undo. */
struct ets_value {
    uint8_t bw_percent[VALUE_PRIORITIES];
    uint8_t prio_tc[VALUE_PRIORITIES];
    uint8_t tsa[VALUE_PRIORITIES];
};
ERR_MUST_CHECK enum err_code ets_value_from_json(const json_t *json, struct ets_value *out,
                                                 struct err *err);
json_t *ets_value_to_json(const struct ets_value *value);
/* What every driver checks: percents of ETS classes sum to 100 when there is one, others are 0. */
ERR_MUST_CHECK enum err_code ets_value_check(const struct ets_value *value, struct err *err);

/* dcb.pfc */
struct pfc_value {
    uint16_t delay;
    uint8_t mask; /* bit n = priority n */
};
ERR_MUST_CHECK enum err_code pfc_value_from_json(const json_t *json, struct pfc_value *out,
                                                 struct err *err);
json_t *pfc_value_to_json(const struct pfc_value *value);

/* dcb.app: DSCP entries, sorted, no doubles. */
#define APP_VALUE_MAX 512 /* 64 DSCPs x 8 priorities */
struct app_entry {
    uint8_t dscp;
    uint8_t priority;
};
struct app_value {
    size_t count;
    struct app_entry entries[APP_VALUE_MAX];
};
ERR_MUST_CHECK enum err_code app_value_from_json(const json_t *json, struct app_value *out,
                                                 struct err *err);
json_t *app_value_to_json(const struct app_value *value);
void app_value_sort(struct app_value *value);
bool app_value_has(const struct app_value *value, struct app_entry entry);

/* dcb.maxrate; RATE_NONE = no limit. */
#define RATE_NONE INT64_C(-1)
struct maxrate_value {
    int64_t rate_bps[VALUE_PRIORITIES];
};
ERR_MUST_CHECK enum err_code maxrate_value_from_json(const json_t *json, struct maxrate_value *out,
                                                     struct err *err);
json_t *maxrate_value_to_json(const struct maxrate_value *value);

/* dcb.buffer */
struct buffer_value {
    uint8_t prio_buffer[VALUE_PRIORITIES];
    uint32_t size_bytes[VALUE_PRIORITIES];
};
ERR_MUST_CHECK enum err_code buffer_value_from_json(const json_t *json, struct buffer_value *out,
                                                    struct err *err);
json_t *buffer_value_to_json(const struct buffer_value *value);

/* roce.tos: {"mode":"RoCE v2","tos":106} */
ERR_MUST_CHECK enum err_code roce_tos_value_from_json(const json_t *json, struct roce_tos *out,
                                                      struct err *err);
json_t *roce_tos_value_to_json(const struct roce_tos *value);

/* link.pause: {"rx":false,"tx":false} */
struct pause_value {
    bool rx, tx;
};
ERR_MUST_CHECK enum err_code pause_value_from_json(const json_t *json, struct pause_value *out,
                                                   struct err *err);
json_t *pause_value_to_json(const struct pause_value *value);

/* dcb.dcbx: {"agent":"none","mode":["host","ieee"]} */
#define DCBX_HOST     0x01
#define DCBX_FIRMWARE 0x02 /* LLD_MANAGED: the NIC runs the protocol */
#define DCBX_CEE      0x04
#define DCBX_IEEE     0x08
#define DCBX_STATIC   0x10
struct dcbx_value {
    char agent[16]; /* who else manages the port's dcb: "none", "firmware", a program */
    uint8_t mode;
};
ERR_MUST_CHECK enum err_code dcbx_value_from_json(const json_t *json, struct dcbx_value *out,
                                                  struct err *err);
json_t *dcbx_value_to_json(const struct dcbx_value *value);

/* devlink.rate: {"parent":"stellar","tx_max_bps":N|null,"tx_share_bps":N|null}; nodes have no
 * parent.
 */
#define RATE_NODE_NAME_SIZE 64
#define RATE_OUR_NODE       "stellar" /* our nodes' names begin so */
struct rate_value {
    char parent[RATE_NODE_NAME_SIZE]; /* "" = none */
    int64_t tx_max_bps;               /* RATE_NONE = no limit */
    int64_t tx_share_bps;             /* RATE_NONE = no guarantee */
};
ERR_MUST_CHECK enum err_code rate_value_from_json(const json_t *json, struct rate_value *out,
                                                  struct err *err);
json_t *rate_value_to_json(const struct rate_value *value);
/* "leaf/pf0vf1" -> false, "pf0vf1"; "node/stellar" -> true, "stellar". The name is borrowed. */
ERR_MUST_CHECK enum err_code rate_id_parse(const char *id, bool *out_node, const char **out_name,
                                           struct err *err);
void rate_id_format(bool node, const char *name, char *out, size_t size);
bool rate_node_is_ours(const char *name);

/* devlink.param: {"driverinit":true}, a scalar for each cmode that is spoken of. */
#define PARAM_TEXT_SIZE 32
extern const char *const param_cmodes[]; /* in the order of enum devlink_cmode; NULL-terminated */
ERR_MUST_CHECK enum err_code param_value_check(const json_t *json, struct err *err);

/* host.*: a text of 1..VALUE_TEXT_MAX-1 printable ASCII bytes. Borrowed from json. */
ERR_MUST_CHECK enum err_code text_value_from_json(const json_t *json, const char **out,
                                                  struct err *err);
#define MTU_VALUE_MIN 68
#define MTU_VALUE_MAX 65535
ERR_MUST_CHECK enum err_code mtu_value_from_json(const json_t *json, int *out, struct err *err);

/* tc ------------------------------------------------------------------------------------------ */

#define TC_OUR_MAJOR       0x5e11U
#define TC_OUR_HANDLE      (TC_OUR_MAJOR << 16)
#define TC_HANDLE_TEXT_MAX 16

/* "5e11:" or "5e11:1a", lower-case hex without leading zeros; "5e11:" has minor 0. */
bool tc_handle_parse(const char *text, uint32_t *out);
void tc_handle_format(uint32_t handle, char out[TC_HANDLE_TEXT_MAX]);

/* tc.qdisc: htb shares between classes that are knobs of their own; ets between bands. */
#define QDISC_BANDS_MAX 16
#define QDISC_PRIOMAP   16
struct qdisc_value {
    bool ets; /* else htb */
    uint32_t handle;
    uint32_t default_class;           /* htb */
    uint8_t bands, strict;            /* ets: the first `strict` bands come before all others */
    uint32_t quanta[QDISC_BANDS_MAX]; /* ets: bytes a round, of band strict and on */
    uint8_t priomap[QDISC_PRIOMAP];   /* ets: priority of a packet -> band from 0 */
    bool offloaded;                   /* observed only: the NIC does it */
};
/* The same but for who does it. */
bool qdisc_value_same(const struct qdisc_value *a, const struct qdisc_value *b);
ERR_MUST_CHECK enum err_code qdisc_value_from_json(const json_t *json, struct qdisc_value *out,
                                                   struct err *err);
json_t *qdisc_value_to_json(const struct qdisc_value *value);

/* tc.red: marks (or drops) packets of a class as its queue grows from min to max. */
#define RED_BYTES_MAX (INT64_C(1) << 29)
#define RED_LIMIT_MAX (INT64_C(1) << 31)
#define RED_PERMYRIAD 10000
struct red_value {
    bool ecn; /* marks what may be marked instead of dropping it */
    uint32_t min_bytes, max_bytes;
    uint32_t limit_bytes;           /* of the queue */
    uint32_t probability_permyriad; /* at max_bytes; 1..10000 */
    bool offloaded;                 /* observed only */
};
ERR_MUST_CHECK enum err_code red_value_from_json(const json_t *json, struct red_value *out,
                                                 struct err *err);
json_t *red_value_to_json(const struct red_value *value);
bool red_value_same(const struct red_value *a, const struct red_value *b);

/* tc.class */
struct class_value {
    uint32_t parent;
    int64_t rate_bps;
    int64_t ceil_bps;
};
ERR_MUST_CHECK enum err_code class_value_from_json(const json_t *json, struct class_value *out,
                                                   struct err *err);
json_t *class_value_to_json(const struct class_value *value);

/* tc.flower */
#define FLOWER_ACTIONS_MAX 4
#define FLOWER_COOKIE_SIZE 16
#define FLOWER_COOKIE_MARK "STLR"
#define FLOWER_PREF_IPV4   100
#define FLOWER_PREF_IPV6   101

enum flower_action_kind {
    FLOWER_ACTION_CLASS = 0, /* skbedit priority to an htb class */
    FLOWER_ACTION_PRIORITY,  /* skbedit priority */
    FLOWER_ACTION_POLICE,
};
struct flower_action {
    enum flower_action_kind kind;
    uint32_t priority; /* CLASS: the class's handle */
    int64_t police_bps;
    int64_t burst_bytes;
};
struct flower_prefix {
    bool set;
    uint8_t bits;     /* prefix length */
    uint8_t addr[16]; /* network order, masked; 4 bytes used for IPv4 */
};
struct flower_value {
    bool hw;   /* "only": in the NIC; else "no": in software */
    bool lost; /* with hw: the kernel holds it, the NIC does not ("lost"; observed only) */
    bool ipv6;
    bool has_dscp;
    uint8_t dscp;
    uint8_t ip_proto; /* IPPROTO_UDP, IPPROTO_TCP or 0 = any */
    bool has_dst_port, has_src_port;
    uint16_t dst_port, src_port;
    struct flower_prefix src, dst;
    uint8_t cookie[FLOWER_COOKIE_SIZE];
    size_t action_count;
    struct flower_action actions[FLOWER_ACTIONS_MAX];
};
ERR_MUST_CHECK enum err_code flower_value_from_json(const json_t *json, struct flower_value *out,
                                                    struct err *err);
json_t *flower_value_to_json(const struct flower_value *value);
bool flower_cookie_is_ours(const uint8_t *cookie, size_t len);

/* "egress/26" <-> true, 26. */
ERR_MUST_CHECK enum err_code flower_id_parse(const char *id, bool *out_egress, uint32_t *out_label,
                                             struct err *err);
void flower_id_format(bool egress, uint32_t label, char *out, size_t size);

/* solar.page; with the interface's name only where it is not the port's, in a state. */
struct page;
ERR_MUST_CHECK enum err_code page_value_from_json(const json_t *json, struct page *out,
                                                  struct err *err);
json_t *page_value_to_json(const struct page *page, const char *ifname);

/* For the readers above and nobody else: members of one object, sticky, unread ones refused. ----
 */
struct value_reader {
    const json_t *object;
    const char *what; /* knob kind, for messages */
    size_t seen;
    enum err_code code;
    struct err *err;
};
void value_reader_init(struct value_reader *r, const json_t *json, const char *what,
                       struct err *err);
void value_reader_fail(struct value_reader *r, const char *key, const char *wanted);
const json_t *value_reader_get(struct value_reader *r, const char *key, bool required);
int64_t value_reader_int(struct value_reader *r, const char *key, int64_t min, int64_t max);
const char *value_reader_text(struct value_reader *r, const char *key, bool required);
uint32_t value_reader_handle(struct value_reader *r, const char *key);
void value_reader_bytes8(struct value_reader *r, const char *key, uint8_t max, uint8_t out[8]);
ERR_MUST_CHECK enum err_code value_reader_end(struct value_reader *r);
