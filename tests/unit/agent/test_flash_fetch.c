/*
 * tests/unit/agent/test_flash_fetch.c - an image from a small real HTTP server on loopback: whole,
 * in two parts, broken, false, stopped.
 */
#include "flash_test.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sys/socket.h>

#include "agent/flash_fetch.h"

#define BYTES 200000
#define HEAD  1024

/* Answers one request a connection, each in the way of its turn; the last way stays. */
struct way {
    int status;      /* 200 or 206: the image from where it is asked; others: no body */
    size_t cut;      /* bytes of the image at most; 0 = all */
    size_t more;     /* bytes too many */
    bool other;      /* bytes of another image */
    bool from_start; /* the range is not looked at */
};

struct server {
    int listener;
    uint16_t port;
    pthread_t thread;
    const struct way *ways;
    size_t count, asked;
    size_t from[8]; /* the ranges that were asked for */
    bool with_token;
    char image[BYTES];
};

static void send_all(int fd, const char *data, size_t len)
{
    while (len > 0) {
        ssize_t n = send(fd, data, len, MSG_NOSIGNAL);
        if (n <= 0)
            return;
        data += n;
        len -= (size_t)n;
    }
}

static void answer(struct server *server, int fd)
{
    char text[HEAD] = "", head[HEAD];
    size_t len = 0;
    while (strstr(text, "\r\n\r\n") == NULL) {
        ssize_t n = recv(fd, text + len, sizeof(text) - 1 - len, 0);
        if (n <= 0)
            return;
        len += (size_t)n;
        text[len] = '\0';
    }
    size_t turn = server->asked < server->count ? server->asked : server->count - 1;
    const struct way *way = &server->ways[turn];
    const char *range = strstr(text, "Range: bytes=");
    size_t from = range == NULL ? 0 : (size_t)atol(range + 13);
    if (server->asked < 8)
        server->from[server->asked] = from;
    server->with_token = strstr(text, "Authorization: Bearer st_x\r\n") != NULL;
    server->asked++;
    if (way->from_start)
        from = 0;
    bool good = way->status == 200 || way->status == 206;
    size_t rest = good ? BYTES - from : 0;
    size_t body = way->cut != 0 && way->cut < rest ? way->cut : rest;
    snprintf(head, sizeof(head),
             "HTTP/1.1 %d X\r\nConnection: close\r\nContent-Length: %zu\r\n\r\n", way->status,
             rest + way->more);
    send_all(fd, head, strlen(head));
    if (way->other)
        server->image[from] ^= 1;
    send_all(fd, server->image + from, body);
    if (way->other)
        server->image[from] ^= 1;
    send_all(fd, server->image, way->more);
}

static void *serve(void *arg)
{
    struct server *server = arg;
    for (;;) {
        int fd = accept(server->listener, NULL, NULL);
        if (fd < 0)
            return NULL;
        answer(server, fd);
        close(fd);
    }
}

static void server_up(struct server *server, const struct way *ways, size_t count)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(address);
    memset(server, 0, sizeof(*server));
    server->ways = ways;
    server->count = count;
    for (size_t i = 0; i < BYTES; i++)
        server->image[i] = (char)('a' + i * 7919 % 26);
    server->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(server->listener, (struct sockaddr *)&address, len), 0);
    assert_int_equal(listen(server->listener, 8), 0);
    assert_int_equal(getsockname(server->listener, (struct sockaddr *)&address, &len), 0);
    server->port = ntohs(address.sin_port);
    assert_int_equal(pthread_create(&server->thread, NULL, serve, server), 0);
}

static void server_down(struct server *server)
{
    shutdown(server->listener, SHUT_RDWR);
    pthread_join(server->thread, NULL);
    close(server->listener);
}

struct site {
    struct server server;
    char dir[TEST_PATH_MAX], folder[KEEP_PATH_MAX], path[KEEP_PATH_MAX];
    struct flash_image image;
    struct link_image from;
    atomic_bool stop;
    atomic_llong have;
};

static void fetch_open(struct site *site, const struct way *ways, size_t count)
{
    struct err err = ERR_INIT;
    memset(site, 0, sizeof(*site));
    server_up(&site->server, ways, count);
    test_folder(site->dir);
    assert_ok(keep_path(site->dir, "flash", site->folder, &err));
    site->image = (struct flash_image){.id = "i1", .size_bytes = BYTES};
    OWN(sha256) struct sha256 *hash = sha256_new();
    sha256_add(hash, site->server.image, BYTES);
    sha256_end(hash, site->image.sha256);
    snprintf(site->from.url, sizeof(site->from.url), "http://127.0.0.1:%u/x", site->server.port);
    site->from.token = strdup("st_x");
    assert_ok(flash_image_path(site->folder, &site->image, site->path, &err));
}

