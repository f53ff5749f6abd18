#include "tests/unit/cli/cli_test.h"

#include <fcntl.h>

#include "base/file.h"
#include "cli/profile.h"

static void write_config(const char *text, mode_t mode)
{
    char path[300];
    config_path(path);
    *strrchr(path, '/') = '\0';
    mkdir(path, 0700);
    config_path(path);
    unlink(path);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
    assert_int_equal(chmod(path, mode), 0);
}

static void a_profile_is_made_used_and_forgotten(void **state)
{
    (void)state;
    char path[300];
    struct stat st;
    config_path(path);
    assert_int_equal(run_ctl("st_one\n", "profile", "set", "lab", "-s", "http://127.0.0.1:1",
                             "--token-file", "-", NULL),
                     EXIT_DONE);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    assert_int_equal(CTL("profile", "set", "far", "-s", "https://far", "--token-file", "/t"),
                     EXIT_DONE);
    assert_int_equal(CTL("profile", "list", "-o", "csv", "--no-headers"), EXIT_DONE);
    assert_string_equal(out_text,
                        "far,no,https://far,/t,\r\nlab,yes,http://127.0.0.1:1,stored,\r\n");
    server_says(200, NULL, "{}");
    assert_int_equal(CTL("api", "fabric_get"), EXIT_DONE);
    assert_string_equal(asked, "GET /v1/fabric (st_one)\n");
    assert_int_equal(CTL("profile", "use", "far"), EXIT_DONE);
    assert_int_equal(CTL("profile", "use", "none"), EXIT_MISSING);
    assert_int_equal(CTL("profile", "delete", "far"), EXIT_DONE);
    assert_int_equal(CTL("profile", "delete", "far"), EXIT_MISSING);
    assert_int_equal(CTL("profile", "list", "-o", "name"), EXIT_DONE);
    assert_string_equal(out_text, "lab\n");
}

static void without_a_home_there_are_no_profiles_and_the_rest_works(void **state)
{
    (void)state;
    char *home = getenv("HOME") != NULL ? strdup(getenv("HOME")) : NULL;
    char *config = strdup(getenv("XDG_CONFIG_HOME"));
    unsetenv("HOME");
    unsetenv("XDG_CONFIG_HOME");
    setenv("STELLAR_TOKEN", "st_e", 1);
    server_says(200, NULL, "{}");
    assert_int_equal(CTL("api", "fabric_get"), EXIT_DONE);
    assert_string_equal(asked, "GET /v1/fabric (st_e)\n");
    assert_int_equal(CTL("profile", "list", "-o", "name"), EXIT_DONE);
    assert_int_equal(CTL("api", "fabric_get", "-p", "lab"), EXIT_USAGE);
    assert_non_null(strstr(err_text, "'lab'"));
    assert_int_equal(CTL("profile", "set", "lab", "-s", "http://127.0.0.1:1"), EXIT_USAGE);
    assert_non_null(strstr(err_text, "HOME"));
    assert_int_equal(CTL("login", "-u", "eva", "--password-file", "-"), EXIT_USAGE);
    assert_non_null(strstr(err_text, "HOME"));
    assert_string_equal(asked, ""); /* no token was made that could not be kept */
    setenv("XDG_CONFIG_HOME", config, 1);
    if (home != NULL)
        setenv("HOME", home, 1);
    free(home);
    free(config);
}

