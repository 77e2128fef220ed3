# SPDX-License-Identifier: BSD-3-Clause
"""How an MPI program is started on an emulated cluster: which rank goes where, and what the launcher is told."""
import itertools
import os
import random
import shutil

from emulation import hub, machine, network

LAUNCHERS = {"openmpi": ("mpirun.openmpi", "mpirun"), "mpich": ("mpiexec.hydra", "mpiexec.mpich", "mpiexec")}

# Left by a batch system or an outer MPI job, these make a launcher ask for hosts elsewhere.
FOREIGN = ("SLURM_", "PBS_", "LSB_", "PMI_", "PMIX_", "OMPI_COMM_WORLD_", "HYDI_")

# Open MPI warns of a race between its own parent and child that does no harm, whatever the agent.
NOISE = rb"\[hub:\d+\] plm:(?:rsh|ssh): Warning: setpgid\([^\n]*\n"


def place_ranks(per_node, mapping):
    """The node of each rank, for a number of ranks on each node and 'slot', 'node', 'random:SEED' or '0,1,1,...'."""
    by_slot = [node for node, ranks in enumerate(per_node) for _ in range(ranks)]
    if mapping == "slot":
        return by_slot
    if mapping == "node":
        rounds = range(max(per_node))
        return [node for turn in rounds for node, ranks in enumerate(per_node) if turn < ranks]
    kind, _, seed = mapping.partition(":")
    if kind == "random" and seed.isdigit():
        random.Random(int(seed)).shuffle(by_slot)
        return by_slot
    if all(part.isdigit() for part in mapping.split(",")):
        nodes = [int(part) for part in mapping.split(",")]
        if max(nodes) >= len(per_node):
            raise ValueError("mapping '%s' names node %d of %d" % (mapping, max(nodes), len(per_node)))
        return nodes
    raise ValueError("mapping '%s' is none of slot, node, random, random:SEED, or a node for each rank (0,1,1,...)" %
                     mapping)


def ranks_per_node(text, nodes):
    """[4, 4, 4] for '4' on three nodes, [1, 2, 4] for '1,2,4'."""
    counts = text.split(",")
    if not all(count.isdigit() for count in counts) or sum(map(int, counts)) == 0:
        raise ValueError("ranks '%s': give a number, or one for each node (1,2,4)" % text)
    if len(counts) not in (1, nodes):
        raise ValueError("ranks for %d nodes ('%s') on a cluster of %d" % (len(counts), text, nodes))
    return [int(count) for count in counts] * (nodes if len(counts) == 1 else 1)


def openmpi_hosts(shape, placement):
    """A line for each rank, in rank order, for the mapper "seq"."""
    return "".join(shape.name(node) + "\n" for node in placement)


def mpich_hosts(shape, placement):
    """hydra fills the file's nodes in turn and wraps around; a node named twice would be two nodes to MPICH."""
    runs = [(node, len(list(ranks))) for node, ranks in itertools.groupby(placement)]
    nodes = [node for node, _ in runs]
    if len(set(nodes)) == len(nodes):
        return "".join("%s:%d\n" % (shape.name(node), ranks) for node, ranks in runs)
    period = sorted(set(placement), key=placement.index)
    if period * (len(placement) // len(period)) == placement:
        return "".join("%s:1\n" % shape.name(node) for node in period)
    raise ValueError("MPICH's launcher can place ranks by slot, and by node if all nodes have as many; not so")


class Launch:
    """What a launcher is told: its host file, and an environment rather than flags, so that a plain
    `mpirun -n 4 ./program`, typed into a shell in the hub, uses the cluster too."""

    def __init__(self, mpi, shape, placement, parameters):
        self.mpi, self.ranks = mpi, len(placement)
        self.host_file = "%s/hosts.%d" % (machine.STATE, os.getpid())
        if mpi == "openmpi":
            self.hosts, self.settings = openmpi_hosts(shape, placement), self._openmpi(parameters)
        else:
            self.hosts, self.settings = mpich_hosts(shape, placement), self._mpich()
        kept = {name: value for name, value in os.environ.items() if not name.startswith(FOREIGN)}
        self.environment = dict(kept, TMPDIR=machine.SCRATCH, **self.settings)

    def _openmpi(self, parameters):
        mca = {
            "plm": "rsh",
            "plm_rsh_agent": hub.AGENT,
            "plm_rsh_no_tree_spawn": "1",
            # A daemon that cannot start is noticed only while its agent stays.
            "orte_leave_session_attached": "1",
            "oob_tcp_if_include": network.NETWORK,
            "btl_tcp_if_include": network.NETWORK,
            "orte_default_hostfile": self.host_file,
            "rmaps_base_mapping_policy": "seq",
            # Every node has the same cores, so binding would put the first rank of each on the same one.
            "hwloc_base_binding_policy": "none",
        }
        if self.ranks > len(os.sched_getaffinity(0)):
            mca["mpi_yield_when_idle"] = "1"
        mca.update(parameters)
        settings = {"OMPI_MCA_" + name: value for name, value in mca.items()}
        # From version 5 on, the launcher is PRRTE, with names of its own.
        settings.update({"PRTE_MCA_" + name: value for name, value in {
            "plm": "ssh",
            "plm_ssh_agent": hub.AGENT,
            "plm_ssh_no_tree_spawn": "1",
            "prte_leave_session_attached": "1",
            "prte_if_include": network.NETWORK,
            "prte_default_hostfile": self.host_file,
            "rmaps_default_mapping_policy": "seq",
            "hwloc_default_binding_policy": "none",
        }.items()})
        return dict(settings, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")

    def _mpich(self):
        return {"HYDRA_LAUNCHER": "rsh", "HYDRA_LAUNCHER_EXEC": hub.AGENT, "HYDRA_IFACE": "eth0",
                "HYDRA_HOST_FILE": self.host_file}

    def command(self, program, variables, arguments, launcher=None):
        """The launcher's command line for a program, with NAME=VALUE variables that the ranks are to see."""
        candidates = [launcher] if launcher else LAUNCHERS[self.mpi]
        found = [path for path in map(shutil.which, candidates) if path]
        if not found:
            raise OSError("no launcher of %s found (%s)" % (self.mpi, ", ".join(candidates)))
        command = [found[0], "-n", str(self.ranks)]
        for variable in variables:
            name, _, value = variable.partition("=")
            command += ["-x", variable] if self.mpi == "openmpi" else ["-genv", name, value]
        return command + arguments + program