static void fetch_close(struct site *site)
{
    server_down(&site->server);
    link_image_release(&site->from);
    remove_folder(site->dir);
}

static enum err_code fetch(struct site *site, struct err *err)
{
    const struct flash_fetch fetch = {.from = &site->from,
                                      .image = &site->image,
                                      .folder = site->folder,
                                      .stop = &site->stop,
                                      .have_bytes = &site->have};
    return flash_fetch(&fetch, err);
}

#define OPEN(site, ...)                                                                            \
    static const struct way ways_[] = {__VA_ARGS__};                                               \
    fetch_open(site, ways_, sizeof(ways_) / sizeof(ways_[0]))

static void an_image_is_fetched_once_and_checked(void **state)
{
    (void)state;
    struct site site;
    struct err err = ERR_INIT;
    OPEN(&site, {.status = 200});
    assert_ok(fetch(&site, &err));
    assert_ok(flash_image_check(site.path, &site.image, &err));
    assert_true(site.server.with_token);
    assert_int_equal(atomic_load(&site.have), BYTES);
    assert_ok(fetch(&site, &err));
    assert_int_equal(site.server.asked, 1);
    fetch_close(&site);
}

static void what_broke_off_goes_on_where_it_ended(void **state)
{
    (void)state;
    struct site site;
    struct err err = ERR_INIT;
    OPEN(&site, {.status = 200, .cut = 150000}, {.status = 206});
    assert_fails(fetch(&site, &err), ERR_UNAVAILABLE);
    assert_int_equal(access(site.path, F_OK), -1);
    assert_ok(fetch(&site, &err));
    assert_int_equal(site.server.from[1], 150000);
    fetch_close(&site);
}

static void a_server_that_knows_no_ranges_gives_it_from_the_start(void **state)
{
    (void)state;
    struct site site;
    struct err err = ERR_INIT;
    OPEN(&site, {.status = 200, .cut = 150000}, {.status = 200, .from_start = true});
    assert_fails(fetch(&site, &err), ERR_UNAVAILABLE);
    assert_ok(fetch(&site, &err));
    fetch_close(&site);
}

static void a_beginning_of_other_bytes_is_fetched_again(void **state)
{
    (void)state;
    struct site site;
    struct err err = ERR_INIT;
    OPEN(&site, {.status = 200, .cut = 150000, .other = true}, {.status = 206}, {.status = 200});
    assert_fails(fetch(&site, &err), ERR_UNAVAILABLE);
    assert_ok(fetch(&site, &err)); /* the rest, a wrong hash, and all of it again */
    assert_int_equal(site.server.asked, 3);
    assert_int_equal(site.server.from[2], 0);
    fetch_close(&site);
}

static void other_bytes_are_no_image(void **state)
{
    (void)state;
    struct site site;
    struct err err = ERR_INIT;
    OPEN(&site, {.status = 200, .other = true});
    assert_fails(fetch(&site, &err), ERR_INVALID);
    assert_contains(err.text, "SHA-256");
    assert_int_equal(site.server.asked, 1);
    assert_int_equal(access(site.path, F_OK), -1);
    fetch_close(&site);
}

static void one_byte_too_many_ends_it(void **state)
{
    (void)state;
    struct site site;
    struct err err = ERR_INIT;
    OPEN(&site, {.status = 200, .more = 1});
    assert_fails(fetch(&site, &err), ERR_INVALID);
    assert_contains(err.text, "more than the 200000 bytes");
    fetch_close(&site);
}

static void what_the_server_answers_decides_whether_to_try_again(void **state)
{
    (void)state;
    static const struct {
        struct way way;
        enum err_code code;
    } cases[] = {
        {{.status = 404}, ERR_NOT_FOUND},   {{.status = 403}, ERR_DENIED},
        {{.status = 401}, ERR_DENIED},      {{.status = 503}, ERR_UNAVAILABLE},
        {{.status = 429}, ERR_UNAVAILABLE}, {{.status = 416}, ERR_UNAVAILABLE},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct site site;
        struct err err = ERR_INIT;
        fetch_open(&site, &cases[i].way, 1);
        assert_fails(fetch(&site, &err), cases[i].code);
        fetch_close(&site);
    }
}

static void a_beginning_that_the_server_has_no_rest_of_is_dropped(void **state)
{
    (void)state;
    struct site site;
    struct err err = ERR_INIT;
    OPEN(&site, {.status = 200, .cut = 1000}, {.status = 416}, {.status = 200});
    assert_fails(fetch(&site, &err), ERR_UNAVAILABLE);
    assert_fails(fetch(&site, &err), ERR_UNAVAILABLE);
    assert_ok(fetch(&site, &err));
    assert_int_equal(site.server.from[2], 0);
    fetch_close(&site);
}

