#!/usr/bin/env python3
"""Runs every stage of scripts/check, shows progress, and closes with one line.

A stage is a function of checks/stages.py that runs tests and counts them; its output goes
to build/check/<stage>.log, and the end of it is shown when something failed. Stages that
compute and stages that wait for guests and hosts run side by side (docs/testing.md).
"""
import argparse
import json
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from checks import stages  # noqa: E402  (the line above makes it importable)
from checks.lanes import Lanes  # noqa: E402
from checks.stage import LOGS, Tally  # noqa: E402

# With --all, or --only.
LONG = [stages.unit, stages.tidy, stages.coverage, stages.guests_backports, stages.packages, stages.releases,
        stages.chaos, stages.speed]
ON_DEMAND = [stages.mutants]  # --only: the better part of an hour

# Side by side. `release` stands in the first lane since it computes: the others need what it builds.
COMPUTING = [stages.house, stages.release, stages.sanitizers, stages.fuzz, stages.threads, stages.unit, stages.tidy,
             stages.coverage, stages.mutants]
HOSTS = [stages.cluster, stages.infiniband]
GUESTS = [stages.lab, stages.qtest, stages.guests, stages.guests_trixie, stages.guests_backports, stages.packages,
          stages.releases]
# When all of these have ended: six guests keep every processor busy, and none of theirs may wait a second; and a page
# about what the others found.
AFTERWARDS = [stages.chaos, stages.speed, stages.conformance]

SHIPPED = [stages.release]
NEEDS = {stages.cluster: SHIPPED, stages.infiniband: SHIPPED, stages.unit: SHIPPED, stages.speed: SHIPPED, stages.qtest: SHIPPED + [stages.lab]}
NEEDS |= {stage: SHIPPED + [stages.lab] for stage in (stages.guests, stages.guests_trixie, stages.guests_backports, stages.releases,
                                                           stages.chaos)}

ALL = COMPUTING + HOSTS + GUESTS + AFTERWARDS
USUAL = [stage for stage in ALL if stage not in LONG + ON_DEMAND]


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
    by_name = {stage.__name__: stage for stage in ALL}
    usual = [stage for stage in ALL if stage in USUAL or (options.all and stage in LONG)]
    wanted = options.only.split(",") if options.only else [stage.__name__ for stage in usual]
    if unknown := set(wanted) - set(by_name):
        parser.error(f"no such stage: {', '.join(sorted(unknown))}; see --list")
    options.stages = [stage for name, stage in by_name.items() if name in wanted]
    return options


class Screen:
    """What is shown of a run. Each line of a stage begins with its name, since others come between."""

    def __init__(self, options):
        self.began, self.begun, self.of = time.monotonic(), {}, len(options.stages)

    def minutes(self):
        return (time.monotonic() - self.began) / 60

    def on_begin(self, stage):
        self.begun[stage] = time.monotonic() - self.began
        print(f"{stage.__name__}: [{len(self.begun)}/{self.of}, minute {self.minutes():.1f}] {stage.__doc__}", flush=True)

    def on_end(self, stage, tally):
        self.begun.setdefault(stage, time.monotonic() - self.began)
        print(f"{stage.__name__}: {len(tally.passed)} passed, {len(tally.failed)} failed in {tally.seconds:.0f} s", flush=True)
        log = LOGS / f"{stage.__name__}.log"
        if tally.failed and tally.seconds and log.exists():
            print(f"{stage.__name__}: see {log}; its end:")
            for line in log.read_text(errors="replace").splitlines()[-25:]:
                print(f"{stage.__name__}: | {line[:200]}", flush=True)

    def show_table(self, options, tallies):
        """And keeps it in table.json: a row of each stage that ended, with the same columns."""
        columns = ["passed", "failed", "skipped", "from", "seconds", "cpu: builds", "cpu: tests"]
        print(f"{'stage':18}" + "".join(f"{column:>12}" for column in columns))
        rows = []
        for stage in options.stages:
            if stage not in tallies:
                continue  # the run was interrupted
            tally = tallies[stage]
            row = [len(tally.passed), len(tally.failed), len(tally.skipped), round(self.begun[stage]), round(tally.seconds),
                   round(tally.building), round(tally.processor - tally.building)]
            print(f"{stage.__name__:18}" + "".join(f"{cell:>12}" for cell in row))
            rows.append(dict(zip(["stage", *columns], [stage.__name__, *row])))
        (LOGS / "table.json").write_text(json.dumps({"minutes": round(self.minutes(), 1), "stages": rows}, indent=1) + "\n")
        print(f"all stages took {self.minutes():.1f} minutes")


def main():
    options = options_of_command_line()
    if options.list:
        for stage in ALL:
            when = " (with --all)" if stage in LONG else " (with --only)" if stage in ON_DEMAND else ""
            print(f"{stage.__name__:16} {stage.__doc__}{when}")
        return 0
    LOGS.mkdir(parents=True, exist_ok=True)
    screen = Screen(options)
    run = Lanes(options, NEEDS, screen.on_begin, screen.on_end)
    run.run([COMPUTING, HOSTS, GUESTS])
    run.run([AFTERWARDS])
    total = Tally()
    for tally in run.tallies.values():
        total.merge(tally)
    for name in total.skipped:
        print(f"skipped {name}")
    screen.show_table(options, run.tallies)
    for name in total.failed:  # last, and with the reason: of a long run often no more than the end is looked at
        print(f"FAILED {name}")
        for line in total.why.get(name, []):
            print(f"       | {line}")
    is_missed = options.k and total.tests() == 0
    if is_missed:
        print(f"FAILED no test of these stages has {' or '.join(options.k)} in its name")
    if run.is_interrupted:
        print("FAILED interrupted")
    print(f"{len(total.passed)} passed, {len(total.failed)} failed, {len(total.skipped)} skipped")
    return 1 if total.failed or is_missed or run.is_interrupted else 0


if __name__ == "__main__":
    sys.exit(main())
