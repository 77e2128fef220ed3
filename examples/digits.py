#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Data-parallel training of a small network on scikit-learn's handwritten digits, by mpi4py and numpy.

An ordinary MPI program: it knows nothing of strata. Each rank holds a share of the 1,797 images, computes the gradient
of its share, and one Allreduce per step sums the gradients.

    mpirun -n 4 python3 digits.py              plain
    mpirun -n 4 strata-run python3 digits.py   with strata

Prints the loss after every tenth pass, the accuracy, and a checksum of the weights, which is the same on all ranks.
"""
import argparse
import zlib

import numpy as np
from mpi4py import MPI
from sklearn.datasets import load_digits


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--passes", type=int, default=40, help="passes over the data (default: %(default)s)")
    parser.add_argument("--hidden", type=int, default=256, help="width of the hidden layer (default: %(default)s)")
    parser.add_argument("--rate", type=float, default=0.5, help="learning rate (default: %(default)s)")
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    world = MPI.COMM_WORLD
    rank, ranks = world.Get_rank(), world.Get_size()

    digits = load_digits()
    images = (digits.data / 16.0).astype(np.float32)
    targets = np.eye(10, dtype=np.float32)[digits.target]
    mine = slice(rank, None, ranks)
    share, share_targets = images[mine], targets[mine]

    # All weights live in one vector, so that one Allreduce carries all gradients.
    sizes = [(64, arguments.hidden), (arguments.hidden, 10)]
    weights = np.random.default_rng(1).normal(0, 0.1, sum(a * b for a, b in sizes)).astype(np.float32)
    split = sizes[0][0] * sizes[0][1]
    first, second = weights[:split].reshape(sizes[0]), weights[split:].reshape(sizes[1])
    gradient = np.empty_like(weights)
    message = np.empty(2, dtype=np.float64)

    for turn in range(arguments.passes):
        hidden = np.tanh(share @ first)
        scores = hidden @ second
        scores -= scores.max(axis=1, keepdims=True)
        chances = np.exp(scores)
        chances /= chances.sum(axis=1, keepdims=True)

        error = (chances - share_targets) / len(images)
        gradient[split:] = (hidden.T @ error).ravel()
        gradient[:split] = (share.T @ ((error @ second.T) * (1 - hidden**2))).ravel()
        world.Allreduce(MPI.IN_PLACE, gradient)
        weights -= arguments.rate * gradient

        message[0] = -np.log(np.maximum((chances * share_targets).sum(axis=1), 1e-30)).sum()
        message[1] = (chances.argmax(axis=1) == share_targets.argmax(axis=1)).sum()
        world.Allreduce(MPI.IN_PLACE, message)
        if rank == 0 and (turn + 1) % 10 == 0:
            print(f"pass {turn + 1:3d}  loss {message[0] / len(images):.6f}  accuracy {message[1] / len(images):.4f}")

    checksums = world.allgather(zlib.crc32(weights.tobytes()))
    if rank == 0:
        agree = "same on all ranks" if len(set(checksums)) == 1 else f"DIFFERENT: {checksums}"
        print(f"weights {checksums[0]:08x} ({agree}), norm {np.linalg.norm(weights.astype(np.float64)):.6f}")
    return 0 if len(set(checksums)) == 1 else 1


if __name__ == "__main__":
    raise SystemExit(main())
