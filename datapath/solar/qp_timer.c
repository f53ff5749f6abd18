/*
 * datapath/solar/qp_timer.c - what a queue pair does because of time.
 */
#include "datapath/solar/qp.h"

/* Of the time after which a peer counts as gone: when it is asked for a sign. */
#define DEAD_PARTS 8
/* A peer that owes nothing may be busy with something else for so many of these times. */
#define IDLE_DEADS 6
/* Who may send, wants to and is silent for so long, leaves the line to others meanwhile. Shorter
 * would be the time that a process waits for a busy core: who is rested for that falls behind its
 * weight. */
#define REST_NS INT64_C(1000000000)

/* Is there anything that the peer has to do? */
static bool expects(const struct solar_qp *qp)
{
    return qp->message_first < qp->message_end;
}

static int64_t patience_ns(const struct solar_qp *qp)
{
    return qp->context->config.dead_ns * (expects(qp) ? 1 : IDLE_DEADS);
}

/* Silence counts from when something is owed. */
static int64_t silent_since_ns(const struct solar_qp *qp)
{
    return expects(qp) && qp->owed_ns > qp->heard_ns ? qp->owed_ns : qp->heard_ns;
}

static int64_t ask_at_ns(const struct solar_qp *qp)
{
    int64_t since_ns = silent_since_ns(qp);
    since_ns = qp->probe_ns > since_ns ? qp->probe_ns : since_ns;
    return since_ns + patience_ns(qp) / DEAD_PARTS;
}

static void ask_for_sign(struct solar_qp *qp, int64_t now_ns)
{
    int64_t silence_ns = now_ns - silent_since_ns(qp);
    if (silence_ns >= patience_ns(qp) && qp->probe_ns > silent_since_ns(qp)) {
        char text[UDP_ADDRESS_TEXT];
        udp_address_format(&qp->peer, text);
        qp_fail_with(qp, ERR_UNAVAILABLE,
                     "no sign of the peer %s for %lld ms; is its process there, does the network "
                     "carry UDP to its port?",
                     text, (long long)(silence_ns / 1000000));
    } else if (now_ns >= ask_at_ns(qp)) {
        qp->probe_ns = now_ns;
        qp_send_probe(qp, now_ns);
    }
}

static int64_t rest_at_ns(const struct solar_qp *qp)
{
    return qp->joined && credit_is_active(qp->context->credit, qp->sender) ? qp->heard_ns + REST_NS
                                                                           : INT64_MAX;
}

void qp_on_tick(struct solar_qp *qp, int64_t now_ns)
{
    if (qp->state != QP_OPEN) {
        handshake_on_tick(qp, now_ns);
        return;
    }
    if (pump_deadline_ns(&qp->pump) <= now_ns) {
        pump_on_tick(&qp->pump, now_ns);
        if (track_wants_ask(&qp->track, now_ns))
            qp_send_probe(qp, now_ns);
        qp_list_kick(qp);
    }
    if (qp->ready_ns <= now_ns) {
        pump_note_absence(&qp->pump, now_ns - qp->ready_ns);
        qp->ready_ns = INT64_MAX;
        qp_list_kick(qp);
    }
    if (rest_at_ns(qp) <= now_ns) {
        credit_rest(qp->context->credit, qp->sender);
        qp_grant_all(qp->context);
    }
    ask_for_sign(qp, now_ns);
    if (qp->state == QP_OPEN && qp->untold)
        qp_tell(qp, now_ns);
}

int64_t qp_deadline_ns(const struct solar_qp *qp)
{
    if (qp->state == QP_ASKING || qp->state == QP_WELCOMING)
        return qp->hello_ns < qp->open_deadline_ns ? qp->hello_ns : qp->open_deadline_ns;
    if (qp->state != QP_OPEN)
        return INT64_MAX;
    int64_t at_ns = pump_deadline_ns(&qp->pump);
    at_ns = qp->ready_ns < at_ns ? qp->ready_ns : at_ns;
    int64_t sign_ns = ask_at_ns(qp), rest_ns = rest_at_ns(qp);
    at_ns = rest_ns < at_ns ? rest_ns : at_ns;
    return sign_ns < at_ns ? sign_ns : at_ns;
}
