#!/usr/bin/env python3
"""vmw_pvrdma to a native endpoint, beside rdma_rxe: two real guests on two hosts that know nothing of each other, one boot, one cable.

Runs writes of 64 KiB and of 64 bytes over the paravirtual adapters, whose packets are RoCE v2 on the cable, and over the guest
kernels' software RoCE on their vmxnet3, in turns, and prints the ratios. All of it, guests too, shares this machine's processors, so
the processor time of everything stands beside the rates.

Usage: bench/native_guests.py [--repetitions N] [--json FILE]
"""
import argparse
import json
import os
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "guests"))
from guest_programs import Perftest, figure, show, status_of  # noqa: E402  (of this folder)
from rig import Exchange  # noqa: E402  (the line above makes it importable)
from strangers_rig import StrangersRig  # noqa: E402

OPTIONS = "-x", "1", "-m", "1024"
OURS = Perftest("vmw_pvrdma0", "vmw_pvrdma", (4000, 20000), *OPTIONS)
THEIRS = Perftest("rxe0", "rdma_rxe on the vmxnet3 of the same guests", (400, 4000), *OPTIONS,
                  makes="modprobe rdma_rxe && rdma link add rxe0 type rxe netdev eth0")
BYTES, PACKETS = 65536, 64  # of a long write

# Name, unit, the method of Perftest, which of its rounds, what is demanded.
QUESTIONS = [("RoCE writes of 64 KiB", "MB/s", "bandwidth", 0, 3), ("RoCE writes of 64 B", "k/s", "message_rate", 1, 5)]


def busy_seconds():
    """Of all processors."""
    with open("/proc/stat", encoding="ascii") as file:
        user, nice, system, _, _, irq, softirq, *_ = map(int, file.readline().split()[1:])
    return (user + nice + system + irq + softirq) / os.sysconf("SC_CLK_TCK")


class Side:
    """One of the two, and what it cost."""

    def __init__(self, program, state):
        self.program, self.state, self.seconds, self.count = program, state, {}, {}

    def measure(self, rig, exchange, method, rounds):
        rig.set_roce(self.state)
        before = busy_seconds()
        value = getattr(self.program, method)(exchange)
        self.seconds[method] = self.seconds.get(method, 0) + busy_seconds() - before
        self.count[method] = self.count.get(method, 0) + rounds
        return value

    def cost(self, method):
        seconds, count = self.seconds[method], self.count[method]
        if method == "bandwidth":
            return f"{seconds / (count * BYTES / 2**30):.1f} processor seconds per GiB, {count * PACKETS / seconds:,.0f} packets per processor second"
        return f"{count / seconds:,.0f} packets per processor second"


def measure(rig, repetitions):
    rig.up()
    rig.set_roce("off")
    for vm in 1, 2:
        rig.shell(vm, THEIRS.makes)
    exchange, sides = Exchange(rig), (Side(OURS, "native"), Side(THEIRS, "off"))
    for name, unit, method, which, target in QUESTIONS:
        pairs = [[side.measure(rig, exchange, method, side.program.rounds[which]) for side in sides] for _ in range(repetitions)]
        for side in sides:
            print(f"{name}, {side.program.name}: {side.cost(method)}")
        yield figure(name, unit, True, target, THEIRS.name, pairs)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    rig = StrangersRig()
    try:
        figures = list(measure(rig, options.repetitions))
    finally:
        rig.close()
    show(figures)
    if options.json:
        options.json.write_text(json.dumps({"repetitions": options.repetitions, "figures": figures}, indent=2) + "\n")
    return status_of(figures)


if __name__ == "__main__":
    sys.exit(main())
