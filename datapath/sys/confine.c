/*
 * datapath/sys/confine.c - see confine.h.
 *
 * The agent's filter lists what is allowed: what nobody thought of is refused. That of the tools
 * lists what is refused, because it holds for programs of others.
 */
#include "datapath/sys/confine.h"

#include <assert.h>
#include <errno.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include <cap-ng.h>
#include <linux/capability.h>
#include <seccomp.h>

#define NEW_NAMESPACES                                                                             \
    (CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID |  \
     CLONE_NEWNET)

/* Capabilities --------------------------------------------------------------------------------- */

/*
 * CAP_NET_ADMIN: each set of dcb, tc, devlink, ethtool and nldev asks for it, in the first user
 * namespace for dcb and devlink; a large receive buffer (SO_RCVBUFFORCE) too. Sysfs, procfs,
 * configfs, debugfs and /etc ask for root's user id, which stays, and for no capability. Modules
 * are loaded by none of us: those of qdiscs, filters and actions by the kernel itself, with its own
 * rights; drivers and rdma_cm by the node's modules-load.d.
 *
 * CAP_SYS_ADMIN, of the tools alone: PCI configuration space beyond 64 bytes reads as cut off
 * without it (pci_read_config in drivers/pci/pci-sysfs.c), and mstflint's way to a device of which
 * a driver holds the memory lies there.
 */
static const int kept_capability[CONFINE_ROLES] = {
    [CONFINE_AGENT] = CAP_NET_ADMIN,
    [CONFINE_TOOLS] = CAP_SYS_ADMIN,
};

static enum err_code drop_capabilities(enum confine_role role, struct err *err)
{
    unsigned kept = (unsigned)kept_capability[role];
    if (capng_get_caps_process() != 0)
        return err_set(err, ERR_DENIED, "cannot read the capabilities of this process");
    bool has = capng_have_capability(CAPNG_PERMITTED, kept) != 0;
    bool bounds = capng_have_capability(CAPNG_EFFECTIVE, CAP_SETPCAP) != 0;
    capng_clear(CAPNG_SELECT_ALL);
    if (has)
        capng_updatev(CAPNG_ADD, CAPNG_EFFECTIVE | CAPNG_PERMITTED | CAPNG_BOUNDING_SET, kept, -1);
    /* Without CAP_SETPCAP the bounding set stays, and no_new_privs holds exec all the same. */
    if (capng_apply(CAPNG_SELECT_AMBIENT | (bounds ? CAPNG_SELECT_BOTH : CAPNG_SELECT_CAPS)) != 0)
        return err_set_errno(err, ERR_DENIED, errno, "cannot drop capabilities");
    return ERR_OK;
}

/* System calls --------------------------------------------------------------------------------- */

/* sched_setaffinity is not there: hwloc tries it to ask each CPU, and takes sysfs's word instead.
 */
