# SPDX-License-Identifier: BSD-3-Clause
"""An emulated cluster from outside: starting, finding and ending one, and running a command inside."""
import json
import os
import re
import select
import shutil
import signal
import time

from emulation import hub, linux, machine, network

START_SECONDS = 30
ENDING_SIGNALS = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}
WAITED_SIGNALS = ENDING_SIGNALS | {signal.SIGCHLD}


class Cluster:
    """A cluster that runs: the pid of its hub as seen here, its name (None for that of a single run), its shape."""

    def __init__(self, pid):
        self.pid = pid
        with open(self._inside(hub.DESCRIPTION)) as file:
            description = json.load(file)
        self.name, self.owner, self.pids = (description[key] for key in ("name", "owner", "pids"))
        self.shape = network.Shape(**description["shape"])

    def _inside(self, path):
        return "/proc/%d/root%s" % (self.pid, path)

    def is_orphan(self):
        """True for the hub of a single run whose tool is gone; it should be dying by itself."""
        return self.name is None and not linux.is_alive(self.owner)

    def traffic(self):
        return network.traffic(self.shape, self._inside("/sys/class/net"))

    def end(self):
        """Kills the hub, and with it everything; returns when the last process is gone."""
        _kill(self.pid)
        try:
            while True:
                os.wait()
        except ChildProcessError:
            pass
        while linux.is_alive(self.pid):
            time.sleep(0.01)

    def spawn(self, machine_name, command, environment, stderr=2):
        """Starts a command in the hub or in a node, in this folder and on this terminal; returns its guard's pid."""
        folder = os.getcwd()
        holder = self.holder_pid(machine_name)

        def join_and_fork():
            linux.join(self.pid)
            if holder:
                linux.join(holder)
            os.chdir(folder)
            # The pid namespace that was joined holds for a child only.
            inner = os.fork()
            if inner == 0:
                _become(command, environment, stderr)
            return inner

        return _fork_guard(join_and_fork, complain)

    def holder_pid(self, machine_name):
        """The process 1 of a node, by its pid in the hub; None for the hub itself."""
        names = [self.shape.name(node) for node in range(self.shape.nodes)]
        if machine_name == "hub":
            return None
        if machine_name not in names:
            raise OSError("no machine %s in this cluster: there are hub, %s" % (machine_name, ", ".join(names)))
        return self.pids[names.index(machine_name)]

    def write_file(self, path, text):
        machine.write_file(self._inside(path), text)

    def remove_file(self, path):
        os.unlink(self._inside(path))


def _become(command, environment, stderr):
    """Turns this process into the command, with signals as a command expects them."""
    try:
        for ignored_by_python in (signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(ignored_by_python, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, WAITED_SIGNALS)
        os.dup2(stderr, 2)
        os.execvpe(command[0], command, environment)
    except OSError as error:
        os.write(2, ("emulated-cluster: cannot run %s: %s\n" % (command[0], error.strerror)).encode())
        os._exit(127 if isinstance(error, FileNotFoundError) else 126)


def _kill(pid):
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass  # It ended by itself.


def complain(message):
    os.write(2, ("emulated-cluster: %s\n" % message).encode())


def _fork_guard(fork_guarded, report_error):
    """Forks a guard: it forks, by fork_guarded, the process that it stands for, and passes its status on.

    The guard stays outside of the cluster's pid namespace. When its parent, the tool, dies, it ends what it guards and
    reaps it; if that were left to the machine's process 1, the end of the namespace would wait for it."""
    parent = os.getpid()
    guard = os.fork()
    if guard:
        return guard
    status = 125
    try:
        guarded = fork_guarded()
        linux.signal_at_death_of(parent, signal.SIGTERM)
        status = wait(guarded, None)
        stop(guarded, signal.SIGKILL)
    except Exception as error:
        report_error(linux.reason(error))
    finally:
        os._exit(status)


def start(shape, name=None):
    """Makes a cluster; one without a name ends when this process does. Raises OSError with the reason."""
    for tool, package in (("ip", "iproute2"), ("tc", "iproute2"), ("nsenter", "util-linux")):
        if not shutil.which(tool, path=machine.TOOL_PATH):
            raise OSError("%s is not installed (Debian's package %s)" % (tool, package))
    owner = os.getpid()
    pid_reader, pid_writer = os.pipe()
    report_reader, report_writer = os.pipe()

    def fork_hub():
        linux.new_pid_namespace()
        pid = os.fork()
        if pid == 0:
            hub.live(shape, name, owner, report_writer)
        os.write(pid_writer, b"%d" % pid)
        os.close(pid_writer)
        os.close(report_writer)
        if name is not None:
            os._exit(0)
        return pid

    guard = _fork_guard(fork_hub, lambda message: os.write(report_writer, message.encode()))
    os.close(pid_writer)
    os.close(report_writer)
    ready, _, _ = select.select([report_reader], [], [], START_SECONDS)
    report = os.read(report_reader, 4096).decode() if ready else "not ready after %d s" % START_SECONDS
    pid = os.read(pid_reader, 32)
    os.close(report_reader)
    os.close(pid_reader)
    if report != "ready":
        if pid:
            _kill(int(pid))
        stop(guard, signal.SIGTERM)
        raise OSError(report or "the hub died while it was made")
    return Cluster(int(pid))


def find_all():
    """This user's clusters, single runs included."""
    clusters = []
    for pid in linux.processes():
        try:
            with open("/proc/%d/comm" % pid) as file:
                is_hub = file.read().strip() == hub.PROCESS_NAME
            if is_hub and os.stat("/proc/%d" % pid).st_uid == os.geteuid():
                clusters.append(Cluster(pid))
        except (OSError, ValueError):
            continue  # ended meanwhile, or not finished
    return clusters


def find(name):
    for cluster in find_all():
        if cluster.name == name:
            return cluster
    raise OSError("no cluster is named '%s' (emulated-cluster list shows what runs)" % name)


def filtered_stderr(unwanted):
    """A pipe to our stderr that drops what matches a pattern: (descriptor to write to, process that relays)."""
    reader, writer = os.pipe()
    relay = os.fork()
    if relay == 0:
        try:
            os.close(writer)
            while chunk := os.read(reader, 65536):
                os.write(2, re.sub(unwanted, b"", chunk))
        finally:
            os._exit(0)
    os.close(reader)
    return writer, relay


def block_signals():
    """To be called before any child is made: wait() takes these signals from the queue, so that none is missed."""
    signal.pthread_sigmask(signal.SIG_BLOCK, WAITED_SIGNALS)


def wait(child, deadline):
    """The exit status of a child, 128 plus the number of a signal that ends us, or None at a deadline (monotonic)."""
    while True:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            return linux.exit_status(status)
        left = deadline - time.monotonic() if deadline else 3600
        if left <= 0:
            return None
        got = signal.sigtimedwait(WAITED_SIGNALS, left)
        if got and got.si_signo in ENDING_SIGNALS:
            return 128 + got.si_signo


def stop(child, number):
    """Ends a child that still runs by a signal: SIGTERM for a guard, which then ends what it guards."""
    try:
        os.kill(child, number)
        os.waitpid(child, 0)
    except (ProcessLookupError, ChildProcessError):
        pass
