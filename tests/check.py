#!/usr/bin/env python3
"""Runs every stage of scripts/check, shows progress, and closes with one line.

A stage is a function that runs tests and returns a Tally. Its output goes to
build/check/<stage>.log; what failed is shown again at the end.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree

ROOT = pathlib.Path(__file__).resolve().parent.parent
LOGS = ROOT / "build" / "check"
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache")) / "paravane"


class Tally:
    """What a stage found: the names of what passed, failed and was skipped."""

    def __init__(self):
        self.passed, self.failed, self.skipped = [], [], []

    def add(self, name, ok):
        (self.passed if ok else self.failed).append(name)

    def merge(self, other):
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped


class Stage:
    """One stage's log file and the commands it runs."""

    def __init__(self, name, options):
        self.name, self.options = name, options
        self.log = (LOGS / f"{name}.log").open("w")
        self.tally = Tally()

    def say(self, text):
        print(f"    {text}", flush=True)

    def run(self, *command, env=None, timeout=1800):
        """Runs a command into the log; returns whether it succeeded."""
        words = [str(word) for word in command]
        self.log.write("$ " + " ".join(words) + "\n")
        self.log.flush()
        try:
            done = subprocess.run(words, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=self.log,
                                  stderr=subprocess.STDOUT, timeout=timeout, check=False,
                                  env={**os.environ, **(env or {})})
            return done.returncode == 0
        except subprocess.TimeoutExpired:
            self.log.write(f"\ntimed out after {timeout} s\n")
            return False

    def follow(self, prefix, *command, env=None):
        """The same, and shows the lines that begin with `prefix` as progress."""
        process = subprocess.Popen([str(word) for word in command], cwd=ROOT, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                   env={**os.environ, **(env or {})})
        for line in process.stdout:
            self.log.write(line)
            if line.startswith(prefix):
                self.say(line.removeprefix(prefix).rstrip())
        return process.wait() == 0

    def check(self, name, *command, **more):
        """The same, counted as one test."""
        ok = self.run(*command, **more)
        self.tally.add(f"{self.name}: {name}", ok)
        return ok

    def check_two_at_a_time(self, commands):
        """Pairs of a name and a command, each counted as one test."""
        def run(pair):
            name, command = pair
            words = [str(word) for word in command]
            done = subprocess.run(["timeout", "1800", *words], cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True, errors="replace", check=False)
            return name, words, done
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            for name, words, done in pool.map(run, commands):
                self.log.write("$ " + " ".join(words) + "\n" + done.stdout)
                self.tally.add(f"{self.name}: {name}", done.returncode == 0)

    def build(self, preset, *targets):
        """Configures and builds a preset; a failure counts as a failed test."""
        self.say(f"building {preset}")
        ok = self.run("cmake", "--preset", preset, "-DCMAKE_CXX_COMPILER_LAUNCHER=ccache")
        ok = ok and self.run("cmake", "--build", "--preset", preset, *(["--target", *targets] if targets else []))
        self.tally.add(f"{self.name}: builds without a warning ({preset})", ok)
        return ok

    def ctest(self, preset, *more, env=None):
        """Runs the unit tests of a build and counts each."""
        self.say(f"running tests of {preset}")
        report = LOGS / f"{self.name}.xml"
        report.unlink(missing_ok=True)
        self.run("ctest", "--test-dir", f"build/{preset}", "-j2", "--output-on-failure", "--timeout", "120",
                 "--output-junit", report, *more, env=env)
        if not report.exists():
            self.tally.add(f"{self.name}: ctest ran", False)
            return
        for case in ElementTree.parse(report).getroot().iter("testcase"):
            name, state = f"{self.name}: {case.get('name')}", case.get("status")
            if state == "run":
                self.tally.passed.append(name)
            elif state in ("notrun", "disabled"):
                self.tally.skipped.append(f"{name} (not run)")
            else:
                self.tally.failed.append(name)


