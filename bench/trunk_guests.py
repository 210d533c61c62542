#!/usr/bin/env python3
"""A trunk beside perftest over the same RDMA adapters: two real guests that play hosts, one boot, Linux's rdma_rxe on their vmxnet3.

Runs sends of 64 KiB one way and both ways, writes of 1 MiB, and round trips of 8 bytes by perftest, and the same bytes over a trunk of
transport/hca (paravane-trunk-rates), in turns, and prints the ratios. A trunk copies at both ends, and perftest does not.

Usage: bench/trunk_guests.py [--repetitions N] [--mib MIB] [--processors N] [--json FILE]
"""
import argparse
import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "guests"))
from adapter_hosts import DEVICE, AdapterHosts  # noqa: E402  (the line above makes it importable)
from guest_programs import PORT, figure, status_of  # noqa: E402  (of this folder)
from guests import Failed  # noqa: E402

LIMIT_S = 60
BYTES = 65536
MIB = 1 << 20

# Name, unit, perftest's words, bytes of a message (None: a number of round trips), its column, what the trunk's program calls it, more
# is better, and the ratio that is demanded. perftest looks without end, or sleeps with -e (not for writes), which is faster where a guest has one
# processor; a trunk's user sleeps.
QUESTIONS = [
    ("64 KiB, one way", "MiB/s", ["ib_send_bw", "-s", "65536"], BYTES, 3, "one_way_mib_per_s", True, 1.0),
    ("64 KiB, one way", "MiB/s", ["ib_send_bw", "-s", "65536", "-e"], BYTES, 3, "one_way_mib_per_s", True, 1.0),
    ("64 KiB, both ways", "MiB/s", ["ib_send_bw", "-s", "65536", "-b"], BYTES, 3, "both_ways_mib_per_s", True, 1.0),
    ("64 KiB, both ways", "MiB/s", ["ib_send_bw", "-s", "65536", "-b", "-e"], BYTES, 3, "both_ways_mib_per_s", True, 1.0),
    ("1 MiB, one way", "MiB/s", ["ib_write_bw", "-s", "1048576"], MIB, 3, "one_way_mib_per_s", True, 0.8),
    ("8 B, half a round trip, awake", "us", ["ib_send_lat", "-s", "8"], None, 5, "half_round_trip_us", False, 0.5),
    ("8 B, half a round trip, asleep", "us", ["ib_send_lat", "-s", "8", "-e"], None, 5, "half_round_trip_asleep_us", False, 0.5),
]


def perftest(rig, words, rounds, column):
    words = [*words, "-d", DEVICE, "-F", "-p", str(PORT), "-n", str(rounds)]
    try:
        text = run_perftest(rig, words)
    except Failed:  # with -e it has waited once for an event that never came
        text = run_perftest(rig, words)
    rows = [line.split() for line in text.splitlines() if line.split()[:1] == [words[2]]]
    if not rows:
        sys.exit(f"{sys.argv[0]}: no result in the output of {' '.join(words)}:\n{text}")
    return float(rows[-1][column])


def run_perftest(rig, words):
    server = rig.spawn(1, *words, timeout=LIMIT_S)
    try:
        rig.wait_listening(1, PORT)
        text = rig.guest(2, *words, rig.address_of(1), timeout=LIMIT_S)
        server.finish(LIMIT_S)
        return text
    finally:
        server.end()


COUNTERS = "rcvd_pkts", "duplicate_request", "out_of_seq_request"


def counters(rig):
    """Of the two adapters. With a path MTU of 1 KiB a message of 64 KiB is 64 packets; others answer."""
    folder = f"/sys/class/infiniband/{DEVICE}/ports/1/hw_counters"
    return [[int(rig.guest(host, "cat", f"{folder}/{name}")) for name in COUNTERS] for host in rig.numbers]


def counted(rig, what, run):
    """What it returns; prints what the adapters have counted meanwhile."""
    before = counters(rig)
    result = run()
    for host, now, then in zip(rig.numbers, counters(rig), before):
        print(f"{what}: h{host}: " + ", ".join(f"{name} {one - other}" for name, one, other in zip(COUNTERS, now, then)), flush=True)
    return result


def one_round(rig, mib):
    """[(the trunk's, perftest's)] of each question."""
    theirs = [counted(rig, " ".join(words), lambda: perftest(rig, words, (mib << 20) // size if size else 1000, column))
              for _, _, words, size, column, *_ in QUESTIONS]
    _, said = counted(rig, "trunk", lambda: rig.exchange(1, 2, "paravane-trunk-rates", DEVICE, str(mib)))
    print(f"trunk: {said.strip()}", flush=True)
    ours = json.loads(said)
    return [(ours[key], other) for (*_, key, _, _), other in zip(QUESTIONS, theirs)]


def measure(rig, repetitions, mib, processors):
    rig.boot("--smp", str(processors))
    rounds = [one_round(rig, mib) for _ in range(repetitions)]
    for place, (name, unit, words, _, _, _, more_is_better, target) in enumerate(QUESTIONS):
        other = " ".join(word for word in words if not word.isdigit() and word != "-s")
        yield {**figure(name, unit, more_is_better, target, other, [row[place] for row in rounds]), "name": f"{name}, beside {other}",
               "floor_name": f"{other} over the same two adapters; the ratio is how many times better the trunk is"}


def show(figures):
    for one in figures:
        values = [f"{one[key]['median']:8.2f} ({one[key]['min']:.2f} - {one[key]['max']:.2f})" for key in ("value", "floor", "ratio")]
        print(f"{one['name']:52} {one['unit']:5}  trunk {values[0]:28} perftest {values[1]:28} ratio {values[2]:24} {one['target']}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--mib", type=int, default=64, help="that each run moves in a direction (%(default)s)")
    parser.add_argument("--processors", type=int, default=1, help="of each guest (%(default)s)")
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    rig = AdapterHosts(nic="eth1")
    try:
        figures = list(measure(rig, options.repetitions, options.mib, options.processors))
    finally:
        rig.close()
    show(figures)
    if options.json:
        options.json.write_text(json.dumps({"repetitions": options.repetitions, "figures": figures}, indent=2) + "\n")
    return status_of(figures)


if __name__ == "__main__":
    sys.exit(main())
