/*
 * A user of the installed libsolar: two contexts, one write between them.
 */
#include <stdio.h>
#include <string.h>

#include <solar.h>

struct end {
    struct solar_context *context;
    struct solar_pd *pd;
    struct solar_cq *cq;
    struct solar_mr *mr;
    struct solar_qp *qp;
    char memory[4096];
};

static const uint8_t key[SOLAR_KEY_SIZE] = "no secret, only for this program";

static int begin(struct end *e, struct err *err)
{
    const struct solar_config config = {.address = "127.0.0.1"};
    if (solar_context_new(&config, &e->context, err) || solar_key_set(e->context, 1, 1, key, err) ||
        solar_pd_new(e->context, &e->pd, err) || solar_cq_new(e->context, 16, &e->cq, err) ||
        solar_mr_new(e->pd, e->memory, sizeof(e->memory), SOLAR_REMOTE_WRITE, &e->mr, err))
        return 1;
    const struct solar_qp_config pair = {.label = 1,
                                         .epoch = 1,
                                         .send_cq = e->cq,
                                         .receive_cq = e->cq,
                                         .send_depth = 4,
                                         .receive_depth = 4};
    return solar_qp_new(e->pd, &pair, &e->qp, err) != ERR_OK;
}

static void end(struct end *e, struct err *err)
{
    solar_qp_free(e->qp);
    if (solar_mr_free(e->mr, err))
        puts(err->text);
    solar_cq_free(e->cq);
    solar_pd_free(e->pd);
    solar_context_free(e->context);
}

int main(void)
{
    static struct end a, b;
    struct err err = ERR_INIT;
    struct solar_completion done;
    if (begin(&a, &err) || begin(&b, &err) || solar_qp_accept(b.qp, &err) ||
        solar_qp_connect(a.qp, "127.0.0.1", solar_context_port(b.context), 10000000000, &err)) {
        puts(err.text);
        return 1;
    }
    while (solar_qp_state(a.qp) == SOLAR_OPENING || solar_qp_state(b.qp) == SOLAR_OPENING) {
        solar_progress(a.context, 0);
        solar_progress(b.context, 0);
    }
    strcpy(a.memory, "written");
    const struct solar_work work = {.mr = a.mr, .length = 8, .remote_key = solar_mr_key(b.mr)};
    if (solar_post(a.qp, SOLAR_WRITE, &work, &err)) {
        puts(err.text);
        return 1;
    }
    while (solar_cq_poll(a.cq, &done, 1) == 0)
        solar_progress(b.context, 0);
    printf("%s %s by libsolar %s\n", solar_code_name(done.status), b.memory, solar_version());
    end(&a, &err);
    end(&b, &err);
    return 0;
}
