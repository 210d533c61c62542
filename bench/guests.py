#!/usr/bin/env python3
"""vmw_pvrdma beside rdma_rxe: two real guests, one boot, the same NIC.

Runs ib_write_bw (64 KiB) and ib_write_lat over the paravirtual adapter and over
the guest kernel's software RoCE on its vmxnet3, in turns, and prints the ratio.

Usage: bench/guests.py [--repetitions N] [--json FILE]
"""
import argparse
import json
import pathlib
import statistics
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "guests"))
from rig import Exchange, Rig  # noqa: E402  (the line above makes it importable)

PORT = 18515
OURS, THEIRS = "vmw_pvrdma0", "rxe0"


class Run:
    """One perftest program: its options, and which column of its table counts."""

    def __init__(self, name, unit, words, column, rounds, better, target=None):
        self.name, self.unit, self.words, self.column = name, unit, words, column
        self.rounds, self.better, self.target = rounds, better, target

    def measure(self, exchange, device):
        words = [*self.words, "-d", device, "-F", "-p", str(PORT), "-n", str(self.rounds[device])]
        _, text = exchange.run(words, [*words, exchange.address], port=PORT, timeout=180)
        rows = [line.split() for line in text.splitlines() if line.split()[:1] == [self.words[-1]]]
        if not rows:
            sys.exit(f"bench/guests.py: no result in the output of {' '.join(words)}:\n{text}")
        return float(rows[-1][self.column])


RUNS = [
    Run("ib_write_bw 64 KiB", "MB/s", ["ib_write_bw", "-s", "65536"], 3, {OURS: 5000, THEIRS: 400}, "more", 50),
    Run("ib_write_lat 8 B, typical", "us", ["ib_write_lat", "-s", "8"], 4, {OURS: 5000, THEIRS: 1000}, "less"),
]


def spread(values):
    return {"median": statistics.median(values), "min": min(values), "max": max(values)}


def figure(run, ours, theirs):
    """The same shape as paravane_bench's JSON; the ratio says how many times better we are."""
    ratios = [(o / t if run.better == "more" else t / o) for o, t in zip(ours, theirs)]
    middle = statistics.median(ratios)
    return {"name": run.name, "unit": run.unit, "value": spread(ours), "floor": spread(theirs),
            "floor_name": "rdma_rxe on the vmxnet3 of the same guests; the ratio is how many times better vmw_pvrdma is",
            "ratio": spread(ratios), "target": f">= {run.target} x" if run.target else "",
            "met": middle >= run.target if run.target else None}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    rig = Rig()
    try:
        rig.up(2)
        for vm in (1, 2):
            rig.shell(vm, f"modprobe rdma_rxe && rdma link add {THEIRS} type rxe netdev eth0")
        exchange = Exchange(rig)
        figures = []
        for run in RUNS:
            pairs = [(run.measure(exchange, OURS), run.measure(exchange, THEIRS)) for _ in range(options.repetitions)]
            figures.append(figure(run, *map(list, zip(*pairs))))
    finally:
        rig.close()
    for f in figures:
        print(f"{f['name']:28} {OURS} {f['value']['median']:10.2f} {f['unit']}   {THEIRS} {f['floor']['median']:10.2f} {f['unit']}"
              f"   {f['ratio']['median']:.0f} times better   {f['target']}")
    if options.json:
        options.json.write_text(json.dumps({"repetitions": options.repetitions, "figures": figures}, indent=2) + "\n")
    return 0 if all(f["met"] is not False for f in figures) else 3


if __name__ == "__main__":
    sys.exit(main())