static void options_win_over_the_environment_and_that_over_the_profile(void **state)
{
    (void)state;
    write_config("{\"current\":\"p\",\"profiles\":{\"p\":{\"server\":\"http://127.0.0.1:1/p\","
                 "\"token\":\"st_p\"},\"q\":{\"server\":\"http://127.0.0.1:2/q\"}}}",
                 0600);
    assert_int_equal(CTL("api", "fabric_get", "--print-request"), EXIT_DONE);
    assert_non_null(strstr(out_text, "GET http://127.0.0.1:1/p/v1"));
    assert_non_null(strstr(out_text, "Authorization"));
    setenv("STELLAR_SERVER", "http://127.0.0.1:3/e", 1);
    assert_int_equal(CTL("api", "fabric_get", "--print-request"), EXIT_DONE);
    assert_non_null(strstr(out_text, "GET http://127.0.0.1:3/e/v1"));
    /* The profile's token is for the profile's server. */
    assert_null(strstr(out_text, "Authorization"));
    assert_int_equal(CTL("api", "fabric_get", "--print-request", "-s", "http://127.0.0.1:4/o"),
                     EXIT_DONE);
    assert_non_null(strstr(out_text, "GET http://127.0.0.1:4/o/v1"));
    unsetenv("STELLAR_SERVER");
    setenv("STELLAR_PROFILE", "q", 1);
    assert_int_equal(CTL("api", "fabric_get", "--print-request"), EXIT_DONE);
    assert_non_null(strstr(out_text, "GET http://127.0.0.1:2/q/v1"));
    assert_int_equal(CTL("api", "fabric_get", "--print-request", "-p", "p"), EXIT_DONE);
    assert_non_null(strstr(out_text, "GET http://127.0.0.1:1/p/v1"));
}

static void tokens_come_from_files_the_environment_and_standard_input(void **state)
{
    (void)state;
    char path[] = "/tmp/stellar-token-XXXXXX";
    int fd = mkstemp(path);
    assert_int_equal(write(fd, "st_file\nrest\n", 13), 13);
    close(fd);
    server_says(200, NULL, "{}");
    server_says(200, NULL, "{}");
    server_says(200, NULL, "{}");
    server_says(200, NULL, "{}");
    setenv("STELLAR_TOKEN_FILE", path, 1);
    assert_int_equal(CTL("api", "fabric_get"), EXIT_DONE);
    assert_non_null(strstr(asked, "(st_file)"));
    setenv("STELLAR_TOKEN", "st_env", 1);
    assert_int_equal(CTL("api", "fabric_get"), EXIT_DONE);
    assert_non_null(strstr(asked, "(st_env)"));
    assert_int_equal(CTL("api", "fabric_get", "--token-file", path), EXIT_DONE);
    assert_non_null(strstr(asked, "(st_file)"));
    assert_int_equal(run_ctl("st_in\r\n", "api", "fabric_get", "--token-file", "-", NULL),
                     EXIT_DONE);
    assert_non_null(strstr(asked, "(st_in)"));
    assert_int_equal(CTL("api", "fabric_get", "--token-file", "-"), EXIT_USAGE);
    assert_non_null(strstr(err_text, "the first line of standard input is empty"));
    assert_int_equal(truncate(path, 0), 0);
    assert_int_equal(CTL("api", "fabric_get", "--token-file", path), EXIT_USAGE);
    assert_non_null(strstr(err_text, "is empty"));
    unlink(path);
}

static void a_token_at_its_maximum_is_taken_and_a_longer_one_refused(void **state)
{
    (void)state;
    char *token = calloc(1, TOKEN_BYTES_MAX + 2), *got = NULL;
    struct err err = ERR_INIT;
    memset(token, 'x', TOKEN_BYTES_MAX + 1);
    for (size_t more = 0; more < 2; more++) {
        FILE *in = fmemopen(token, TOKEN_BYTES_MAX + more, "r");
        enum err_code code = secret_read("-", in, &got, &err);
        assert_int_equal(code, more == 0 ? ERR_OK : ERR_LIMIT);
        fclose(in);
    }
    free(got);
    free(token);
}

static void a_file_that_others_may_read_is_refused(void **state)
{
    (void)state;
    static const mode_t modes[] = {0640, 0604, 0660, 0644, 0620};
    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
        write_config("{}", modes[i]);
        assert_int_equal(CTL("api", "fabric_get"), EXIT_USAGE);
        assert_non_null(strstr(err_text, "chmod 600"));
    }
    write_config("{}", 0400);
    assert_int_equal(CTL("api", "fabric_get", "--print-request"), EXIT_DONE);
}

