#!/usr/bin/env python3
"""Counts the cache lines of one queue pair that a request touches, and compares them with the bounds.

usage: bench/cache_lines.py [--only NAME,...] [--program FILE] [--bounds FILE] [--json FILE]

Runs paravane_engine_work under valgrind's callgrind with a simulated cache of 32 KiB. While 1,024 queue pairs of a guest make
one request each, in turn, what all of them use stays in that cache, and what belongs to one queue pair and its peer has been
displaced by the time of its next request: the misses of a request are the lines that are its own. Of them the guest's are
known: GUEST_LINES. A line counts once for a request. Ends with 1 if a bound is exceeded.
"""
import argparse
import json
import pathlib
import sys

import instructions

BOUNDS = instructions.HERE / "line_bounds.json"
CACHE = ("--cache-sim=yes", "--D1=32768,8,64", "--I1=32768,8,64", "--LL=8388608,16,64")
MISSES = ("D1mr", "D1mw")
# A write: two lines of its work queue element, its completion, and, of one in 1,024 queue pairs, the line of its indices.
GUEST_LINES = {"write-64-batch": 3, "write-64-1024-qps": 4}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", metavar="NAME,...", help="count these operations (default: all)")
    parser.add_argument("--program", type=pathlib.Path, default=instructions.PROGRAM, metavar="FILE",
                        help="run this paravane_engine_work (default: the preset release's)")
    parser.add_argument("--bounds", type=pathlib.Path, default=BOUNDS, metavar="FILE", help="compare with this file (default: the one beside this program)")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="write the figures to this file as well")
    options = parser.parse_args()
    bounds = json.loads(options.bounds.read_text())
    wanted = options.only.split(",") if options.only else list(GUEST_LINES)
    for name in wanted:
        if name not in GUEST_LINES:
            sys.exit(f"cache_lines: there is no operation {name}; the operations are {', '.join(GUEST_LINES)}")
    figures = {}
    print(f"{'lines per request':<28}{'counted':>9}{'guest':>9}{'ours':>9}{'bound':>9}")
    for name in wanted:
        counted = instructions.measure(options.program, name, MISSES, CACHE)
        figures[name] = round(counted - GUEST_LINES[name], 1)
        exceeds = figures[name] > bounds[name]
        print(f"{name:<28}{counted:>9.1f}{GUEST_LINES[name]:>9}{figures[name]:>9.1f}{bounds[name]:>9}{'  exceeded' if exceeds else ''}", flush=True)
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1) + "\n")
    return any(figures[name] > bounds[name] for name in wanted)


if __name__ == "__main__":
    sys.exit(main())
