#!/usr/bin/env python3
"""A LUN that is served by NBD, beside `nbdkit memory`: what SRP costs.

The LUN (paravane_srp_lun) is memory behind an SRP target in a VM that the program plays; NBD server, storage device, SRP session and
RDMA engine are the daemon's, on one thread, and the target's part is done by that thread, too. The floor is Debian's nbdkit with its
plugin `memory`, as it comes. The client is fio by its engine `nbd`, for both the same, over a Unix socket of each. Both disks are
written in full first, and what fio reads back is compared. Then they are measured in turns, pair by pair.

Usage: bench/srp.py [--repetitions N] [--seconds S] [--json FILE]
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

from floor_figures import AT_LEAST, figure, show, status_of  # of this folder

ROOT = pathlib.Path(__file__).resolve().parent.parent
BIN = pathlib.Path(os.environ.get("PARAVANE_BIN", ROOT / "build" / "release" / "bin"))
DISK_MIB = 256
DEPTH = 8
PATIENCE_S = 60
NBDKIT = "nbdkit memory, by the same fio over a Unix socket"

# Name, unit, fio's words, what is demanded of the ratio.
QUESTIONS = [
    (f"LUN by NBD, 64 KiB reads, depth {DEPTH}", "MB/s", ("--rw=read", "--bs=64k"), 0.6),
    (f"LUN by NBD, 4 KiB random reads, depth {DEPTH}", "k/s", ("--rw=randread", "--bs=4k"), 0.5),
    (f"LUN by NBD, 64 KiB writes, depth {DEPTH}", "MB/s", ("--rw=write", "--bs=64k"), None),
]


class Disk:
    """A program that serves a disk at a socket, until the block ends. It prints the socket, if it is not told it."""

    def __init__(self, name, *words, socket=None):
        self.name = name
        self.process = subprocess.Popen([str(word) for word in words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        self.socket = socket or pathlib.Path(self.process.stdout.readline().strip())

    def __enter__(self):
        end = time.monotonic() + PATIENCE_S
        while not self.socket.is_socket():
            if self.process.poll() is not None or time.monotonic() > end:
                self.process.kill()
                sys.exit(f"srp: {self.name} does not listen")
            time.sleep(0.05)
        return self

    def __exit__(self, *_):
        if self.process.poll() is not None:
            sys.exit(f"srp: {self.name} has ended with {self.process.returncode}")
        self.process.terminate()
        if self.process.wait(PATIENCE_S) != 0:
            sys.exit(f"srp: {self.name} ended with {self.process.returncode}")

    def fio(self, *words):
        """What its job says; no request of it has failed."""
        done = subprocess.run(["fio", f"--name={self.name}", "--ioengine=nbd", f"--uri=nbd+unix:///?socket={self.socket}",
                               f"--size={DISK_MIB}m", f"--iodepth={DEPTH}", "--thread", "--randrepeat=0", *words, "--output-format=json"],
                              capture_output=True, text=True, timeout=PATIENCE_S + 60, check=False)
        begin = done.stdout.find("{")
        job = json.loads(done.stdout[begin:])["jobs"][0] if begin >= 0 else {"error": "no output"}
        if done.returncode != 0 or job["error"] != 0:
            sys.exit(f"srp: fio at {self.name}: {job['error']}\n{done.stdout[:max(begin, 0)]}{done.stderr}")
        return job

    def write_and_compare(self):
        for words in ("--rw=write", "--bs=64k"), ("--rw=randwrite", "--bsrange=4k-1m", "--blockalign=4k"):
            job = self.fio(*words, "--verify=crc32c", "--verify_fatal=1", "--do_verify=1", "--verify_state_save=0")
            if not job["read"]["total_ios"]:
                sys.exit(f"srp: fio has read nothing back from {self.name}")

    def rate(self, unit, words, seconds):
        job = self.fio(*words, "--time_based", f"--runtime={seconds}", "--ramp_time=0.5")
        one = job["write" if "--rw=write" in words else "read"]
        return one["bw_bytes"] / 1e6 if unit == "MB/s" else one["iops"] / 1000


def measure(plain, ours, repetitions, seconds):
    for name, unit, words, limit in QUESTIONS:
        print(f"srp: {name}", file=sys.stderr)
        # The first pair warms up.
        pairs = [(plain.rate(unit, words, seconds), ours.rate(unit, words, seconds)) for _ in range(repetitions + 1)][1:]
        floor, values = zip(*pairs)
        yield figure(name, unit, values, AT_LEAST if limit else "", limit, floor, NBDKIT)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=5, help="pairs of nbdkit and LUN (%(default)s)")
    parser.add_argument("--seconds", type=int, default=3, help="of each run of fio (%(default)s)")
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="srp-") as name:
        folder = pathlib.Path(name)
        socket = folder / "nbdkit"
        with Disk("nbdkit", "nbdkit", "--foreground", "--unix", socket, "memory", f"size={DISK_MIB}M", socket=socket) as plain, \
                Disk("lun", BIN / "paravane_srp_lun", folder, DISK_MIB) as ours:
            for disk in plain, ours:
                disk.write_and_compare()
            figures = list(measure(plain, ours, options.repetitions, options.seconds))
    show(figures)
    if options.json:
        options.json.write_text(json.dumps({"repetitions": options.repetitions, "figures": figures}, indent=2) + "\n")
    return status_of(figures)


if __name__ == "__main__":
    sys.exit(main())
