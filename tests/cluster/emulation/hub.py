# SPDX-License-Identifier: BSD-3-Clause
"""The processes that hold an emulated cluster: the hub, and one holder for each node below it.

The hub is process 1 of a pid namespace, and each holder is process 1 of one nested in it. All other namespaces belong
to these processes and have no names. When the hub dies, by whatever cause, the kernel kills all that runs in the
cluster and drops its namespaces, mounts and links: there is nothing that a clean-up could forget.
The hub of a single run dies with the tool.
"""
import json
import os
import shlex
import signal

from emulation import linux, machine, network

PROCESS_NAME = "cluster-hub"
DESCRIPTION = machine.STATE + "/cluster.json"
AGENT = machine.STATE + "/enter"

# Enters a node the way sshd would: with no more of the caller's environment than a login sets, so that a variable
# reaches the ranks only if the launcher forwards it. Open MPI and hydra both take it for an rsh.
AGENT_TEXT = """#!/bin/sh
# usage: enter HOST COMMAND...
while :; do case $1 in -l | -p) shift 2 ;; -*) shift ;; *) break ;; esac; done
host=$1
shift
case $host in
%s
*) echo "emulated-cluster: no host '$host' in this cluster" >&2; exit 255 ;;
esac
exec nsenter -t $pid -m -u -i -n -p -r -w -- env -i %s /bin/sh -c "$*"
"""

# Open MPI's daemons look for the agent in their node as well, and die silently where there is none.
NO_AGENT_TEXT = """#!/bin/sh
echo "emulated-cluster: nodes are entered from the hub only" >&2
exit 255
"""


def _agent_text(shape, pids):
    cases = ["%s | %s) pid=%d ;;" % (shape.name(node), shape.address(node), pid) for node, pid in enumerate(pids)]
    login = {name: os.environ[name] for name in ("HOME", "PATH", "LD_LIBRARY_PATH", "USER") if name in os.environ}
    login["TMPDIR"] = machine.SCRATCH
    login["XDG_CACHE_HOME"] = machine.SCRATCH  # what programs keep is of this cluster, whose hosts are named like others'
    return AGENT_TEXT % ("\n".join(cases), " ".join("%s=%s" % (name, shlex.quote(login[name])) for name in login))


def _sleep_as_init():
    """Waits for ever; children that lost their parents are process 1's, and vanish at once when they end."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        signal.pause()


def _read_line(descriptor):
    line = b""
    while not line.endswith(b"\n"):
        byte = os.read(descriptor, 1)
        if not byte:
            break
        line += byte
    return line.decode().strip()


class _Holder:
    """A node's process 1 as the hub sees it: its pid, and a pipe each way while the node is made."""

    def __init__(self, shape, node):
        self.name = shape.name(node)
        go_reader, self.go = os.pipe()
        self.answer, answer_writer = os.pipe()

        def divide():
            linux.unshare(linux.NODE_NAMESPACES | linux.CLONE_NEWPID, "the namespaces of a node")
            pid = os.fork()
            if pid == 0:
                os.close(self.go)
                self._live(shape, node, go_reader, answer_writer)
            return pid

        # A child between, because a process can make a pid namespace for its children only once.
        self.pid = linux.report_of_child(divide)
        os.close(go_reader)
        os.close(answer_writer)

    def _live(self, shape, node, go_reader, answer_writer):
        try:
            linux.name_process(self.name)
            machine.become_machine(shape, self.name)
            machine.write_file(AGENT, NO_AGENT_TEXT, 0o755)
            if _read_line(go_reader) == "go":
                ip, tc = network.node_commands(shape, node)
                machine.run_batch("ip", ip)
                machine.run_batch("tc", tc)
                os.write(answer_writer, b"ready\n")
                os.close(answer_writer)
                _sleep_as_init()
        except Exception as error:
            os.write(answer_writer, (linux.reason(error) + "\n").encode())
        finally:
            os._exit(1)

    def finish(self):
        answer = _read_line(self.answer)
        os.close(self.answer)
        os.close(self.go)
        if answer != "ready":
            raise OSError("%s: %s" % (self.name, answer or "died while it was made"))


def _build(shape, name, owner):
    linux.unshare(linux.NODE_NAMESPACES, "the hub's namespaces")
    machine.become_machine(shape, "hub")
    holders = [_Holder(shape, node) for node in range(shape.nodes)]
    pids = [holder.pid for holder in holders]
    ip, tc = network.hub_commands(shape, pids)
    machine.run_batch("ip", ip)
    machine.run_batch("tc", tc)
    for holder in holders:
        os.write(holder.go, b"go\n")
    for holder in holders:
        holder.finish()
    machine.write_file(AGENT, _agent_text(shape, pids), 0o755)
    description = {"name": name, "owner": owner, "shape": vars(shape), "pids": pids}
    machine.write_file(DESCRIPTION, json.dumps(description))


def live(shape, name, owner, report):
    """The hub's whole life, in a process that is 1 of a new pid namespace. Never returns.

    `owner` is the pid of the tool, `report` the pipe that gets "ready" or why the cluster cannot be made. A hub with a
    name outlives its parent."""
    try:
        os.setsid()
        linux.name_process(PROCESS_NAME)
        if name is None:
            linux.signal_at_death_of(None, signal.SIGKILL)
        _close_all_but(report)
        _build(shape, name, owner)
        os.write(report, b"ready")
        os.close(report)
        _sleep_as_init()
    except Exception as error:
        os.write(report, linux.reason(error).encode())
    finally:
        os._exit(1)


def _close_all_but(kept):
    """Lets go of what the caller had open: who waits for the end of such a pipe must not wait for the cluster's."""
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)
    os.closerange(3, kept)
    os.closerange(kept + 1, os.sysconf("SC_OPEN_MAX"))
