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
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "guests"))
from guest_programs import LIMIT_S, PORT, Perftest, figure, show, status_of  # noqa: E402  (of this folder)
from rig import Exchange, Rig  # noqa: E402  (the line above makes it importable)

SECONDS = 3  # of each run over TCP


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


def measure(rig, repetitions):
    rig.up(2)
    for other in OTHERS:
        for vm in (1, 2) if other.makes else ():
            rig.shell(vm, other.makes)
    exchange = Exchange(rig)
    for name, unit, method, more_is_better, targets in QUESTIONS:
        rounds = [[getattr(side, method)(exchange) for side in (OURS, *OTHERS)] for _ in range(repetitions)]
        for place, (other, target) in enumerate(zip(OTHERS, targets), 1):
            yield figure(name, unit, more_is_better, target, other.name, [(row[0], row[place]) for row in rounds])


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
    show(figures)
    if options.json:
        options.json.write_text(json.dumps({"repetitions": options.repetitions, "figures": figures}, indent=2) + "\n")
    return status_of(figures)


if __name__ == "__main__":
    sys.exit(main())