static const char *const allowed[] = {
    /* Files. */
    "access",
    "chmod",
    "close",
    "close_range",
    "copy_file_range",
    "dup",
    "dup2",
    "dup3",
    "faccessat",
    "faccessat2",
    "fadvise64",
    "fallocate",
    "fchmod",
    "fchmodat",
    "fcntl",
    "fdatasync",
    "fgetxattr",
    "flock",
    "fstat",
    "fstatfs",
    "fsync",
    "ftruncate",
    "getcwd",
    "getdents",
    "getdents64",
    "getxattr",
    "inotify_add_watch",
    "inotify_init1",
    "inotify_rm_watch",
    "ioctl",
    "lgetxattr",
    "link",
    "linkat",
    "lseek",
    "lstat",
    "mkdir",
    "mkdirat",
    "newfstatat",
    "open",
    "openat",
    "openat2",
    "pread64",
    "preadv",
    "preadv2",
    "pwrite64",
    "pwritev",
    "pwritev2",
    "read",
    "readahead",
    "readlink",
    "readlinkat",
    "readv",
    "rename",
    "renameat",
    "renameat2",
    "rmdir",
    "sendfile",
    "stat",
    "statfs",
    "statx",
    "symlink",
    "symlinkat",
    "truncate",
    "umask",
    "unlink",
    "unlinkat",
    "utimensat",
    "write",
    "writev",
    /* Memory; mmap and mprotect see allow_by_argument(). */
    "brk",
    "get_mempolicy",
    "madvise",
    "membarrier",
    "mincore",
    "mlock",
    "mlock2",
    "mremap",
    "msync",
    "munlock",
    "munmap",
    /* This process and its threads; clone: see there. */
    "arch_prctl",
    "capget",
    "exit",
    "exit_group",
    "futex",
    "futex_waitv",
    "get_robust_list",
    "getcpu",
    "getegid",
    "geteuid",
    "getgid",
    "getgroups",
    "getpgid",
    "getpgrp",
    "getpid",
    "getppid",
    "getpriority",
    "getrandom",
    "getresgid",
    "getresuid",
    "getrlimit",
    "getrusage",
    "getsid",
    "gettid",
    "getuid",
    "prctl",
    "prlimit64",
    "restart_syscall",
    "rseq",
    "rt_sigaction",
    "rt_sigpending",
    "rt_sigprocmask",
    "rt_sigreturn",
    "rt_sigsuspend",
    "rt_sigtimedwait",
    "sched_get_priority_max",
    "sched_get_priority_min",
    "sched_getaffinity",
    "sched_getattr",
    "sched_getparam",
    "sched_getscheduler",
    "sched_yield",
    "set_robust_list",
    "set_tid_address",
    "sigaltstack",
    "sysinfo",
    "tgkill",
    "times",
    "uname",
    "wait4",
    "waitid",
    /* Time and waiting. */
    "clock_getres",
    "clock_gettime",
    "clock_nanosleep",
    "epoll_create",
    "epoll_create1",
    "epoll_ctl",
    "epoll_pwait",
    "epoll_pwait2",
    "epoll_wait",
    "eventfd",
    "eventfd2",
    "gettimeofday",
    "nanosleep",
    "pipe",
    "pipe2",
    "poll",
    "ppoll",
    "pselect6",
    "select",
    "signalfd",
    "signalfd4",
    "time",
    "timer_create",
    "timer_delete",
    "timer_gettime",
    "timer_settime",
    "timerfd_create",
    "timerfd_gettime",
    "timerfd_settime",
    /* Network; socket: see allow_by_argument(). */
    "accept",
    "accept4",
    "bind",
    "connect",
    "getpeername",
    "getsockname",
    "getsockopt",
    "listen",
    "recvfrom",
    "recvmmsg",
    "recvmsg",
    "sendmmsg",
    "sendmsg",
    "sendto",
    "setsockopt",
    "shutdown",
    "socketpair",
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    /* The leak search at the end stops the other threads. */
    "kill",
    "personality",
    "process_vm_readv",
    "ptrace",
    "sched_setaffinity",
#endif
};

static const char *const refused[] = {
    "acct",
    "add_key",
    "adjtimex",
    "bpf",
    "chroot",
    "clock_adjtime",
    "clock_settime",
    "create_module",
    "delete_module",
    "fanotify_init",
    "finit_module",
    "fsconfig",
    "fsmount",
    "fsopen",
    "fspick",
    "init_module",
    "io_uring_enter",
    "io_uring_register",
    "io_uring_setup",
    "ioperm",
    "iopl",
    "kexec_file_load",
    "kexec_load",
    "keyctl",
    "lookup_dcookie",
    "mount",
    "mount_setattr",
    "move_mount",
    "name_to_handle_at",
    "open_by_handle_at",
    "open_tree",
    "perf_event_open",
    "pivot_root",
    "process_vm_readv",
    "process_vm_writev",
    "ptrace",
    "quotactl",
    "quotactl_fd",
    "reboot",
    "request_key",
    "setdomainname",
    "sethostname",
    "setns",
    "settimeofday",
    "swapoff",
    "swapon",
    "syslog",
    "umount2",
    "unshare",
    "userfaultfd",
    "vhangup",
};

