#!/usr/bin/env python3
"""A trunk, and VMs of two daemons, beside perftest over the same RDMA adapters: two real guests that play hosts, one boot, Linux's
rdma_rxe on their vmxnet3.

Runs sends of 64 KiB one way and both ways, writes of 1 MiB, and round trips of 8 bytes by perftest, and the same bytes over a trunk of
transport/hca (paravane-trunk-rates), and between two VMs (paravane-vm-rates) whose daemons have a trunk, in turns, and prints the
ratios. A trunk copies at both ends; perftest does not, nor do VMs' messages of 16 KiB and more.

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

# perftest's words, bytes of a message (None: a number of round trips), and its column. It looks without end, or sleeps with -e (not
# for writes), which is faster where a guest has one processor; a trunk's user and a VM sleep.
SENDS = (["ib_send_bw", "-s", "65536"], BYTES, 3)
SENDS_ASLEEP = (["ib_send_bw", "-s", "65536", "-e"], BYTES, 3)
SENDS_BOTH_WAYS = (["ib_send_bw", "-s", "65536", "-b"], BYTES, 3)
SENDS_BOTH_WAYS_ASLEEP = (["ib_send_bw", "-s", "65536", "-b", "-e"], BYTES, 3)
WRITES = (["ib_write_bw", "-s", "1048576"], MIB, 3)
ROUND_TRIPS = (["ib_send_lat", "-s", "8"], None, 5)
ROUND_TRIPS_ASLEEP = (["ib_send_lat", "-s", "8", "-e"], None, 5)
PERFTESTS = [SENDS, SENDS_ASLEEP, SENDS_BOTH_WAYS, SENDS_BOTH_WAYS_ASLEEP, WRITES, ROUND_TRIPS, ROUND_TRIPS_ASLEEP]

TRUNK, VMS = "trunk", "VMs"

# Whose, name, unit, perftest's, what our program calls it, more is better, and the ratio that is demanded.
QUESTIONS = [
    (TRUNK, "64 KiB, one way", "MiB/s", SENDS, "one_way_mib_per_s", True, 1.0),
    (TRUNK, "64 KiB, one way", "MiB/s", SENDS_ASLEEP, "one_way_mib_per_s", True, 1.0),
    (TRUNK, "64 KiB, both ways", "MiB/s", SENDS_BOTH_WAYS, "both_ways_mib_per_s", True, 1.0),
    (TRUNK, "64 KiB, both ways", "MiB/s", SENDS_BOTH_WAYS_ASLEEP, "both_ways_mib_per_s", True, 1.0),
    (TRUNK, "1 MiB, one way", "MiB/s", WRITES, "one_way_mib_per_s", True, 0.8),
    (TRUNK, "8 B, half a round trip, awake", "us", ROUND_TRIPS, "half_round_trip_us", False, 0.5),
    (TRUNK, "8 B, half a round trip, asleep", "us", ROUND_TRIPS_ASLEEP, "half_round_trip_asleep_us", False, 0.5),
    (VMS, "64 KiB, one way", "MiB/s", SENDS, "one_way_mib_per_s", True, 1.0),
    (VMS, "64 KiB, one way", "MiB/s", SENDS_ASLEEP, "one_way_mib_per_s", True, None),
    (VMS, "64 KiB, both ways", "MiB/s", SENDS_BOTH_WAYS, "both_ways_mib_per_s", True, 1.0),
    (VMS, "1 MiB writes", "MiB/s", WRITES, "write_mib_per_s", True, 0.8),
    (VMS, "8 B, half a round trip", "us", ROUND_TRIPS, "half_round_trip_us", False, 0.5),
]


def perftest(rig, words, rounds, column):
    words = [*words, "-d", DEVICE, "-F", "-p", str(PORT), "-n", str(rounds)]
    for tries_left in (2, 1, 0):
        try:
            text = run_perftest(rig, words)
            break
        except Failed:  # with -e it waits for an event that never comes, now and then
            if not tries_left:
                raise
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


def ours(rig, name, *words):
    _, said = counted(rig, name, lambda: rig.exchange(1, 2, name, *words))
    print(f"{name}: {said.strip()}", flush=True)
    return json.loads(said)


def one_round(rig, mib):
    """[(ours, perftest's)] of each question."""
    theirs = {" ".join(words): counted(rig, " ".join(words),
                                       lambda: perftest(rig, words, (mib << 20) // size if size else 1000, column))
              for words, size, column in PERFTESTS}
    said = {TRUNK: ours(rig, "paravane-trunk-rates", DEVICE, str(mib)), VMS: ours(rig, "paravane-vm-rates", str(mib))}
    return [(said[whose][key], theirs[" ".join(words)]) for whose, _, _, (words, _, _), key, _, _ in QUESTIONS]


def measure(rig, repetitions, mib, processors):
    rig.boot("--smp", str(processors))
    rig.make_cluster(encryption="off", channel='seal = "frames"')  # long messages are not copied
    rounds = [one_round(rig, mib) for _ in range(repetitions)]
    for place, (whose, name, unit, (words, _, _), _, more_is_better, target) in enumerate(QUESTIONS):
        other = " ".join(word for word in words if not word.isdigit() and word != "-s")
        yield {**figure(name, unit, more_is_better, target, other, [row[place] for row in rounds]), "name": f"{whose}: {name}, beside {other}",
               "floor_name": f"{other} over the same two adapters; the ratio is how many times better it is"}


def show(figures):
    for one in figures:
        values = [f"{one[key]['median']:8.2f} ({one[key]['min']:.2f} - {one[key]['max']:.2f})" for key in ("value", "floor", "ratio")]
        print(f"{one['name']:58} {one['unit']:5}  ours {values[0]:28} perftest {values[1]:28} ratio {values[2]:24} {one['target']}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--mib", type=int, default=64, help="that each run moves in a direction (%(default)s)")
    parser.add_argument("--processors", type=int, default=1, help="of each guest (%(default)s)")
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    rig = AdapterHosts()
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
