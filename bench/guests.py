#!/usr/bin/env python3
"""vmw_pvrdma beside rdma_rxe, siw and plain TCP: two real guests, one boot, the same NIC.

Runs writes of 64 KiB and of 8 bytes over the paravirtual adapter, over the guest kernel's software RoCE and software
iWARP on its vmxnet3, and the same bytes over TCP, in turns, and prints the ratios. TCP does less: its receiver is
told of each message.

Usage: bench/guests.py [--repetitions N] [--json FILE]
"""
import argparse
import json
import pathlib
import re
import statistics
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "guests"))
from rig import Exchange, Rig  # noqa: E402  (the line above makes it importable)

PORT = 18515
LIMIT_S = 180
WRITES = ["ib_write_bw", "-s", "65536"]
ROUND_TRIPS = ["ib_write_lat", "-s", "8"]
SECONDS = 3  # of each run over TCP


class Perftest:
    """An RDMA device in both guests. `rounds`: of writes, and of round trips."""

    def __init__(self, device, name, rounds, *options, makes=""):
        self.device, self.name, self.rounds, self.options, self.makes = device, name, rounds, options, makes

    def bandwidth(self, exchange):
        return self.run(exchange, WRITES, self.rounds[0], 3)

    def latency(self, exchange):
        return self.run(exchange, ROUND_TRIPS, self.rounds[1], 4)

    def run(self, exchange, words, rounds, column):
        words = [*words, "-d", self.device, *self.options, "-F", "-p", str(PORT), "-n", str(rounds)]
        # With -R the connection manager listens, and ss does not show it.
        listens = {"cm_port": PORT} if "-R" in self.options else {"port": PORT}
        _, text = exchange.run(words, [*words, exchange.address], timeout=LIMIT_S, **listens)
        rows = [line.split() for line in text.splitlines() if line.split()[:1] == [words[2]]]
        if not rows:
            sys.exit(f"bench/guests.py: no result in the output of {' '.join(words)}:\n{text}")
        return float(rows[-1][column])


class Tcp:
    name, makes = "TCP (iperf3, qperf) on the vmxnet3 of the same guests", ""

    def bandwidth(self, exchange):
        _, text = exchange.run(["iperf3", "-s", "-1", "-p", str(PORT)],
                               ["iperf3", "-c", exchange.address, "-p", str(PORT), "-l", "64K", "-t", str(SECONDS), "-J"],
                               port=PORT, timeout=LIMIT_S)
        return json.loads(text)["end"]["sum_received"]["bits_per_second"] / 8e6

    def latency(self, exchange):
        server = exchange.rig.spawn(exchange.server, "qperf", "-lp", str(PORT), timeout=LIMIT_S)
        try:
            exchange.rig.wait_listening(exchange.server, PORT)
            text = exchange.rig.guest(exchange.client, "qperf", "-lp", str(PORT), "-t", str(SECONDS), "-m", "8", exchange.address, "tcp_lat")
        finally:
            server.process.kill()
            server.process.communicate()
        number, unit = re.search(r"latency\s*=\s*([0-9.]+) (us|ms)", text).groups()
        return float(number) * (1000 if unit == "ms" else 1)


OURS = Perftest("vmw_pvrdma0", "vmw_pvrdma", (5000, 5000))
OTHERS = [Perftest("rxe0", "rdma_rxe on the vmxnet3 of the same guests", (400, 1000),
                   makes="modprobe rdma_rxe && rdma link add rxe0 type rxe netdev eth0"),
          Perftest("siw0", "siw (iWARP) on the vmxnet3 of the same guests", (1000, 1000), "-R",
                   makes="modprobe siw && rdma link add siw0 type siw netdev eth0"),
          Tcp()]

# Name, unit, the method above, whether more is better, and what is demanded beside each of OTHERS.
QUESTIONS = [("writes of 64 KiB", "MB/s", "bandwidth", True, [50, None, None]),
             ("write of 8 B, half a round trip", "us", "latency", False, [None, None, None])]


def spread(values):
    return {"median": statistics.median(values), "min": min(values), "max": max(values)}


def figure(name, unit, more_is_better, target, other, pairs):
    """The same shape as paravane_bench's JSON; the ratio says how many times better we are."""
    ratios = [ours / theirs if more_is_better else theirs / ours for ours, theirs in pairs]
    return {"name": f"{name}, beside {other.name.split()[0]}", "unit": unit, "value": spread([ours for ours, _ in pairs]),
            "floor": spread([theirs for _, theirs in pairs]),
            "floor_name": f"{other.name}; the ratio is how many times better vmw_pvrdma is",
            "ratio": spread(ratios), "target": f">= {target} x" if target else "",
            "met": statistics.median(ratios) >= target if target else None}


def measure(rig, repetitions):
    rig.up(2)
    for other in OTHERS:
        for vm in (1, 2) if other.makes else ():
            rig.shell(vm, other.makes)
    exchange = Exchange(rig)
    for name, unit, method, more_is_better, targets in QUESTIONS:
        rounds = [[getattr(side, method)(exchange) for side in (OURS, *OTHERS)] for _ in range(repetitions)]
        for place, (other, target) in enumerate(zip(OTHERS, targets), 1):
            yield figure(name, unit, more_is_better, target, other, [(row[0], row[place]) for row in rounds])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    rig = Rig()
    try:
        figures = list(measure(rig, options.repetitions))
    finally:
        rig.close()
    for f in figures:
        print(f"{f['name']:48} {f['value']['median']:10.2f} {f['unit']:5} {f['floor']['median']:10.2f} {f['unit']:5}"
              f"{f['ratio']['median']:8.1f} times better   {f['target']}")
    if options.json:
        options.json.write_text(json.dumps({"repetitions": options.repetitions, "figures": figures}, indent=2) + "\n")
    return 0 if all(f["met"] is not False for f in figures) else 3


if __name__ == "__main__":
    sys.exit(main())
