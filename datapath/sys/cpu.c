/*
 * datapath/sys/cpu.c - see cpu.h.
 */
#include "datapath/sys/cpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/own.h"
#include "datapath/facts.h"
#include "datapath/sys/sys.h"

#define CPUINFO_BYTES 16384 /* the first processors; they are all alike */
#define FIELD_SIZE    128

bool cpu_field(const char *cpuinfo, const char *field, char *out, size_t size)
{
    size_t len = strlen(field);
    for (const char *line = cpuinfo; line != NULL && *line != '\0';) {
        const char *end = strchrnul(line, '\n');
        const char *colon = memchr(line, ':', (size_t)(end - line));
        if (colon != NULL && strncmp(line, field, len) == 0 &&
            line + len + strspn(line + len, " \t") == colon) {
            colon++;
            colon += strspn(colon, " \t");
            snprintf(out, size, "%.*s", (int)(colon < end ? end - colon : 0), colon);
            return true;
        }
        line = *end == '\0' ? NULL : end + 1;
    }
    return false;
}

/* Arm's cores have numbers (Arm's Main ID Register) where others have names. */
static void put_arm_model(const char *cpuinfo, json_t *cpu)
{
    static const struct {
        unsigned implementer, part;
        const char *vendor, *model;
    } cores[] = {
        {0x41, 0xd0c, "Arm", "Neoverse-N1"},        {0x41, 0xd40, "Arm", "Neoverse-V1"},
        {0x41, 0xd49, "Arm", "Neoverse-N2"},        {0x41, 0xd4f, "Arm", "Neoverse-V2"},
        {0x41, 0xd84, "Arm", "Neoverse-V3"},        {0xc0, 0xac3, "Ampere", "Ampere-1"},
        {0x48, 0xd01, "HiSilicon", "TaiShan-v110"},
    };
    char implementer[FIELD_SIZE], part[FIELD_SIZE], text[2 * FIELD_SIZE];
    if (!cpu_field(cpuinfo, "CPU implementer", implementer, sizeof(implementer)) ||
        !cpu_field(cpuinfo, "CPU part", part, sizeof(part)))
        return;
    for (size_t i = 0; i < sizeof(cores) / sizeof(cores[0]); i++) {
        if (strtoul(implementer, NULL, 16) != cores[i].implementer ||
            strtoul(part, NULL, 16) != cores[i].part)
            continue;
        fact_text(cpu, "vendor", cores[i].vendor);
        fact_text(cpu, "model", cores[i].model);
        return;
    }
    snprintf(text, sizeof(text), "implementer %.16s part %.16s", implementer, part);
    fact_text(cpu, "model", text);
}

const char *cpu_iommu_kind(const char *name)
{
    /* drivers/iommu: intel/dmar.c, amd/init.c, arm-smmu-v3.c ("smmu3.ADDRESS"), arm-smmu.c. */
    static const struct {
        const char *prefix, *kind;
    } kinds[] = {{"dmar", "intel-vtd"},     {"ivhd", "amd-vi"},  {"smmu3.", "smmuv3"},
                 {"arm-smmu-v3", "smmuv3"}, {"smmu.", "smmuv2"}, {"arm-smmu.", "smmuv2"}};
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (strncmp(name, kinds[i].prefix, strlen(kinds[i].prefix)) == 0)
            return kinds[i].kind;
    return NULL;
}

/* A kernel that can drive IOMMUs and drives none has none to offer; one that cannot says nothing.
 * Also one of a kind that we do not know is not "none". */
static const char *find_iommu(const char *root)
{
    OWN_SYS_LIST struct sys_list list;
    sys_list(root, "/sys/class/iommu", &list);
    for (size_t i = 0; i < list.count; i++)
        if (cpu_iommu_kind(list.names[i]) != NULL)
            return cpu_iommu_kind(list.names[i]);
    return list.count == 0 && sys_exists(root, "/sys/class/iommu") ? "none" : NULL;
}

static void put_smt(const char *root, json_t *cpu)
{
    char text[8];
    if (sys_read(root, "/sys/devices/system/cpu/smt/active", text, sizeof(text), NULL) == ERR_OK &&
        (strcmp(text, "0") == 0 || strcmp(text, "1") == 0))
        fact_bool(cpu, "smt", text[0] == '1');
}

json_t *cpu_facts(const char *root)
{
    OWN(mem) void *memory = malloc(CPUINFO_BYTES);
    char *cpuinfo = memory, text[FIELD_SIZE];
    size_t len;
    struct utsname name;
    json_t *cpu = json_object();
    if (cpuinfo == NULL || cpu == NULL) {
        json_decref(cpu);
        return NULL;
    }
    if (uname(&name) == 0)
        fact_text(cpu, "architecture", name.machine);
    if (sys_read_head(root, "/proc/cpuinfo", cpuinfo, CPUINFO_BYTES, &len, NULL) == ERR_OK) {
        if (cpu_field(cpuinfo, "model name", text, sizeof(text)))
            fact_text(cpu, "model", text);
        else
            put_arm_model(cpuinfo, cpu);
        if (cpu_field(cpuinfo, "vendor_id", text, sizeof(text)))
            fact_text(cpu, "vendor", text);
        if (cpu_field(cpuinfo, "microcode", text, sizeof(text)))
            fact_text(cpu, "firmware", text);
    }
    /* "none" is a placeholder elsewhere; here it is what was found. */
    const char *iommu = find_iommu(root);
    if (iommu != NULL)
        json_object_set_new(cpu, "iommu", json_string(iommu));
    put_smt(root, cpu);
    return cpu;
}
