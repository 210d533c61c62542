#!/usr/bin/env python3
"""Runs every stage of scripts/check, shows progress, and closes with one line.

A stage is a function of checks/stages.py that runs tests and counts them; its output goes
to build/check/<stage>.log, and the end of it is shown when something failed. There are two
lanes of stages: one that computes, and then one that mostly waits for guests and hosts.
"""
import argparse
import json
import multiprocessing
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from checks import stages  # noqa: E402  (the line above makes it importable)
from checks.stage import LOGS, Tally, run_stage  # noqa: E402

COMPUTING = [stages.house, stages.release, stages.sanitizers, stages.fuzz, stages.threads]
WAITING = [stages.lab, stages.qtest, stages.cluster, stages.guests, stages.guests_trixie, stages.chaos]
AFTER_BOTH = [stages.conformance]
USUAL = COMPUTING + WAITING + AFTER_BOTH
# With --all, or --only.
LONG_COMPUTING = [stages.unit, stages.tidy, stages.coverage]
LONG_WAITING = [stages.guests_backports, stages.packages]
ON_DEMAND = [stages.mutants]  # --only: the better part of an hour


def options_of_command_line():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", help="comma-separated stages")
    parser.add_argument("-k", action="append", default=[], metavar="PATTERN",
                        help="run only tests whose name contains PATTERN (repeatable)")
    parser.add_argument("--all", action="store_true", help="run the long stages too, and a minute of each fuzzer")
    parser.add_argument("--list", action="store_true", help="name the stages and what they do")
    parser.add_argument("--fuzz-seconds", type=int, help="run each fuzzer for so long (default: 5; with --all: 60)")
    options = parser.parse_args()
    options.fuzz_seconds = options.fuzz_seconds or (60 if options.all else 5)
    by_name = {stage.__name__: stage for stage in USUAL + LONG_COMPUTING + LONG_WAITING + ON_DEMAND}
    usual = USUAL + (LONG_COMPUTING + LONG_WAITING if options.all else [])
    wanted = options.only.split(",") if options.only else [stage.__name__ for stage in usual]
    if unknown := set(wanted) - set(by_name):
        parser.error(f"no such stage: {', '.join(sorted(unknown))}; see --list")
    options.stages = [stage for name, stage in by_name.items() if name in wanted]
    return options


class Run:
    """The stages of one run, in their lanes."""

    def __init__(self, options):
        self.options = options
        self.tallies = {}

    def run_lane(self, lane):
        for stage in lane:
            if stage in self.options.stages:
                self.tallies[stage] = self.run_one(stage)

    def run_one(self, stage):
        """In a process of its own, so that its processor time is known."""
        print(f"[{len(self.tallies) + 1}/{len(self.options.stages)}] {stage.__name__}: {stage.__doc__}", flush=True)
        ours, theirs = multiprocessing.Pipe()
        process = multiprocessing.get_context("fork").Process(
            target=lambda: theirs.send(run_stage(stage, self.options)))
        process.start()
        theirs.close()
        try:
            tally = ours.recv()
        except EOFError:
            tally = Tally()
            tally.add(f"{stage.__name__}: ended by itself", False)
        process.join()
        print(f"    {stage.__name__}: {len(tally.passed)} passed, {len(tally.failed)} failed in {tally.seconds:.0f} s", flush=True)
        if tally.failed:
            show_end(stage)
        return tally

    def run(self):
        self.run_lane(COMPUTING + LONG_COMPUTING + ON_DEMAND)
        self.run_lane(WAITING + LONG_WAITING)
        self.run_lane(AFTER_BOTH)


def show_end(stage):
    log = LOGS / f"{stage.__name__}.log"
    if not log.exists():
        return
    print(f"    see {log}; its end:")
    for line in log.read_text(errors="replace").splitlines()[-25:]:
        print(f"    | {line[:200]}")


def show_table(run, seconds):
    print(f"{'stage':18}{'passed':>9}{'failed':>9}{'skipped':>9}{'seconds':>9}{'cpu: builds':>13}{'tests':>8}")
    rows = []
    for stage in run.options.stages:
        tally = run.tallies[stage]
        row = [len(tally.passed), len(tally.failed), len(tally.skipped), round(tally.seconds), round(tally.building),
               round(tally.processor - tally.building)]
        print(f"{stage.__name__:18}" + "".join(f"{cell:>9}" for cell in row[:4]) + f"{row[4]:>13}{row[5]:>8}")
        rows.append([stage.__name__, *row])
    (LOGS / "table.json").write_text(json.dumps(rows))
    print(f"all stages took {seconds / 60:.1f} minutes")


def main():
    options = options_of_command_line()
    if options.list:
        for when, some in ("", USUAL), (" (with --all)", LONG_COMPUTING + LONG_WAITING), (" (with --only)", ON_DEMAND):
            for stage in some:
                print(f"{stage.__name__:16} {stage.__doc__}{when}")
        return 0
    LOGS.mkdir(parents=True, exist_ok=True)
    start = time.monotonic()
    run = Run(options)
    run.run()
    total = Tally()
    for stage in options.stages:
        total.merge(run.tallies[stage])
    for name in total.skipped:
        print(f"skipped {name}")
    for name in total.failed:
        print(f"FAILED {name}")
    show_table(run, time.monotonic() - start)
    is_missed = options.k and total.tests() == 0
    if is_missed:
        print(f"FAILED no test of these stages has {' or '.join(options.k)} in its name")
    print(f"{len(total.passed)} passed, {len(total.failed)} failed, {len(total.skipped)} skipped")
    return 1 if total.failed or is_missed else 0


if __name__ == "__main__":
    sys.exit(main())
