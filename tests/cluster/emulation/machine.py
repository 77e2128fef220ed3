# SPDX-License-Identifier: BSD-3-Clause
"""What makes a process's namespaces look like a machine of its own: mounts, host name, settings, ip and tc."""
import errno
import os
import socket
import subprocess

from emulation import linux

STATE = "/run/emulated-cluster"  # on a tmpfs that only this machine of the cluster sees
SCRATCH = STATE + "/tmp"
TOOL_PATH = os.environ.get("PATH", "/usr/bin:/bin") + ":/usr/sbin:/sbin"


def write_file(path, text, mode=0o644):
    with open(path, "w") as file:
        file.write(text)
    os.chmod(path, mode)


def run_batch(tool, lines):
    """Runs lines of commands by one process of ip or tc."""
    if not lines:
        return
    done = subprocess.run([tool, "-batch", "-"], input="\n".join(lines) + "\n", text=True, stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, env=dict(os.environ, PATH=TOOL_PATH))
    if done.returncode != 0:
        raise OSError("%s: %s" % (tool, " / ".join(done.stderr.strip().split("\n"))))


def set_kernel(name, value):
    """Sets a kernel setting; those below net belong to the network namespace, others would be the real machine's."""
    try:
        with open("/proc/sys/" + name.replace(".", "/"), "w") as file:
            file.write(value)
    except OSError as error:
        raise OSError("cannot set %s to %s: %s" % (name, value, error.strerror))


def become_machine(shape, hostname):
    """Gives this process, alone in new namespaces, the mounts, host name and settings of one machine."""
    _keep_mounts_private()
    _mount_tmpfs("/run", "mode=755")
    os.makedirs(SCRATCH)
    os.chmod(SCRATCH, 0o1777)
    linux.mount("proc", "/proc", "proc", linux.MS_NOSUID | linux.MS_NODEV | linux.MS_NOEXEC)
    _mount_sys()
    _mount_tmpfs(os.path.realpath("/dev/shm"), "mode=1777" + (",size=" + shape.shm_size if shape.shm_size else ""))
    for folder in shape.private:
        _mount_tmpfs(folder, "mode=1777")
    _mount_hosts(shape.hosts_file())
    socket.sethostname(hostname)
    if os.path.isdir("/proc/sys/net/ipv6"):
        for scope in ("all", "default"):
            set_kernel("net.ipv6.conf.%s.disable_ipv6" % scope, "1")
    for setting in shape.sysctls:
        name, _, value = setting.partition("=")
        set_kernel(name, value)


def _keep_mounts_private():
    """What is mounted from now on is seen here only."""
    try:
        linux.mount("none", "/", None, linux.MS_REC | linux.MS_PRIVATE)
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
        # The root is a folder (chroot), so the mount that holds it cannot be named; what is mounted below can.
        if _is_root_shared():
            raise OSError("the root is a folder of a mount that is shared with the rest of the machine (chroot)")
        for point in _mount_points("/proc/self/mountinfo"):
            try:
                linux.mount("none", point[0], None, linux.MS_PRIVATE)
            except OSError as hidden:
                # What was mounted in the machine's /sys (tracefs, say) is behind the hub's: nothing is mounted there.
                if hidden.errno != errno.EINVAL:
                    raise


def _mount_points(file):
    """(folder, optional fields) of each line, proc_pid_mountinfo(5)."""
    with open(file) as lines:
        for line in lines:
            fields = line.split()
            yield (fields[4].encode().decode("unicode_escape"), fields[6:fields.index("-")])


def _is_root_shared():
    """Whether the machine's own root mount passes mounts on, as far as its first process shows it."""
    return any(folder == "/" and any(field.startswith("shared:") for field in fields)
               for folder, fields in _mount_points("/proc/1/mountinfo"))


def _mount_tmpfs(folder, options):
    linux.mount("tmpfs", folder, "tmpfs", linux.MS_NOSUID | linux.MS_NODEV, options)


def _mount_sys():
    """A /sys that shows this network namespace's interfaces, which UCX reads, with the machine's cgroups kept."""
    cgroups, kept = "/sys/fs/cgroup", STATE + "/cgroup"
    os.mkdir(kept)
    if os.path.isdir(cgroups):
        linux.mount(cgroups, kept, None, linux.MS_BIND | linux.MS_REC)
    linux.mount("sysfs", "/sys", "sysfs", linux.MS_NOSUID | linux.MS_NODEV | linux.MS_NOEXEC)
    if os.path.isdir(cgroups):
        linux.mount(kept, cgroups, None, linux.MS_BIND | linux.MS_REC)


def _mount_hosts(text):
    write_file(STATE + "/hosts", text)
    if not os.path.exists("/etc/hosts"):
        _replace_etc()
    linux.mount(STATE + "/hosts", "/etc/hosts", None, linux.MS_BIND)


def _replace_etc():
    """Where /etc has no hosts to mount over (a bare debootstrap): an /etc of links to the real one, with a hosts."""
    real = STATE + "/etc"
    os.mkdir(real)
    linux.mount("/etc", real, None, linux.MS_BIND | linux.MS_REC)
    _mount_tmpfs("/etc", "mode=755")
    for entry in os.listdir(real):
        path = os.path.join(real, entry)
        os.symlink(os.readlink(path) if os.path.islink(path) else path, "/etc/" + entry)
    write_file("/etc/hosts", "")
