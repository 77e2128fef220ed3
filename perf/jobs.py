# SPDX-License-Identifier: BSD-3-Clause
"""Runs the jobs that are measured: bounded in time, and with nothing left behind."""

import os
import re
import signal
import subprocess
import sys
import tempfile
import time

SOURCE = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
CLUSTER = os.path.join(SOURCE, "tests/cluster/emulated-cluster")

# The part of a card's rate that is payload: 1448 of the 1526 bytes that a full Ethernet frame takes.
SHARE_OF_PAYLOAD = 1448 / 1526

# Open MPI's all-reduces between nodes, and the MCA parameters that choose each.
_FIXED = [("coll_tuned_use_dynamic_rules", "1")]
OPEN_MPI_ALGORITHMS = {
    "default": [],
    "recursive doubling": _FIXED + [("coll_tuned_allreduce_algorithm", "3")],
    "ring": _FIXED + [("coll_tuned_allreduce_algorithm", "4")],
    "segmented ring": _FIXED + [("coll_tuned_allreduce_algorithm", "5")],
    "Rabenseifner": _FIXED + [("coll_tuned_allreduce_algorithm", "6")],
    "HAN": [("coll_han_priority", "100")],
}


def megabits(rate):
    """Per second, of a rate as tc(8) writes it."""
    number = re.fullmatch(r"(\d+)(mbit|gbit)", rate)
    if not number:
        sys.exit(f"{os.path.basename(sys.argv[0])}: '{rate}' is no rate such as 500mbit or 1gbit")
    return int(number[1]) * (1000 if number[2] == "gbit" else 1)


class JobFailed(Exception):
    """A job that did not end well, with its last words."""


def end_when_told():
    """SIGTERM ends this program as an exception does, so that what it has set up is taken down."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))


def _end(job):
    """The launcher first, which ends its ranks; then what is left of its process group."""
    job.terminate()
    try:
        job.communicate(timeout=10)
    except subprocess.TimeoutExpired:
        pass
    try:
        os.killpg(job.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    job.communicate()


def output_of(command, limit=None, told=None):
    """What the command printed to both of its outputs; JobFailed if it took longer than `limit` seconds or failed.

    Some jobs do not come back from MPI_Finalize (MPICH 4.0 over UCX's TCP): one that has written the file `told`, its
    last deed before, is ended five seconds later, and has not failed.
    """
    with tempfile.TemporaryDirectory(prefix="strata-job.") as folder:
        # Where Open MPI keeps its segments otherwise, those of a killed job stay.
        environment = dict(os.environ, OMPI_MCA_btl_vader_backing_directory=folder,
                           OMPI_MCA_btl_sm_backing_directory=folder)
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment,
                              start_new_session=True) as job:
            try:
                output = _output_until(job, limit, told)
            except BaseException:
                _end(job)
                raise
    if output is None:
        return ""
    if job.returncode != 0:
        raise JobFailed(f"exit status {job.returncode}: {output.strip()[-500:]}")
    return output


def _output_until(job, limit, told):
    """None when the job was ended because it had told all."""
    began, told_at = time.monotonic(), None
    while True:
        try:
            return job.communicate(timeout=1)[0]
        except subprocess.TimeoutExpired as late:
            now = time.monotonic()
            if told is not None and told_at is None and os.path.exists(told):
                told_at = now
            if told_at is not None and now - told_at > 5:
                _end(job)
                return None
            if limit is not None and now - began > limit:
                raise JobFailed(f"took longer than {limit:.0f} s") from late
