/*
 * tests/fuzz/fuzz_datapath_sys.c - texts of /sys, /proc and modprobe.d: attributes as real files of
 * a folder that plays the root, and the pure readers on their own.
 *
 * A new reader of a text goes into check_texts(); of an attribute, into check_files() with a row of
 * attributes[].
 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "datapath/sys/modparam.h"
#include "datapath/sys/modparam_text.h"
#include "datapath/sys/sys.h"
#include "tests/fuzz/message.h"

/* All hold the same bytes: links to the first. */
#define ATTRIBUTE "/attribute"
static const char *const attributes[] = {
    "/sys/devices/nic/current_link_speed",         "/sys/devices/nic/max_link_speed",
    "/sys/devices/nic/current_link_width",         "/sys/devices/nic/max_link_width",
    "/sys/kernel/mm/transparent_hugepage/enabled", "/proc/sys/net/solar/window",
    "/sys/module/solar_rdma/parameters/max_sge",   "/etc/modprobe.d/stellar.conf",
};

static char root[64];

static void remove_root(void)
{
    char path[256];
    for (size_t i = sizeof(attributes) / sizeof(attributes[0]); i-- > 0;) {
        snprintf(path, sizeof(path), "%s%s", root, attributes[i]);
        unlink(path);
        for (char *slash; (slash = strrchr(path, '/')) > path + strlen(root);) {
            *slash = '\0';
            rmdir(path);
        }
    }
    snprintf(path, sizeof(path), "%s" ATTRIBUTE, root);
    unlink(path);
    rmdir(root);
}

/* Once, for the life of the process. */
static void make_root(void)
{
    char path[256], target[256];
    const char *folder = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    snprintf(root, sizeof(root), "%s/stellar-fuzz-sys-XXXXXX", folder);
    must(mkdtemp(root) != NULL);
    atexit(remove_root);
    snprintf(target, sizeof(target), "%s" ATTRIBUTE, root);
    for (size_t i = 0; i < sizeof(attributes) / sizeof(attributes[0]); i++) {
        snprintf(path, sizeof(path), "%s%s", root, attributes[i]);
        for (char *p = strchr(path + strlen(root) + 1, '/'); p != NULL; p = strchr(p + 1, '/')) {
            *p = '\0';
            must(mkdir(path, 0700) == 0 || access(path, F_OK) == 0);
            *p = '/';
        }
        must(symlink(target, path) == 0);
    }
}

static void write_attribute(const uint8_t *data, size_t size)
{
    char path[256];
    snprintf(path, sizeof(path), "%s" ATTRIBUTE, root);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    must(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    close(fd);
}

static void check_link(void)
{
    struct pci_link link;
    pci_link_get(root, "/sys/devices/nic", &link);
    must(link.current_gen == -1 || (link.current_gen >= 1 && link.current_gen <= 6));
    must(link.current_width == -1 || (link.current_width >= 1 && link.current_width <= 32));
    must(link.max_gen == link.current_gen && link.max_width == link.current_width);
    /* One text is no speed and width at once. */
    must(link.current_gen == -1 || link.current_width == -1);
}

/* What is read of a value of one line can go into a document. */
static void check_value(const char *text, size_t size)
{
    must(memchr(text, '\0', size) != NULL);
    for (size_t i = 0, len = strlen(text), n; i < len; i += n) {
        uint32_t c = 0;
        must((n = utf8_decode(text + i, len - i, &c)) > 0);
        must(c == '\t' || c == '\n' || c == '\r' || !text_is_hidden(c));
    }
}

static void check_files(void)
{
    static const struct modparam_name name = {"solar_rdma", "max_sge"};
    char text[SYS_VALUE_MAX], again[SYS_VALUE_MAX];
    struct modparam_state state;
    check_link();
    if (sys_read(root, ATTRIBUTE, text, sizeof(text), NULL) == ERR_OK)
        check_value(text, sizeof(text));
    if (thp_get(root, text, sizeof(text), NULL) == ERR_OK)
        must(text[0] != '\0' && strchr(text, ']') == NULL);
    if (sysctl_get(root, "net.solar.window", text, sizeof(text), NULL) == ERR_OK) {
        check_value(text, sizeof(text));
        must(strchr(text, '\t') == NULL && strstr(text, "  ") == NULL);
        must(sysctl_get(root, "net.solar.window", again, sizeof(again), NULL) == ERR_OK &&
             strcmp(text, again) == 0);
    }
    if (modparam_get(root, &name, &state, NULL) == ERR_OK) {
        must(!state.has_live || state.module_known);
        check_value(state.live, sizeof(state.live));
        check_value(state.persisted, sizeof(state.persisted));
        check_value(state.next, sizeof(state.next));
    }
}

/* Setting a parameter and asking for it agree; taking it away leaves none of ours. */
static void check_modprobe(const char *text)
{
    static const struct modparam_name name = {"solar_rdma", "max_sge"};
    char value[MODPARAM_VALUE_SIZE];
    char *with = modparam_edit(text, &name, "256", "32");
    must(with != NULL && modparam_find(with, "options", &name, value, sizeof(value)));
    must(strcmp(value, "256") == 0);
    char *without = modparam_edit(with, &name, NULL, NULL);
    char *again = modparam_edit(without, &name, "256", "32");
    must(without != NULL && again != NULL && strcmp(with, again) == 0);
    free(with);
    free(without);
    free(again);
}

static void check_texts(const char *text)
{
    char out[SYS_PATH_MAX];
    struct modparam_name name;
    int gen = pci_gen_of_speed(text);
    must(gen == -1 || (gen >= 1 && gen <= 6));
    if (thp_choice(text, out, 16))
        must(strlen(out) > 0 && strlen(out) < 16);
    if (sysctl_path(text, out, sizeof(out), NULL) == ERR_OK)
        must(strncmp(out, "/proc/sys/", 10) == 0 && strstr(out, "/../") == NULL &&
             strstr(out, "//") == NULL);
    if (modparam_parse(text, &name, NULL) == ERR_OK)
        must(strpbrk(name.module, "/.-") == NULL && strpbrk(name.param, "/.") == NULL);
    if (sys_is_component(text))
        must(text[0] != '\0' && strpbrk(text, "/ \n") == NULL && strcmp(text, "..") != 0);
    int64_t number;
    if (sys_parse_int(text, &number))
        must(text[strspn(text, "+-0123456789abcdefABCDEFxX")] == '\0');
    (void)modparam_listed(text, "solar_rdma");
    check_modprobe(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = text_of(data, size);
    check_texts(text);
    free(text);
    if (root[0] == '\0')
        make_root();
    write_attribute(data, size);
    check_files();
    return 0;
}