def house(stage):
    """Floors, format, shell scripts, man pages."""
    sources = [str(p.relative_to(ROOT)) for d in ("src", "tests", "bench", "fuzz") for p in sorted((ROOT / d).rglob("*"))
               if p.suffix in (".h", ".cc", ".c")]
    scripts = [name for name in subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True,
                                               check=True).stdout.split()
               if (ROOT / name).is_file() and re.match(rb"#!.*\b(bash|sh|dash)\b", (ROOT / name).read_bytes()[:40])]
    stage.check("floors", "tools/check_floors.py")
    stage.check("format", "clang-format-19", "--dry-run", "--Werror", *sources)
    stage.check("shell scripts", "shellcheck", *scripts)
    for page in sorted((ROOT / "packaging" / "man").glob("*.[158]")):
        stage.check(f"manual page {page.name}", "mandoc", "-T", "lint", "-W", "warning", page)
    stage.check("words", "tools/check_words.py")


def release(stage):
    """What is shipped (g++), and the tests of all of it: conformance, CVE, processes."""
    if stage.build("release", "shipped", "paravane_bench"):
        stage.ctest("release", "-L", "suite")


def unit(stage):
    """Unit tests and benchmarks built as what is shipped; by default they run under sanitizers."""
    if stage.build("release"):
        stage.ctest("release", "-LE", "suite|cluster")


def sanitizers(stage):
    """Unit, conformance, CVE and process tests under address and undefined-behaviour sanitizers, clang 19."""
    if stage.build("asan+ubsan"):
        stage.ctest("asan+ubsan", "-LE", "cluster", env={"ASAN_OPTIONS": "detect_leaks=1"})


def threads(stage):
    """What has threads, under the thread sanitizer."""
    # Not tests/cve: its guests race with themselves, which is what it is about.
    rooms = "base", "guestmem", "privsep", "http", "worker", "metrics", "cluster", "keeper", "host", "daemon"
    targets = [f"paravane_{room}_test" for room in rooms] + ["paravane_conformance_test"]
    if stage.build("tsan", *targets, "driver_seeds", "driver_replay"):
        # Hostile drivers, with the seeds and with what the stage `fuzz` has found since.
        programs, seeds = ROOT / "build" / "tsan" / "fuzz", ROOT / "build" / "tsan" / "fuzz" / "seeds"
        stage.check("driver_seeds", programs / "driver_seeds", seeds)
        replay = programs / "driver_replay", "--seconds", 60, seeds, ROOT / "build" / "fuzz" / "corpus" / "driver"
        # Rig time has one thread: an hour of it shows no more than a second. And the
        # sanitizer's own code cannot be single-stepped.
        binaries = {target: next((ROOT / "build" / "tsan").rglob(target), target) for target in targets}
        stage.check_two_at_a_time([("driver_replay", replay)] + [
            (target, (binary, "--gtest_filter=-*ForAnHour*:*PayloadStep*")) for target, binary in binaries.items()])


def cluster(stage):
    """Several hosts in network namespaces, without VMs, with a real etcd."""
    if stage.build("release", "paravaned", "paravane"):
        stage.ctest("release", "-L", "cluster", "--timeout", "600", "-j4")


def tidy(stage):
    """clang-tidy over every source file that changed since it was last clean."""
    stage.check("clang-tidy", "tools/tidy.py", "--build", "build/asan+ubsan", timeout=7200)


def fuzz(stage):
    """A few seconds of each fuzzer, and the lines each must reach."""
    stage.say(f"{stage.options.fuzz_seconds} s of each fuzzer")
    report = LOGS / "fuzz.json"
    report.unlink(missing_ok=True)
    stage.run("fuzz/run", "--seconds", stage.options.fuzz_seconds, "--json", report)
    if not report.exists():
        stage.tally.add("fuzz: ran", False)
        return
    for target in json.loads(report.read_text()):
        stage.say(f"{target['name']}: {target['covered_lines']} lines reached, floor {target['floor']}")
        stage.tally.add(f"fuzz: {target['name']}", target["ok"])


