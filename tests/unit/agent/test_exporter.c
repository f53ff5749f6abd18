/*
 * tests/unit/agent/test_exporter.c - the page of metrics: names, units, labels; who serves it.
 */
#include "tests/unit/test.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/exporter.h"
#include "agent/exporter_text.h"
#include "base/clock.h"

static void check_name(enum telemetry_kind kind, const char *column, enum telemetry_course course,
                       const char *wanted, double factor)
{
    struct telemetry_name name = {.course = (uint8_t)course};
    char text[EXPORTER_NAME_SIZE];
    snprintf(name.text, sizeof(name.text), "%s", column);
    double got = exporter_name(kind, &name, text);
    assert_string_equal(text, wanted);
    assert_true(got > factor * 0.999 && got < factor * 1.001);
}

static void names_have_units_as_prometheus_wants_them(void **state)
{
    (void)state;
    check_name(TELEMETRY_PORT, "tx_bytes", TELEMETRY_STAYS, "stellar_port_tx_bytes_total", 1);
    check_name(TELEMETRY_PRIORITY, "rx_pause_duration", TELEMETRY_STAYS,
               "stellar_priority_rx_pause_seconds_total", 1e-6);
    check_name(TELEMETRY_TEMPERATURE, "temperature_millicelsius", TELEMETRY_GAUGE,
               "stellar_temperature_temperature_celsius", 1e-3);
    check_name(TELEMETRY_PTP, "offset_ns", TELEMETRY_GAUGE, "stellar_ptp_offset_seconds", 1e-9);
    check_name(TELEMETRY_IRQ, "busiest_cpu_share_permyriad", TELEMETRY_GAUGE,
               "stellar_irq_busiest_cpu_share_ratio", 1e-4);
    check_name(TELEMETRY_RDMA, "a.b-c[3]:d", TELEMETRY_WRAPS, "stellar_rdma_a_b_c_3__d_total", 1);
    check_name(TELEMETRY_PTP, "_ns", TELEMETRY_GAUGE, "stellar_ptp__ns", 1); /* no name before it */
}

static void add_value(struct telemetry_batch *batch, const char *column,
                      enum telemetry_course course, int64_t value)
{
    struct telemetry_name name = {.course = (uint8_t)course, .width = 0};
    struct err err = ERR_INIT;
    uint16_t index;
    int64_t *values;
    snprintf(name.text, sizeof(name.text), "%s", column);
    assert_ok(telemetry_name_add(batch, &name, &index, &err));
    assert_ok(telemetry_column_add(batch, index, &values, &err));
    values[batch->sample_count - 1] = value;
}

static void add_row(struct telemetry_batch *batch, enum telemetry_kind kind, const char *device,
                    const struct telemetry_subject *more)
{
    struct telemetry_subject subject = *more;
    struct err err = ERR_INIT;
    subject.kind = kind;
    assert_ok(telemetry_device_add(batch, device, &subject.device, &err));
    assert_ok(telemetry_row_add(batch, &subject, &err));
}

/* Two samples; the second one is told. */
static void make_batch(struct telemetry_batch *batch, int64_t now_us)
{
    telemetry_batch_init(batch);
    batch->sample_count = 2;
    batch->start_us = now_us - 1000000;
    batch->offset_ms[1] = 1000;
    add_row(batch, TELEMETRY_PORT, "0000:3b:00.0/0", &(struct telemetry_subject){0});
    add_value(batch, "tx_bytes", TELEMETRY_STAYS, 4711);
    add_value(batch, "rx_bytes", TELEMETRY_STAYS, TELEMETRY_ABSENT);
    add_row(batch, TELEMETRY_QP, "mlx5_0",
            &(struct telemetry_subject){.number = 17, .pid = 4242, .label = 7});
    add_value(batch, "tx_bytes", TELEMETRY_STAYS, INT64_MAX);
    add_row(batch, TELEMETRY_PORT, "0000:3b:00.1/0", &(struct telemetry_subject){0});
    add_value(batch, "tx_bytes", TELEMETRY_STAYS, 1);
    add_row(batch, TELEMETRY_PTP, "0000:3b:00.0", &(struct telemetry_subject){0});
    add_value(batch, "offset_ns", TELEMETRY_GAUGE, -250);
    add_row(batch, TELEMETRY_NODE, "", &(struct telemetry_subject){0});
    add_value(batch, "thp_mode", TELEMETRY_GAUGE, 0);
}

static const char wanted[] =
    "# HELP stellar_node_thp_mode Column thp_mode of node rows.\n"
    "# TYPE stellar_node_thp_mode gauge\n"
    "stellar_node_thp_mode{node=\"n\\\"1\\\\\"} 0\n"
    "# HELP stellar_port_tx_bytes_total Column tx_bytes of port rows.\n"
    "# TYPE stellar_port_tx_bytes_total counter\n"
    "stellar_port_tx_bytes_total{node=\"n\\\"1\\\\\",device=\"0000:3b:00.0/0\"} 4711\n"
    "stellar_port_tx_bytes_total{node=\"n\\\"1\\\\\",device=\"0000:3b:00.1/0\"} 1\n"
    "# HELP stellar_ptp_offset_seconds Column offset_ns of ptp rows.\n"
    "# TYPE stellar_ptp_offset_seconds gauge\n"
    "stellar_ptp_offset_seconds{node=\"n\\\"1\\\\\",device=\"0000:3b:00.0\"} -2.5e-07\n"
    "# HELP stellar_qp_tx_bytes_total Column tx_bytes of qp rows.\n"
    "# TYPE stellar_qp_tx_bytes_total counter\n"
    "stellar_qp_tx_bytes_total{node=\"n\\\"1\\\\\",device=\"mlx5_0\",qp=\"17\",pid=\"4242\","
    "job_label=\"7\"} 9223372036854775807\n";

