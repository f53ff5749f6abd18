/*
 * datapath/sys/pci.c - the PCIe link of a device; see sys.h.
 */
#include "datapath/sys/sys.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int pci_gen_of_speed(const char *text)
{
    static const char *const speeds[] = {"2.5", "5.0", "8.0", "16.0", "32.0", "64.0"};
    /* Kernels before 5.10 wrote "5 GT/s". */
    static const char *const short_speeds[] = {"2.5", "5", "8", "16", "32", "64"};
    size_t len = strcspn(text, " ");
    if (strncmp(text + len, " GT/s", 5) != 0)
        return -1;
    for (size_t i = 0; i < sizeof(speeds) / sizeof(speeds[0]); i++)
        if ((strlen(speeds[i]) == len && strncmp(text, speeds[i], len) == 0) ||
            (strlen(short_speeds[i]) == len && strncmp(text, short_speeds[i], len) == 0))
            return (int)i + 1;
    return -1;
}

static int read_gen(const char *root, const char *device, const char *name)
{
    char path[SYS_PATH_MAX], text[64];
    snprintf(path, sizeof(path), "%s/%s", device, name);
    return sys_read(root, path, text, sizeof(text), NULL) ? -1 : pci_gen_of_speed(text);
}

/* 0 and 255 are what a link that is down or unknown reads as. */
static int read_width(const char *root, const char *device, const char *name)
{
    char path[SYS_PATH_MAX], text[64], *end;
    snprintf(path, sizeof(path), "%s/%s", device, name);
    if (sys_read(root, path, text, sizeof(text), NULL))
        return -1;
    unsigned long width = strtoul(text, &end, 10);
    return *end == '\0' && width >= 1 && width <= 32 ? (int)width : -1;
}

void pci_link_get(const char *root, const char *device, struct pci_link *out)
{
    *out = (struct pci_link){
        .current_gen = read_gen(root, device, "current_link_speed"),
        .max_gen = read_gen(root, device, "max_link_speed"),
        .current_width = read_width(root, device, "current_link_width"),
        .max_width = read_width(root, device, "max_link_width"),
    };
}

bool pci_is_virtual(const char *root, const char *device)
{
    char path[SYS_PATH_MAX];
    snprintf(path, sizeof(path), "%s/physfn", device);
    return sys_exists(root, path);
}

/* Of "0000:3b:00.1": how long it is without the function; 0 = it is no PCI address. */
static size_t card_length(const char *address)
{
    const char *bus = strchr(address, ':');
    const char *slot = bus == NULL ? NULL : strchr(bus + 1, ':');
    const char *dot = slot == NULL ? NULL : strchr(slot, '.');
    return dot == NULL ? 0 : (size_t)(dot - address);
}

bool pci_is_same_card(const char *root, const char *folder, const char *device)
{
    char path[SYS_PATH_MAX], name[SYS_NAME_MAX];
    size_t len = card_length(device);
    snprintf(path, sizeof(path), "%s/physfn", folder);
    if (!sys_link_name(root, path, name, sizeof(name)) &&
        !sys_link_name(root, folder, name, sizeof(name)))
        return false;
    return strcmp(name, device) == 0 ||
           (len > 0 && card_length(name) == len && strncmp(name, device, len) == 0);
}