def lab(stage):
    """QEMU, guest kernel and initramfs; the lab's own test."""
    stage.say("preparing QEMU and guests (the first time takes minutes)")
    if stage.check("prepare", "lab/prepare", "--layer", "python", "--layer", "storage", "--layer", "middleware",
                   "--layer", "switch", "--layer", "udev"):
        stage.check("selftest", "lab/selftest", timeout=300)


def qtest(stage):
    """The vfio-user server under a real QEMU with no guest."""
    binary = ROOT / "build" / "release" / "bin" / "paravane_qtest"
    stage.check("QEMU -accel qtest", binary, env={"PARAVANE_QEMU": str(CACHE / "lab" / "qemu" / "qemu-system-x86_64")}, timeout=300)


def guests(stage):
    """Unmodified Linux guests: Debian 12."""
    run_guests(stage, "bookworm")


PART_OF_GUESTS = ("Devices", "Pyverbs", "BetweenTwoGuests.test_C", "InsideOneGuest.test_C", "BetweenTwoGuests.test_every_operation",
                  "InsideOneGuest.test_every_operation", "BetweenTwoHosts.test_every_operation", "BetweenTwoGuests.test_ucmatose")


def prepare_and_run_guests(stage, guest, layers, patterns):
    stage.say("preparing the guest (the first time takes minutes)")
    words = [word for layer in layers for word in ("--layer", layer)]
    if stage.check("prepare", "lab/prepare", *words, env={"LAB_GUEST": guest}):
        run_guests(stage, guest, *patterns)


def guests_trixie(stage):
    """Unmodified Linux guests: Debian 13 with its 6.12 kernel, a part of the tests."""
    prepare_and_run_guests(stage, "trixie", ["python"], PART_OF_GUESTS)


def guests_backports(stage):
    """Unmodified Linux guests: Debian 13 with its backports' kernel, a part of the tests."""
    more = ("ConnectionManager", "EightAdapters", "HardwareVersions", "NvmeOverFabrics", "ScsiRdmaProtocol",
            "Quotas")
    prepare_and_run_guests(stage, "backports", ["python", "storage"], PART_OF_GUESTS + more)


def run_guests(stage, guest, *patterns):
    report = LOGS / f"{stage.name}.json"
    for old in report, LOGS / f"{stage.name}-programs.json":
        old.unlink(missing_ok=True)
    words = [word for pattern in patterns for word in ("-k", pattern)] + ["--all"] * stage.options.all
    stage.follow("guests: ", "python3", "tests/guests/run.py", "--json", report, *words,
                 env={"LAB_GUEST": guest, "PARAVANE_REPORT": str(LOGS / stage.name)})
    count_verdicts(stage, report)


def count_verdicts(stage, report):
    """Counts what a program of tests wrote: a list of names, verdicts and reasons."""
    if not report.exists():
        stage.tally.add(f"{stage.name}: ran", False)
        return
    for case in json.loads(report.read_text()):
        name = f"{stage.name}: {case['name']}"
        if case["verdict"] == "skipped":
            stage.tally.skipped.append(f"{name} ({case['reason']})")
        else:
            stage.tally.add(name, case["verdict"] == "passed")


def coverage(stage):
    """Lines of the guest-facing folders that unit tests, conformance, CVE tests and fuzzers' inputs run."""
    report = LOGS / "coverage.json"
    report.unlink(missing_ok=True)
    stage.say("building coverage and running all of it")
    stage.check("all tests pass, every folder above its floor", "tools/coverage.py", "--json", report)
    if not report.exists():
        return
    for row in json.loads(report.read_text()):
        stage.say(f"{row['folder']}: {row['covered']} of {row['lines']} lines, {100 * row['covered'] / row['lines']:.1f} %")


