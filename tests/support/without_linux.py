"""A program text that removes the calls that only Linux has from its process."""

WITHOUT_LINUX = """
import os, select, signal

MISSING = {
    os: "copy_file_range eventfd fdatasync getrandom memfd_create pidfd_open posix_fadvise "
    "posix_fallocate sched_getaffinity sched_getparam sched_getscheduler sched_setaffinity "
    "sched_setparam sched_setscheduler splice getxattr listxattr setxattr",
    select: "epoll",
    signal: "pidfd_send_signal sigtimedwait sigwaitinfo",
}
for module, names in MISSING.items():
    for name in names.split():
        if hasattr(module, name):
            delattr(module, name)
"""