static void values_of_a_metric_stand_together(void **state)
{
    (void)state;
    struct telemetry_batch batch, look;
    struct err err = ERR_INIT;
    char *text = NULL;
    size_t len = 0;
    make_batch(&batch, INT64_C(1790000000000000));
    telemetry_batch_init(&look);
    assert_ok(telemetry_batch_sample(&batch, 1, &look, &err));
    assert_int_equal(look.start_us, INT64_C(1790000000000000));
    FILE *out = open_memstream(&text, &len);
    assert_non_null(out);
    assert_ok(exporter_text(&look, "n\"1\\", out, &err));
    fclose(out);
    assert_string_equal(text, wanted);
    free(text);
    telemetry_batch_release(&batch);
    telemetry_batch_release(&look);
}

static void an_address_has_a_port(void **state)
{
    (void)state;
    static const char *const wrong[] = {"",
                                        ":9469",
                                        "127.0.0.1",
                                        "127.0.0.1:",
                                        "::1:9469",
                                        "[127.0.0.1]:9469",
                                        "localhost:9469",
                                        "127.0.0.1:x",
                                        "127.0.0.1:65536"};
    struct err err = ERR_INIT;
    assert_ok(exporter_check("127.0.0.1:9469", &err));
    assert_ok(exporter_check("[::1]:0", &err));
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        assert_fails(exporter_check(wrong[i], &err), ERR_INVALID);
}

static void ask(unsigned port, const char *request, char *out, size_t size)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    size_t len = 0;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_int_equal(connect(fd, (const struct sockaddr *)&to, sizeof(to)), 0);
    assert_int_equal(write(fd, request, strlen(request)), strlen(request));
    for (ssize_t n; len + 1 < size && (n = read(fd, out + len, size - len - 1)) > 0;)
        len += (size_t)n;
    out[len] = '\0';
    close(fd);
}

static void the_newest_look_is_served(void **state)
{
    (void)state;
    static char answer[8192];
    struct telemetry_batch batch;
    struct err err = ERR_INIT;
    struct clock *clock = clock_system();
    struct exporter *exporter = NULL;
    const struct exporter_config config = {.node = "n1", .address = "127.0.0.1:0", .clock = clock};
    assert_ok(exporter_new(&config, &exporter, &err));
    ask(exporter_port(exporter), "GET /metrics HTTP/1.0\r\n\r\n", answer, sizeof(answer));
    assert_contains(answer, "200 OK");
    assert_contains(answer, "text/plain; version=0.0.4");
    assert_contains(answer, "stellar_agent_looks_total{node=\"n1\"} 0\n");
    assert_null(strstr(answer, "stellar_port"));
    make_batch(&batch, clock->wall_us(clock));
    exporter_put(exporter, &batch, 1);
    ask(exporter_port(exporter), "GET /metrics HTTP/1.0\r\n\r\n", answer, sizeof(answer));
    assert_contains(answer, "stellar_agent_looks_total{node=\"n1\"} 1\n");
    assert_contains(answer, "\nstellar_port_tx_bytes_total{node=\"n1\",device=\"0000:3b:00.0/0\"}");
    ask(exporter_port(exporter), "GET / HTTP/1.0\r\n\r\n", answer, sizeof(answer));
    assert_contains(answer, "404 Not Found");
    ask(exporter_port(exporter), "DELETE /metrics HTTP/1.0\r\n\r\n", answer, sizeof(answer));
    assert_contains(answer, "405 Method Not Allowed");
    exporter_free(exporter);
    telemetry_batch_release(&batch);
}

static void what_is_old_is_not_told(void **state)
{
    (void)state;
    struct telemetry_batch batch;
    struct err err = ERR_INIT;
    struct clock *clock = clock_system();
    struct exporter *exporter = NULL;
    char *page = NULL;
    size_t len;
    const struct exporter_config config = {.node = "n1", .address = "[::1]:0", .clock = clock};
    if (exporter_new(&config, &exporter, &err) != ERR_OK) {
        print_message("# SKIP no IPv6 loopback here: %s\n", err.text);
        skip();
    }
    make_batch(&batch, clock->wall_us(clock) - EXPORTER_STALE_MS * INT64_C(1000) - 1000);
    exporter_put(exporter, &batch, 1);
    assert_ok(exporter_page(exporter, &page, &len, &err));
    assert_int_equal(len, strlen(page));
    assert_contains(page, "stellar_agent_last_look_timestamp_seconds{node=\"n1\"} ");
    assert_null(strstr(page, "stellar_port"));
    free(page);
    exporter_free(exporter);
    telemetry_batch_release(&batch);
}

static void a_port_that_is_taken_is_said(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    struct exporter *first = NULL, *second = NULL;
    char address[32];
    struct exporter_config config = {
        .node = "n1", .address = "127.0.0.1:0", .clock = clock_system()};
    assert_ok(exporter_new(&config, &first, &err));
    snprintf(address, sizeof(address), "127.0.0.1:%u", exporter_port(first));
    config.address = address;
    assert_fails(exporter_new(&config, &second, &err), ERR_IO);
    assert_contains(err.text, address);
    exporter_free(first);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_have_units_as_prometheus_wants_them),
        cmocka_unit_test(values_of_a_metric_stand_together),
        cmocka_unit_test(an_address_has_a_port),
        cmocka_unit_test(the_newest_look_is_served),
        cmocka_unit_test(what_is_old_is_not_told),
        cmocka_unit_test(a_port_that_is_taken_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
