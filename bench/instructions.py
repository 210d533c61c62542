#!/usr/bin/env python3
"""Counts the instructions that the engine executes per operation, and compares them with the bounds.

usage: bench/instructions.py [--only NAME,...] [--program FILE] [--bounds FILE] [--json FILE]

Runs paravane_engine_work under valgrind's callgrind. Its counts do not depend on what else the machine does. Each operation
runs a few times, and then more times; the difference in instructions is divided by the difference in operations, so the
set-up of the guests is not counted. Only instructions within a turn of a device or of the RoCE transport and register writes
count. Ends with 1 if a bound is exceeded.
"""
import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
PROGRAM = HERE.parent / "build" / "release" / "bin" / "paravane_engine_work"
BOUNDS = HERE / "instruction_bounds.json"
COUNTED = ("paravane::device::PvrdmaFunction::poll(*", "paravane::device::PvrdmaFunction::write_bar(*",
           "paravane::transport_roce::RoceTransport::poll(*")
LIMIT_S = 300
# How often an operation runs, first and then.
USUAL = 640, 3200
OTHERS = {"write-64-1024-qps": (1024, 5120), "look-in-vain": (1024, 11264), "create-and-connect": (64, 192), "create-and-end": (64, 576),
          "roce-write-64k": (64, 320), "roce-write-64k-packets": (64, 320), "roce-read-64k": (64, 320)}


def run(program, operation, times, *options):
    """Returns what callgrind counts in `times` operations and their set-up, by the names of its events (Ir, D1mr, ...).

    Arguments and environment lie on the program's stack, so that their length decides where its frames fall in the simulated
    cache. They are the same wherever the program lies and whatever the caller's environment is."""
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, "work").symlink_to(program.resolve())
        done = subprocess.run(["valgrind", "--tool=callgrind", "--callgrind-out-file=out", *options,
                               *[f"--toggle-collect={one}" for one in COUNTED], "./work", operation, str(times)],
                              cwd=folder, env={"PATH": "/usr/bin:/bin"}, capture_output=True, text=True, timeout=LIMIT_S, check=False)
        if done.returncode != 0:
            sys.exit(f"{pathlib.Path(sys.argv[0]).stem}: {operation}: {done.stderr.strip().splitlines()[-1]}")
        text = pathlib.Path(folder, "out").read_text()
    names = re.search(r"^events: (.*)$", text, re.MULTILINE)[1].split()
    counts = re.search(r"^(?:totals|summary): (.*)$", text, re.MULTILINE)[1].split()
    return dict(zip(names, map(int, counts)))


def measure(program, operation, events=("Ir",), options=()):
    """Returns how many of these events one operation takes."""
    few, more = OTHERS.get(operation, USUAL)
    counts = [run(program, operation, times, *options) for times in (few, more)]
    return sum(counts[1].get(event, 0) - counts[0].get(event, 0) for event in events) / (more - few)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", metavar="NAME,...", help="count these operations (default: all)")
    parser.add_argument("--program", type=pathlib.Path, default=PROGRAM, metavar="FILE", help="run this paravane_engine_work (default: the preset release's)")
    parser.add_argument("--bounds", type=pathlib.Path, default=BOUNDS, metavar="FILE", help="compare with this file (default: the one beside this program)")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="write the figures to this file as well")
    options = parser.parse_args()
    bounds = json.loads(options.bounds.read_text())
    known = subprocess.run([options.program], capture_output=True, text=True, check=True).stdout.split()
    wanted = options.only.split(",") if options.only else known
    for name in wanted:
        if name not in known:
            sys.exit(f"instructions: there is no operation {name}; the operations are {', '.join(known)}")
    figures = {}
    print(f"{'instructions per operation':<28}{'counted':>9}{'bound':>9}")
    for name in wanted:
        figures[name] = round(measure(options.program, name))
        exceeds = figures[name] > bounds[name]
        print(f"{name:<28}{figures[name]:>9,}{bounds[name]:>9,}{'  exceeded' if exceeds else ''}", flush=True)
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1) + "\n")
    return any(figures[name] > bounds[name] for name in wanted)


if __name__ == "__main__":
    sys.exit(main())