static void what_is_wrong_in_the_file_is_named(void **state)
{
    (void)state;
    static const struct {
        const char *text, *says;
    } bad[] = {
        {"{", "config.json"},
        {"{\"profles\":{}}", "/profles"},
        {"{\"profiles\":{\"p\":{\"sever\":\"x\"}}}", "/profiles/p/sever"},
        {"{\"profiles\":{\"p\":{\"server\":\"\"}}}", "/profiles/p/server"},
        {"{\"profiles\":{\"p\":1}}", "/profiles/p"},
        {"{\"profiles\":{\"p q\":{}}}", "a profile's name"},
        {"{\"current\":\"x\"}", "there is no profile 'x'"},
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        write_config(bad[i].text, 0600);
        assert_int_equal(CTL("api", "fabric_get"), EXIT_USAGE);
        if (strstr(err_text, bad[i].says) == NULL)
            fail_msg("'%s' is not in '%s'", bad[i].says, err_text);
    }
}

static void names_and_numbers_of_profiles_are_bounded(void **state)
{
    (void)state;
    struct profiles *profiles = calloc(1, sizeof(*profiles));
    struct profile *one;
    struct err err = ERR_INIT;
    char name[70];
    memset(name, 'n', sizeof(name));
    name[63] = '\0';
    assert_ok(profiles_put(profiles, name, &one, &err));
    name[63] = 'n';
    name[64] = '\0';
    assert_fails(profiles_put(profiles, name, &one, &err), ERR_INVALID);
    assert_fails(profiles_put(profiles, "", &one, &err), ERR_INVALID);
    assert_fails(profiles_put(profiles, "-x", &one, &err), ERR_INVALID);
    assert_fails(profiles_put(profiles, "a/b", &one, &err), ERR_INVALID);
    for (int i = 1; i < PROFILES_MAX; i++) {
        snprintf(name, sizeof(name), "p%d", i);
        assert_ok(profiles_put(profiles, name, &one, &err));
    }
    assert_fails(profiles_put(profiles, "more", &one, &err), ERR_LIMIT);
    assert_ok(profiles_put(profiles, "p1", &one, &err));
    profiles_remove(profiles, one);
    assert_null(profiles_find(profiles, "p1"));
    assert_ok(profiles_put(profiles, "more", &one, &err));
    profiles_free(profiles);
}

static void login_keeps_a_token_and_no_password(void **state)
{
    (void)state;
    if (operation_at("POST", "/v1/session") == NULL)
        skip();
    server_says(200, NULL, "{\"user\":\"eva\",\"role\":\"operator\"}");
    snprintf(script[0].headers, sizeof(script[0].headers),
             "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
             "Set-Cookie: __Host-stellar=ss_1; Secure; HttpOnly\r\n\r\n");
    server_says(201, NULL, "{\"id\":\"t9\",\"token\":\"st_9\"}");
    server_says(204, NULL, "");
    assert_int_equal(run_ctl("a long password\n", "login", "-u", "eva", NULL), EXIT_DONE);
    assert_non_null(strstr(asked, "{\"name\":\"eva\",\"password\":\"a long password\"}"));
    assert_non_null(strstr(asked, "[Cookie: __Host-stellar=ss_1]"));
    assert_non_null(strstr(asked, "\"lifetime_s\":43200"));
    assert_null(strstr(out_text, "st_9"));
    char path[300], *text = NULL;
    size_t len;
    struct err err = ERR_INIT;
    config_path(path);
    assert_ok(file_read(path, 10000, &text, &len, &err));
    assert_null(strstr(text, "password"));
    assert_non_null(strstr(text, "st_9"));
    free(text);
    server_says(204, NULL, "");
    assert_int_equal(CTL("logout"), EXIT_DONE);
    assert_string_equal(asked, "DELETE /v1/tokens/t9 (st_9)\n");
    assert_int_equal(CTL("logout"), EXIT_USAGE);
}

#define T(test) cmocka_unit_test_setup(test, ctl_setup)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(a_profile_is_made_used_and_forgotten),
        T(without_a_home_there_are_no_profiles_and_the_rest_works),
        T(options_win_over_the_environment_and_that_over_the_profile),
        T(tokens_come_from_files_the_environment_and_standard_input),
        T(a_token_at_its_maximum_is_taken_and_a_longer_one_refused),
        T(a_file_that_others_may_read_is_refused),
        T(what_is_wrong_in_the_file_is_named),
        T(names_and_numbers_of_profiles_are_bounded),
        T(login_keeps_a_token_and_no_password),
    };
    return cmocka_run_group_tests(tests, NULL, ctl_end);
}
