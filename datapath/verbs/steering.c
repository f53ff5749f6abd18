/*
 * datapath/verbs/steering.c - see steering.h.
 */
#include "datapath/verbs/steering.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define KNOWN_MAX 256 /* devices of a node */
#define KEY_SIZE  160

struct queue {
    struct ibv_pd *pd;
    struct ibv_cq *cq;
    struct ibv_qp *qp;
};

static void queue_close(struct queue *queue)
{
    if (queue->qp != NULL)
        ibv_destroy_qp(queue->qp);
    if (queue->cq != NULL)
        ibv_destroy_cq(queue->cq);
    if (queue->pd != NULL)
        ibv_dealloc_pd(queue->pd);
}

static struct ibv_qp *make_qp(const struct queue *queue, enum ibv_qp_type type)
{
    struct ibv_qp_init_attr attr;
    memset(&attr, 0, sizeof(attr));
    attr.send_cq = attr.recv_cq = queue->cq;
    attr.qp_type = type;
    attr.cap.max_send_wr = attr.cap.max_recv_wr = 1;
    attr.cap.max_send_sge = attr.cap.max_recv_sge = 1;
    return ibv_create_qp(queue->pd, &attr);
}

/* Rules stand on raw or datagram queue pairs only. */
static bool queue_open(struct ibv_context *context, struct queue *out)
{
    *out = (struct queue){.pd = ibv_alloc_pd(context)};
    out->cq = out->pd == NULL ? NULL : ibv_create_cq(context, 1, NULL, NULL, 0);
    out->qp = out->cq == NULL ? NULL : make_qp(out, IBV_QPT_RAW_PACKET);
    if (out->qp == NULL && out->cq != NULL)
        out->qp = make_qp(out, IBV_QPT_UD);
    if (out->qp != NULL)
        return true;
    queue_close(out);
    return false;
}

int verbs_steering_answer(bool made, int error)
{
    if (made)
        return 1;
    return error == EOPNOTSUPP || error == ENOSYS ? 0 : -1;
}

/* *out_final: the same question would have the same answer for as long as this process runs. */
static int probe(struct ibv_context *context, bool *out_final)
{
    struct {
        struct ibv_flow_attr attr;
        struct ibv_flow_spec_eth eth;
    } rule;
    static const uint8_t nobody[] = {0x02, 0x00, 0x53, 0x54, 0x4c, 0x52}; /* locally administered */
    struct queue queue;
    if (!queue_open(context, &queue))
        return -1;
    memset(&rule, 0, sizeof(rule));
    rule.attr.type = IBV_FLOW_ATTR_NORMAL;
    rule.attr.size = sizeof(rule);
    rule.attr.num_of_specs = 1;
    rule.attr.port = 1;
    rule.eth.type = IBV_FLOW_SPEC_ETH;
    rule.eth.size = sizeof(rule.eth);
    memcpy(rule.eth.val.dst_mac, nobody, sizeof(nobody));
    memset(rule.eth.mask.dst_mac, 0xff, sizeof(rule.eth.mask.dst_mac));
    errno = 0;
    struct ibv_flow *flow = ibv_create_flow(queue.qp, &rule.attr);
    int error = errno;
    if (flow != NULL)
        ibv_destroy_flow(flow);
    queue_close(&queue);
    int answer = verbs_steering_answer(flow != NULL, error);
    *out_final = answer >= 0 || error == EPERM; /* dropped rights do not come back */
    return answer;
}

int verbs_flow_steering(struct ibv_context *context, const char *firmware)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static struct {
        char key[KEY_SIZE];
        int answer;
    } known[KNOWN_MAX];
    static size_t count;
    char key[KEY_SIZE];
    int answer = -1;
    bool found = false, final = false;
    snprintf(key, sizeof(key), "%s %s", ibv_get_device_name(context->device), firmware);
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < count && !found; i++) {
        found = strcmp(known[i].key, key) == 0;
        answer = found ? known[i].answer : -1;
    }
    pthread_mutex_unlock(&lock);
    if (found)
        return answer;
    answer = probe(context, &final);
    pthread_mutex_lock(&lock);
    if (final && count < KNOWN_MAX) {
        memcpy(known[count].key, key, sizeof(key));
        known[count++].answer = answer;
    }
    pthread_mutex_unlock(&lock);
    return answer;
}
