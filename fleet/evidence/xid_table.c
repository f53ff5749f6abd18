/*
 * fleet/evidence/xid_table.c - the numbers of NVIDIA's Xid messages (its Xid catalogue; numbers
 * that are reserved or unused there are left out).
 */
#include "fleet/evidence/xid_table.h"

#include <stddef.h>

#include "fleet/evidence/rules_logs.h"

static const struct xid rows[] = {
    {1, XID_DRIVER, "invalid or corrupted push buffer stream"},
    {2, XID_DRIVER, "invalid or corrupted push buffer stream"},
    {3, XID_DRIVER, "invalid or corrupted push buffer stream"},
    {4, XID_DRIVER, "invalid or corrupted push buffer stream, or a GPU semaphore timed out"},
    {6, XID_DRIVER, "invalid or corrupted push buffer stream"},
    {7, XID_DRIVER, "invalid or corrupted push buffer address"},
    {8, XID_APPLICATION, "the GPU stopped processing"},
    {9, XID_DRIVER, "the driver programmed the GPU wrongly"},
    {11, XID_APPLICATION, "invalid or corrupted push buffer stream"},
    {12, XID_DRIVER, "the driver could not handle a GPU exception"},
    {13, XID_APPLICATION, "graphics engine exception"},
    {16, XID_DRIVER, "the display engine hangs"},
    {18, XID_DRIVER, "bus mastering is off in PCI configuration space"},
    {19, XID_DRIVER, "display engine error"},
    {20, XID_DRIVER, "invalid or corrupted MPEG push buffer"},
    {21, XID_DRIVER, "invalid or corrupted motion estimation push buffer"},
    {22, XID_DRIVER, "invalid or corrupted video processor push buffer"},
    {24, XID_DRIVER, "a GPU semaphore timed out"},
    {25, XID_APPLICATION, "invalid or illegal push buffer stream"},
    {26, XID_HARDWARE, "framebuffer timeout"},
    {27, XID_DRIVER, "video processor exception"},
    {28, XID_DRIVER, "video processor exception"},
    {29, XID_DRIVER, "video processor exception"},
    {30, XID_DRIVER, "GPU semaphore access error"},
    {31, XID_APPLICATION, "GPU memory page fault"},
    {32, XID_DRIVER, "invalid or corrupted push buffer stream"},
    {33, XID_DRIVER, "internal micro-controller error"},
    {34, XID_DRIVER, "video processor exception"},
    {35, XID_DRIVER, "video processor exception"},
    {36, XID_DRIVER, "video processor exception"},
    {37, XID_APPLICATION, "driver firmware error"},
    {38, XID_DRIVER, "driver firmware error"},
    {42, XID_DRIVER, "video processor exception"},
    {43, XID_APPLICATION, "the GPU stopped a channel of the process"},
    {44, XID_DRIVER, "graphics engine fault during a context switch"},
    {45, XID_APPLICATION, "channels were cleaned up because of an earlier error"},
    {46, XID_RESET, "the GPU stopped processing"},
    {47, XID_DRIVER, "video processor exception"},
    {48, XID_RESET, "double-bit ECC error"},
    {54, XID_HARDWARE, "auxiliary power is not connected to the board"},
    {56, XID_DRIVER, "display engine error"},
    {57, XID_HARDWARE, "the video memory interface could not be programmed"},
    {58, XID_HARDWARE, "unstable video memory interface"},
    {59, XID_DRIVER, "internal micro-controller error"},
    {60, XID_DRIVER, "video processor exception"},
    {61, XID_RESET, "internal micro-controller breakpoint or warning"},
    {62, XID_RESET, "internal micro-controller halt"},
    {63, XID_NOTICE, "a memory page was retired, or a row remapping recorded"},
    {64, XID_RESET, "a page retirement or a row remapping could not be recorded"},
    {65, XID_DRIVER, "video processor exception"},
    {66, XID_DRIVER, "illegal access by the driver"},
    {67, XID_DRIVER, "illegal access by the driver"},
    {68, XID_APPLICATION, "video decoder 0 exception"},
    {69, XID_APPLICATION, "graphics engine class error"},
    {70, XID_DRIVER, "copy engine 3 error"},
    {71, XID_DRIVER, "copy engine 4 error"},
    {72, XID_DRIVER, "copy engine 5 error"},
    {73, XID_DRIVER, "video encoder 2 error"},
    {74, XID_LINK, "NVLink error"},
    {75, XID_DRIVER, "copy engine 6 error"},
    {76, XID_DRIVER, "copy engine 7 error"},
    {77, XID_DRIVER, "copy engine 8 error"},
    {78, XID_DRIVER, "a vGPU could not start"},
    {79, XID_HARDWARE, "the GPU has fallen off the bus"},
    {80, XID_DRIVER, "corrupted data was sent to the GPU"},
    {81, XID_HARDWARE, "VGA subsystem error"},
    {82, XID_DRIVER, "JPEG engine 0 error"},
    {83, XID_DRIVER, "video decoder 1 error"},
    {84, XID_DRIVER, "video decoder 2 error"},
    {85, XID_DRIVER, "copy engine 9 error"},
    {86, XID_DRIVER, "optical flow engine exception"},
    {88, XID_DRIVER, "video decoder 3 error"},
    {89, XID_DRIVER, "video decoder 4 error"},
    {92, XID_NOTICE, "high rate of single-bit ECC errors"},
    {93, XID_NOTICE, "the wear limit of the InfoROM was exceeded"},
    {94, XID_APPLICATION, "contained ECC error: only the process that met it is hurt"},
    {95, XID_RESET, "uncontained ECC error"},
    {96, XID_DRIVER, "video decoder 5 error"},
    {97, XID_DRIVER, "video decoder 6 error"},
    {98, XID_DRIVER, "video decoder 7 error"},
    {99, XID_DRIVER, "JPEG engine 1 error"},
    {100, XID_DRIVER, "JPEG engine 2 error"},
    {101, XID_DRIVER, "JPEG engine 3 error"},
    {102, XID_DRIVER, "JPEG engine 4 error"},
    {103, XID_DRIVER, "JPEG engine 5 error"},
    {104, XID_DRIVER, "JPEG engine 6 error"},
    {105, XID_DRIVER, "JPEG engine 7 error"},
    {106, XID_NOTICE, "test message over the management bus"},
    {107, XID_NOTICE, "silent test message over the management bus"},
    {109, XID_RESET, "context switch timeout"},
    {110, XID_RESET, "security fault"},
    {111, XID_DRIVER, "display bundle error"},
    {112, XID_DRIVER, "display supervisor error"},
    {113, XID_DRIVER, "DisplayPort link training error"},
    {114, XID_DRIVER, "display pipeline underflow"},
    {115, XID_DRIVER, "display core channel error"},
    {116, XID_DRIVER, "display window channel error"},
    {117, XID_DRIVER, "display cursor channel error"},
    {118, XID_DRIVER, "display pixel pipeline error"},
    {119, XID_RESET, "the GPU's system processor (GSP) did not answer a call in time"},
    {120, XID_RESET, "error of the GPU's system processor (GSP)"},
    {121, XID_LINK, "C2C link error"},
    {122, XID_DRIVER, "SPI read failed"},
    {123, XID_RESET, "SPI write failed"},
    {124, XID_DRIVER, "SPI erase failed"},
    {125, XID_DRIVER, "InfoROM file system error"},
    {136, XID_LINK, "link training failed"},
    {137, XID_LINK, "NVLink remote access refused"},
    {140, XID_RESET, "unrecovered ECC error"},
    {142, XID_DRIVER, "video encoder 3 error"},
    {143, XID_RESET, "the GPU could not be initialised"},
    {144, XID_LINK, "NVLink SAW error"},
    {145, XID_LINK, "NVLink RLW error"},
    {146, XID_LINK, "NVLink TLW error"},
    {147, XID_LINK, "NVLink TREX error"},
    {148, XID_LINK, "NVLink control error"},
    {149, XID_LINK, "NVLink network error"},
    {150, XID_LINK, "NVLink MSE error"},
    {151, XID_RESET, "key rotation error"},
    {152, XID_DRIVER, "deep learning accelerator SMMU error"},
    {153, XID_DRIVER, "deep learning accelerator timeout"},
    {154, XID_RESET, "the recovery action of the GPU changed"},
    {155, XID_LINK, "NVLink error that software defined"},
    {156, XID_NOTICE, "a resource was retired"},
    {157, XID_HARDWARE, "a resource could not be retired"},
    {158, XID_RESET, "fatal timeout of the GPU"},
    {159, XID_RESET, "CHI error without data"},
    {160, XID_NOTICE, "a memory channel was retired"},
    {161, XID_HARDWARE, "a memory channel could not be retired"},
    {162, XID_NOTICE, "power smoothing is engaged again"},
    {163, XID_NOTICE, "power smoothing is disengaged"},
    {164, XID_NOTICE, "power smoothing nears the end of its life"},
    {165, XID_NOTICE, "power smoothing is at the end of its life"},
    {166, XID_DRIVER, "traffic before the link was set up for encryption"},
    {167, XID_RESET, "fatal PCIe timeout"},
    {168, XID_NOTICE, "the GPU runs with less memory"},
    {169, XID_RESET, "fault of the security engine"},
    {170, XID_DRIVER, "interrupt in confidential computing mode"},
    {171, XID_RESET, "uncorrectable error of DRAM, beside Xid 48"},
    {172, XID_RESET, "uncorrectable error of SRAM, beside Xid 48"},
    {173, XID_HARDWARE, "fatal failure of a C2C link"},
};

const struct xid *xid_find(unsigned number)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (rows[i].number == number)
            return &rows[i];
    }
    return NULL;
}

static const struct {
    const char *name, *rule;
} faults[] = {
    [XID_APPLICATION] = {"application", RULE_XID_APPLICATION},
    [XID_RESET] = {"gpu, needs a reset", RULE_XID_RESET},
    [XID_HARDWARE] = {"hardware", RULE_XID_HARDWARE},
    [XID_LINK] = {"nvlink", RULE_XID_LINK},
    [XID_DRIVER] = {"driver or firmware", RULE_XID_DRIVER},
    [XID_NOTICE] = {"none", RULE_XID_NOTICE},
};

const char *xid_fault_name(enum xid_fault fault)
{
    return faults[fault].name;
}

const char *xid_rule(enum xid_fault fault)
{
    return faults[fault].rule;
}