def chaos(stage):
    """Six guests, random traffic and random mishaps, on one host and on three: 20 s each, with --all ten minutes."""
    seconds = 600 if stage.options.all else 20
    for hosts in 1, 3:
        words = "tests/chaos/run", "--seconds", seconds, "--hosts", hosts
        stage.tally.add(f"chaos: {seconds} s, hosts: {hosts}", stage.follow("chaos: ", *words))


def conformance(stage):
    """docs/conformance.md says what sanitizers, guests and guests_trixie showed."""
    stage.check("docs/conformance.md", "tools/conformance.py", "--compare")


def mutants(stage):
    """Takes every check out of the source, one by one, and sees its tests go red."""
    stage.check("every check is seen missing", "tests/mutants", timeout=7200)


def packages(stage):
    """Debian packages: built, installed, upgraded, removed on Debian 12 and 13; the guest's driver built."""
    report = LOGS / "packages.json"
    report.unlink(missing_ok=True)
    stage.follow("packages: ", "tests/packages/run", "--json", report)
    count_verdicts(stage, report)


STAGES = [house, release, sanitizers, fuzz, threads, cluster, lab, qtest, guests, guests_trixie, chaos, conformance]
LONG = [unit, tidy, coverage, guests_backports, packages]  # with --all, or --only
ON_DEMAND = [mutants]  # --only: hours of building


def options_of_command_line():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", help="comma-separated stages")
    parser.add_argument("--all", action="store_true", help="the long stages too, and a minute of each fuzzer")
    parser.add_argument("--list", action="store_true", help="name the stages and what they do")
    parser.add_argument("--fuzz-seconds", type=int, help="of each fuzzer (5; with --all 60)")
    options = parser.parse_args()
    options.fuzz_seconds = options.fuzz_seconds or (60 if options.all else 5)
    by_name = {stage.__name__: stage for stage in STAGES + LONG + ON_DEMAND}
    usual = STAGES + (LONG if options.all else [])
    wanted = options.only.split(",") if options.only else [stage.__name__ for stage in usual]
    if unknown := set(wanted) - set(by_name):
        parser.error(f"no such stage: {', '.join(sorted(unknown))}; see --list")
    options.stages = [stage for name, stage in by_name.items() if name in wanted]
    return options


def run_stage(function, options):
    """Runs one stage with its progress; returns what it found."""
    stage = Stage(function.__name__, options)
    function(stage)
    stage.log.close()
    if stage.tally.failed:
        print(f"    see {stage.log.name}; its end:")
        for line in pathlib.Path(stage.log.name).read_text(errors="replace").splitlines()[-25:]:
            print(f"    | {line[:200]}")
    return stage.tally


def main():
    options = options_of_command_line()
    if options.list:
        for when, stages in ("", STAGES), (" (with --all)", LONG), (" (with --only)", ON_DEMAND):
            for stage in stages:
                print(f"{stage.__name__:16} {stage.__doc__}{when}")
        return 0
    LOGS.mkdir(parents=True, exist_ok=True)
    total, rows, start = Tally(), [], time.monotonic()
    for number, function in enumerate(options.stages, 1):
        began = time.monotonic()
        print(f"[{number}/{len(options.stages)}] {function.__name__}: {function.__doc__}", flush=True)
        found = run_stage(function, options)
        counts = [len(found.passed), len(found.failed), len(found.skipped)]
        rows.append([function.__name__, *counts, round(time.monotonic() - began)])
        print(f"    {counts[0]} passed, {counts[1]} failed in {rows[-1][-1]} s", flush=True)
        total.merge(found)
    for name in total.skipped:
        print(f"skipped {name}")
    for name in total.failed:
        print(f"FAILED {name}")
    for row in [["stage", "passed", "failed", "skipped", "seconds"], *rows]:
        print(f"{row[0]:18}" + "".join(f"{cell:>9}" for cell in row[1:]))
    print(f"all stages took {(time.monotonic() - start) / 60:.1f} minutes")
    print(f"{len(total.passed)} passed, {len(total.failed)} failed, {len(total.skipped)} skipped")
    return 1 if total.failed else 0


if __name__ == "__main__":
    sys.exit(main())