static int add_names(scmp_filter_ctx filter, uint32_t action, const char *const *names,
                     size_t count, const char **out_name)
{
    for (size_t i = 0; i < count; i++) {
        int number = seccomp_syscall_resolve_name(names[i]);
        int rc = number == __NR_SCMP_ERROR ? -EINVAL : seccomp_rule_add(filter, action, number, 0);
        if (rc != 0) {
            *out_name = names[i];
            return rc;
        }
    }
    return 0;
}

/* clone3 has its flags where a filter cannot see them; told that there is none, glibc takes clone.
 */
static int refuse_namespaces(scmp_filter_ctx filter, bool allow_clone)
{
    int rc = seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
    if (rc == 0 && allow_clone)
        return seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(clone), 1,
                                SCMP_A0(SCMP_CMP_MASKED_EQ, NEW_NAMESPACES, 0));
    for (unsigned bit = 0; rc == 0 && bit < 32; bit++) {
        scmp_datum_t flag = UINT64_C(1) << bit;
        if ((flag & NEW_NAMESPACES) != 0)
            rc = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(clone), 1,
                                  SCMP_A0(SCMP_CMP_MASKED_EQ, flag, flag));
    }
    return rc;
}

/* No memory that is both written and run, no sockets but those we use, no namespaces. */
static int allow_by_argument(scmp_filter_ctx filter)
{
    static const scmp_datum_t families[] = {AF_INET, AF_INET6, AF_UNIX, AF_NETLINK};
    static const scmp_datum_t ways[] = {0, PROT_WRITE, PROT_EXEC};
    int rc = refuse_namespaces(filter, true);
    for (size_t i = 0; rc == 0 && i < sizeof(families) / sizeof(families[0]); i++)
        rc = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(socket), 1,
                              SCMP_A0(SCMP_CMP_EQ, families[i], 0));
    for (size_t i = 0; rc == 0 && i < sizeof(ways) / sizeof(ways[0]); i++)
        rc = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 1,
                              SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_WRITE | PROT_EXEC, ways[i]));
    return rc != 0 ? rc
                   : seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(mprotect), 1,
                                      SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
}

static int fill(scmp_filter_ctx filter, enum confine_role role, const char **out_name)
{
    if (role == CONFINE_TOOLS) {
        int rc = add_names(filter, SCMP_ACT_ERRNO(EPERM), refused,
                           sizeof(refused) / sizeof(refused[0]), out_name);
        return rc != 0 ? rc : refuse_namespaces(filter, false);
    }
    int rc =
        add_names(filter, SCMP_ACT_ALLOW, allowed, sizeof(allowed) / sizeof(allowed[0]), out_name);
    return rc != 0 ? rc : allow_by_argument(filter);
}

static enum err_code filter_calls(enum confine_role role, struct err *err)
{
    scmp_filter_ctx filter =
        seccomp_init(role == CONFINE_TOOLS ? SCMP_ACT_ALLOW : SCMP_ACT_ERRNO(EPERM));
    const char *name = "the filter of system calls";
    if (filter == NULL)
        return err_nomem(err);
    int rc = fill(filter, role, &name);
    if (rc == 0)
        rc = seccomp_load(filter); /* sets no_new_privs first, SCMP_FLTATR_CTL_NNP */
    seccomp_release(filter);
    return rc == 0 ? ERR_OK
                   : err_set_errno(err, ERR_DENIED, -rc, "cannot put %s into effect", name);
}

enum err_code confine(enum confine_role role, struct err *err)
{
    assert(role < CONFINE_ROLES);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return err_set_errno(err, ERR_DENIED, errno, "cannot give up new rights");
    enum err_code code = drop_capabilities(role, err);
    return code == ERR_OK ? filter_calls(role, err) : code;
}