static void it_can_be_stopped(void **state)
{
    (void)state;
    struct site site;
    struct err err = ERR_INIT;
    OPEN(&site, {.status = 200});
    atomic_store(&site.stop, true);
    assert_fails(fetch(&site, &err), ERR_CONFLICT);
    fetch_close(&site);
}

static void an_image_that_does_not_fit_is_not_begun(void **state)
{
    (void)state;
    struct site site;
    struct err err = ERR_INIT;
    OPEN(&site, {.status = 200});
    site.image.size_bytes = INT64_C(1) << 60;
    assert_fails(fetch(&site, &err), ERR_LIMIT);
    assert_contains(err.text, "MB left");
    assert_int_equal(site.server.asked, 0);
    fetch_close(&site);
}

static void a_link_in_the_place_of_the_file_is_not_followed(void **state)
{
    (void)state;
    struct site site;
    struct err err = ERR_INIT;
    char part[KEEP_PATH_MAX], other[KEEP_PATH_MAX];
    OPEN(&site, {.status = 200});
    assert_ok(keep_path(site.folder, "i1.part", part, &err));
    assert_ok(keep_path(site.dir, "other", other, &err));
    put_file(site.folder, "x", "");
    put_file(site.dir, "other", "precious");
    assert_int_equal(symlink(other, part), 0);
    assert_fails(fetch(&site, &err), ERR_IO);
    OWN(str) char *text = test_load_path(other, NULL);
    assert_string_equal(text, "precious");
    fetch_close(&site);
}

static void what_is_no_file_is_not_waited_for(void **state)
{
    (void)state;
    struct site site;
    struct err err = ERR_INIT;
    char path[KEEP_PATH_MAX];
    OPEN(&site, {.status = 200});
    put_file(site.folder, "x", "");
    assert_ok(keep_path(site.folder, "i1.part", path, &err));
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_ok(keep_path(site.folder, "i1.bin", path, &err));
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_fails(flash_image_check(path, &site.image, &err), ERR_INVALID);
    assert_ok(fetch(&site, &err));
    assert_ok(flash_image_check(path, &site.image, &err));
    fetch_close(&site);
}

static void a_way_without_its_files_is_tried_again(void **state)
{
    (void)state;
    static const char *const away[] = {"/nonexistent/ca.crt", "/dev/null"};
    struct site site;
    struct err err = ERR_INIT;
    OPEN(&site, {.status = 200});
    for (size_t i = 0; i < sizeof(away) / sizeof(away[0]); i++) {
        site.from.ca_file = strdup(away[i]);
        assert_fails(fetch(&site, &err), ERR_UNAVAILABLE);
        assert_contains(err.text, away[i]);
        free(site.from.ca_file);
        site.from.ca_file = NULL;
    }
    assert_int_equal(site.server.asked, 0);
    assert_ok(fetch(&site, &err));
    fetch_close(&site);
}

static void old_images_are_swept(void **state)
{
    (void)state;
    struct site site;
    OPEN(&site, {.status = 200});
    put_file(site.folder, "i1.part", "");
    put_file(site.folder, "i2.part", "");
    put_file(site.folder, "i10.bin", "");
    put_file(site.folder, "i1.x.bin", "");
    put_file(site.folder, "notes", ""); /* the folder may be a link to somebody's own */
    flash_folder_sweep(site.folder, &site.image);
    assert_int_equal(count_files(site.folder, "i"), 1);
    flash_folder_sweep(site.folder, NULL);
    assert_int_equal(count_files(site.folder, "i"), 0);
    assert_int_equal(count_files(site.folder, "notes"), 1);
    fetch_close(&site);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_image_is_fetched_once_and_checked),
        cmocka_unit_test(what_broke_off_goes_on_where_it_ended),
        cmocka_unit_test(a_server_that_knows_no_ranges_gives_it_from_the_start),
        cmocka_unit_test(a_beginning_of_other_bytes_is_fetched_again),
        cmocka_unit_test(other_bytes_are_no_image),
        cmocka_unit_test(one_byte_too_many_ends_it),
        cmocka_unit_test(what_the_server_answers_decides_whether_to_try_again),
        cmocka_unit_test(a_beginning_that_the_server_has_no_rest_of_is_dropped),
        cmocka_unit_test(it_can_be_stopped),
        cmocka_unit_test(an_image_that_does_not_fit_is_not_begun),
        cmocka_unit_test(a_link_in_the_place_of_the_file_is_not_followed),
        cmocka_unit_test(what_is_no_file_is_not_waited_for),
        cmocka_unit_test(a_way_without_its_files_is_tried_again),
        cmocka_unit_test(old_images_are_swept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
