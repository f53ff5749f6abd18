/*
 * datapath/sys/roce_tos.c - see roce_tos.h.
 */
#include "datapath/sys/roce_tos.h"

#include <stdio.h>
#include <string.h>

#include "datapath/sys/sys.h"

#define CONFIGFS  "/sys/kernel/config"
#define RDMA_CM   CONFIGFS "/rdma_cm"
#define PATH_SIZE 256
#define TEXT_SIZE 32

bool roce_tos_is_there(const char *root)
{
    return sys_exists(root, RDMA_CM);
}

static enum err_code open_device(const char *root, const char *device, struct err *err)
{
    char path[PATH_SIZE];
    if (!roce_tos_is_there(root))
        return err_set(err, ERR_UNSUPPORTED,
                       "there is no " RDMA_CM
                       ": load the module rdma_cm and mount configfs at " CONFIGFS);
    if (!sys_is_component(device))
        return err_set(err, ERR_INVALID, "\"%.64s\" is no name of an RDMA device", device);
    snprintf(path, sizeof(path), RDMA_CM "/%s", device);
    enum err_code code = sys_mkdir(root, path, err);
    if (code == ERR_NOT_FOUND) /* ENODEV */
        return err_set(err, ERR_UNSUPPORTED, "rdma_cm does not know the RDMA device %s", device);
    return code;
}

static void attribute(const char *device, uint32_t port, const char *name, char out[PATH_SIZE])
{
    snprintf(out, PATH_SIZE, RDMA_CM "/%s/ports/%u/%s", device, (unsigned)port, name);
}

static enum err_code read_one(const char *root, const char *device, uint32_t port, const char *name,
                              char out[TEXT_SIZE], struct err *err)
{
    char path[PATH_SIZE];
    attribute(device, port, name, path);
    enum err_code code = sys_read(root, path, out, TEXT_SIZE, err);
    if (code == ERR_NOT_FOUND)
        return err_set(err, ERR_UNSUPPORTED, "rdma_cm shows no %s of port %u of %s", name,
                       (unsigned)port, device);
    return code;
}

enum err_code roce_tos_get(const char *root, const char *device, uint32_t port,
                           struct roce_tos *out, struct err *err)
{
    char tos[TEXT_SIZE], mode[TEXT_SIZE];
    int64_t number;
    enum err_code code = open_device(root, device, err);
    if (code == ERR_OK)
        code = read_one(root, device, port, "default_roce_tos", tos, err);
    if (code == ERR_OK)
        code = read_one(root, device, port, "default_roce_mode", mode, err);
    if (code != ERR_OK)
        return code;
    if (!sys_parse_int(tos, &number) || number < 0 || number > UINT8_MAX)
        return err_set(err, ERR_IO, "default_roce_tos of %s holds \"%s\", no number up to 255",
                       device, tos);
    if (strlen(mode) >= ROCE_TOS_MODE_SIZE)
        return err_set(err, ERR_IO, "default_roce_mode of %s holds \"%s\"", device, mode);
    out->tos = (uint8_t)number;
    memcpy(out->mode, mode, strlen(mode) + 1);
    return ERR_OK;
}

enum err_code roce_tos_set(const char *root, const char *device, uint32_t port,
                           const struct roce_tos *value, struct err *err)
{
    char path[PATH_SIZE], text[8];
    struct roce_tos is;
    enum err_code code = roce_tos_get(root, device, port, &is, err);
    if (code == ERR_OK && strcmp(is.mode, value->mode) != 0) {
        attribute(device, port, "default_roce_mode", path);
        code = sys_write(root, path, value->mode, err);
    }
    if (code == ERR_OK && is.tos != value->tos) {
        attribute(device, port, "default_roce_tos", path);
        snprintf(text, sizeof(text), "%u", (unsigned)value->tos);
        code = sys_write(root, path, text, err);
    }
    return code;
}

void roce_tos_seen(const char *root, const char *device, uint32_t port)
{
    char path[PATH_SIZE];
    attribute(device, port, "default_roce_tos", path);
    sys_seen(root, path);
    attribute(device, port, "default_roce_mode", path);
    sys_seen(root, path);
}
