/*
 * tests/unit/server/test_route_match.c - which row a method and a path find.
 */
#include "tests/unit/test.h"

#include "server/route_match.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void none(struct request *request)
{
    (void)request;
}

static const struct route table[] = {
    {"GET", "/", 0, 0, none, "root", NULL},
    {"GET", "/v1/tenants", 0, 0, none, "list", NULL},
    {"POST", "/v1/tenants", 0, 0, none, "make", NULL},
    {"GET", "/v1/tenants/{tenant}", 0, 0, none, "get", NULL},
    {"DELETE", "/v1/tenants/{tenant}", 0, 0, none, "delete", NULL},
    {"POST", "/v1/tenants/{tenant}:drain", 0, 0, none, "drain", NULL},
    {"GET", "/v1/tenants/{tenant}/policy", 0, 0, none, "policy", NULL},
    {"PUT", "/v1/tenants/{tenant}/policy", 0, 0, none, "upload", NULL},
    {"POST", "/v1/tenants/{tenant}/policy:validate", 0, 0, none, "validate", NULL},
    {"GET", "/v1/tenants/default", 0, 0, none, "default", NULL},
    {"GET", "/v1/nodes/{node}/ports/{port}", 0, 0, none, "port", NULL},
    {"GET", "/v1/nodes/self/state", 0, 0, none, "self", NULL},
    {"GET", "/v1/nodes/{node}/state", 0, 0, none, "state", NULL},
};

/* Splits a path without checks. */
static void find(const struct route_tree *tree, const char *method, const char *path,
                 struct route_match *out)
{
    struct route_segment segments[ROUTE_SEGMENTS_MAX];
    size_t count = 0;
    for (const char *p = path + 1; *p != '\0';) {
        size_t len = strcspn(p, "/");
        segments[count++] = (struct route_segment){.text = p, .len = len};
        p += len + (p[len] == '/');
    }
    route_tree_match(tree, route_method_parse(method), segments, count, out);
}

static void each_path_finds_its_row(void **state)
{
    (void)state;
    static const struct {
        const char *method, *path, *wanted, *params; /* params joined by "|" */
    } rows[] = {
        {"GET", "/", "root", ""},
        {"HEAD", "/", "root", ""},
        {"GET", "/v1/tenants", "list", ""},
        {"POST", "/v1/tenants", "make", ""},
        {"GET", "/v1/tenants/a", "get", "a"},
        {"GET", "/v1/tenants/default", "default", ""},
        {"DELETE", "/v1/tenants/default", "delete", "default"},
        {"POST", "/v1/tenants/a:drain", "drain", "a"},
        {"GET", "/v1/tenants/a:drain", "get", "a:drain"},
        {"POST", "/v1/tenants/:drain", NULL, ""},
        {"GET", "/v1/tenants/a/policy", "policy", "a"},
        {"POST", "/v1/tenants/a/policy:validate", "validate", "a"},
        {"GET", "/v1/tenants/default/policy", "policy", "default"},
        {"GET", "/v1/nodes/n1/ports/0000:3b:00.0", "port", "n1|0000:3b:00.0"},
        {"GET", "/v1/nodes/self/state", "self", ""},
        {"GET", "/v1/nodes/self/ports/p", "port", "self|p"},
        {"GET", "/v1/nodes/n/state", "state", "n"},
        {"GET", "/v1", NULL, ""},
        {"GET", "/v2/tenants", NULL, ""},
        {"GET", "/v1/tenant", NULL, ""},
        {"GET", "/v1/tenants/a/policy/x", NULL, ""},
        {"PATCH", "/v1/tenants", NULL, ""},
        {"get", "/v1/tenants", NULL, ""},
    };
    struct err err = ERR_INIT;
    OWN(route_tree) struct route_tree *tree = NULL;
    assert_ok(route_tree_new(table, COUNT(table), &tree, &err));
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct route_match match;
        find(tree, rows[i].method, rows[i].path, &match);
        const char *got = match.route != NULL ? match.route->operation_id : NULL;
        if ((got == NULL) != (rows[i].wanted == NULL) ||
            (got != NULL && strcmp(got, rows[i].wanted) != 0))
            fail_msg("%s %s found %s", rows[i].method, rows[i].path, got != NULL ? got : "none");
        char params[128] = "";
        for (size_t p = 0; got != NULL && p < match.param_count; p++)
            snprintf(params + strlen(params), sizeof(params) - strlen(params), "%s%.*s",
                     p > 0 ? "|" : "", (int)match.params[p].len, match.params[p].text);
        assert_string_equal(params, rows[i].params);
    }
}

static void allow_names_what_the_path_takes(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    struct route_match match;
    char allow[ROUTE_ALLOW_MAX];
    OWN(route_tree) struct route_tree *tree = NULL;
    assert_ok(route_tree_new(table, COUNT(table), &tree, &err));
    find(tree, "PATCH", "/v1/tenants", &match);
    route_allow_format(match.allowed, allow);
    assert_string_equal(allow, "GET, HEAD, POST, OPTIONS");
    find(tree, "PATCH", "/v1/tenants/default", &match);
    route_allow_format(match.allowed, allow);
    assert_string_equal(allow, "GET, HEAD, DELETE, OPTIONS");
    find(tree, "PATCH", "/nothing", &match);
    assert_int_equal(match.allowed, 0);
    route_allow_format(~0u, allow);
    assert_string_equal(allow, "GET, HEAD, PUT, POST, PATCH, DELETE, OPTIONS");
}

static void bad_tables_are_refused(void **state)
{
    (void)state;
    static const struct route bad[] = {
        {"BREW", "/a", 0, 0, none, "", NULL},
        {"HEAD", "/a", 0, 0, none, "", NULL},
        {"GET", "a", 0, 0, none, "", NULL},
        {"GET", "/a", 0, 0, NULL, "", NULL},
        {"GET", "/a//b", 0, 0, none, "", NULL},
        {"GET", "/a/", 0, 0, none, "", NULL},
        {"GET", "/{}", 0, 0, none, "", NULL},
        {"GET", "/{a", 0, 0, none, "", NULL},
        {"GET", "/a}", 0, 0, none, "", NULL},
        {"GET", "/x{a}", 0, 0, none, "", NULL},
        {"GET", "/{a}x", 0, 0, none, "", NULL},
        {"GET", "/{a}:", 0, 0, none, "", NULL},
        {"GET", "/{a}:{b}", 0, 0, none, "", NULL},
        {"GET", "/{a}/{b}/{c}/{d}/{e}", 0, 0, none, "", NULL},
        {"GET", "/1/2/3/4/5/6/7/8/9/0/1/2/3/4/5/6/7", 0, 0, none, "", NULL},
    };
    struct route_tree *tree = NULL;
    for (size_t i = 0; i < COUNT(bad); i++) {
        struct err err = ERR_INIT;
        if (route_tree_new(&bad[i], 1, &tree, &err) != ERR_INVALID)
            fail_msg("'%s %s' was taken", bad[i].method, bad[i].path);
        assert_null(tree);
    }
    struct err err = ERR_INIT;
    const struct route twice[] = {{"GET", "/a/{x}", 0, 0, none, "", NULL},
                                  {"GET", "/a/{y}", 0, 0, none, "", NULL}};
    assert_fails(route_tree_new(twice, 2, &tree, &err), ERR_INVALID);
    assert_contains(err.text, "twice");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_path_finds_its_row),
        cmocka_unit_test(allow_names_what_the_path_takes),
        cmocka_unit_test(bad_tables_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
