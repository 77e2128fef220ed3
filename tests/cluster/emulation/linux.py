# SPDX-License-Identifier: BSD-3-Clause
"""The Linux calls that an emulated cluster is made of: namespaces, mounts, processes.

Python has setns and unshare from 3.12 on only, so they are taken from libc.
"""
import ctypes
import errno
import os
import signal

CLONE_NEWNS = 0x00020000
CLONE_NEWUTS = 0x04000000
CLONE_NEWIPC = 0x08000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000
NODE_NAMESPACES = CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWNET

MS_NOSUID, MS_NODEV, MS_NOEXEC = 2, 4, 8
MS_BIND, MS_REC, MS_PRIVATE = 4096, 16384, 1 << 18

PR_SET_PDEATHSIG, PR_SET_NAME = 1, 15

# The order in which a process joins another's namespaces: "user" first, because the capabilities for the
# others come with it.
JOIN_ORDER = ("user", "ipc", "uts", "net", "pid", "mnt")

_libc = ctypes.CDLL(None, use_errno=True)


def _check(result, what):
    if result < 0:
        number = ctypes.get_errno()
        hint = " (the limits are in /proc/sys/user)" if number == errno.ENOSPC else ""
        raise OSError(number, "%s: %s%s" % (what, os.strerror(number), hint))


def reason(error):
    """What to tell a person of an exception."""
    if isinstance(error, OSError) and error.strerror:
        return "%s: %s" % (error.filename, error.strerror) if error.filename else error.strerror
    return str(error) or type(error).__name__


def unshare(flags, what):
    _check(_libc.unshare(flags), "cannot make %s" % what)


def mount(source, target, kind=None, flags=0, data=None):
    encode = lambda text: None if text is None else text.encode()
    result = _libc.mount(encode(source), encode(target), encode(kind), ctypes.c_ulong(flags), encode(data))
    _check(result, "cannot mount %s on %s" % (kind or source, target))


def name_process(name):
    """Sets the name that ps and /proc/PID/comm show (15 bytes at most)."""
    _libc.prctl(PR_SET_NAME, name.encode(), 0, 0, 0)


def signal_at_death_of(parent, number):
    """Asks for a signal when `parent`, which this process was forked by, dies. To be called after the last change of
    user namespace, which may undo it. In a pid namespace of its own a process cannot see its parent: pass None."""
    _check(_libc.prctl(PR_SET_PDEATHSIG, int(number), 0, 0, 0), "prctl")
    if parent is not None and os.getppid() != parent:
        os._exit(128 + number)  # It was dead before that call.


def new_pid_namespace():
    """Makes the next child process 1 of a new pid namespace, for an unprivileged user within a new user namespace."""
    try:
        unshare(CLONE_NEWPID, "a pid namespace")
        return
    except PermissionError:
        pass
    user, group = os.geteuid(), os.getegid()
    unshare(CLONE_NEWUSER | CLONE_NEWPID, "a user namespace, which an unprivileged user needs for the others")
    for path, text in (("setgroups", "deny"), ("uid_map", "0 %d 1" % user), ("gid_map", "0 %d 1" % group)):
        with open("/proc/self/" + path, "w") as control:
            control.write(text)


def join(pid):
    """Moves this process into the namespaces of process `pid`; the pid namespace holds for its children."""
    namespaces = [(kind, os.open("/proc/%d/ns/%s" % (pid, kind), os.O_RDONLY | os.O_CLOEXEC)) for kind in JOIN_ORDER]
    root = os.open("/proc/%d/root" % pid, os.O_PATH | os.O_CLOEXEC)
    for kind, descriptor in namespaces:
        result = _libc.setns(descriptor, 0)
        # EINVAL: the user namespace that this process is in already.
        if not (kind == "user" and result < 0 and ctypes.get_errno() == errno.EINVAL):
            _check(result, "cannot join the namespaces of process %d" % pid)
        os.close(descriptor)
    # To join a mount namespace is to get its own root, which is not the process' where that runs in a chroot.
    os.chdir(root)
    os.chroot(".")
    os.close(root)


def report_of_child(body):
    """Runs `body` in a forked child and returns the integer that it returns there."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.write(writer, b"%d" % body())
            status = 0
        except OSError as error:
            os.write(writer, reason(error).encode())
        finally:
            os._exit(status)
    os.close(writer)
    status = os.waitpid(child, 0)[1]
    # Not read to its end: what the child forked holds the pipe too.
    text = os.read(reader, 4096).decode()
    os.close(reader)
    if status != 0:
        raise OSError(text)
    return int(text)


def exit_status(wait_status):
    """The status that a shell would give for what waitpid returned."""
    return 128 + os.WTERMSIG(wait_status) if os.WIFSIGNALED(wait_status) else os.WEXITSTATUS(wait_status)


def processes():
    """The ids of all processes that /proc shows."""
    return [int(entry) for entry in os.listdir("/proc") if entry.isdigit()]


def is_alive(pid):
    """False for a zombie too: what waits for its parent has ended."""
    try:
        with open("/proc/%d/stat" % pid) as file:
            return file.read().rpartition(")")[2].split()[0] not in ("Z", "X")
    except OSError:
        return False
