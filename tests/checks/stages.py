"""The stages of scripts/check: each runs tests and counts them. Its first line says what it is for;
docs/testing.md says what each proves that no other does."""
import json
import os
import re
import subprocess

from checks.stage import CACHE, LOGS, ROOT, giving_way


def house(stage):
    """Floors, limits of logs, format, shell scripts, man pages, words, blocks and links of pages, and the check's own tests."""
    sources = [str(p.relative_to(ROOT)) for d in ("src", "tests", "bench", "fuzz") for p in sorted((ROOT / d).rglob("*"))
               if p.suffix in (".h", ".cc", ".c")]
    scripts = [name for name in subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True,
                                               check=True).stdout.split()
               if (ROOT / name).is_file() and re.match(rb"#!.*\b(bash|sh|dash)\b", (ROOT / name).read_bytes()[:40])]
    stage.check("floors", "tools/check_floors.py")
    stage.check("logs", "tools/check_logs.py")
    stage.check("format", "clang-format-19", "--dry-run", "--Werror", *sources)
    stage.check("shell scripts", "shellcheck", *scripts)
    for page in sorted((ROOT / "packaging" / "man").glob("*.[158]")):
        stage.check(f"manual page {page.name}", "mandoc", "-T", "lint", "-W", "warning", page)
    stage.check("words", "tools/check_words.py")
    stage.check("causes", "tools/check_causes.py")
    stage.check("blocks of pages", "tools/check_blocks.py")
    stage.check("the check itself, and the pages' links", "python3", "-m", "unittest", "discover", "-s", "tests/checks", "-t", "tests",
                env={"PYTHONDONTWRITEBYTECODE": "1"})


def release(stage):
    """What is shipped (g++), and the tests that only it can be asked."""
    if stage.build("release", "shipped", "paravane_bench", "paravane_engine_work", is_waited_for=True):
        stage.ctest("release", "-L", "suite")


def unit(stage):
    """Unit tests and benchmarks built as what is shipped; by default they run under sanitizers."""
    if stage.build("release"):
        stage.unit_tests("release", "-LE", "suite|cluster|infiniband")


def sanitizers(stage):
    """Unit, conformance and CVE tests, and process tests with --all, under address and undefined-behaviour sanitizers, clang 19."""
    if stage.build("asan+ubsan"):
        others = "cluster|infiniband" if stage.options.all or stage.options.k else "cluster|infiniband|process"
        stage.unit_tests("asan+ubsan", "-LE", others, env={"ASAN_OPTIONS": "detect_leaks=1"})


def threads(stage):
    """What has threads, under the thread sanitizer."""
    # Not tests/cve: its guests race with themselves, which is what it is about.
    rooms = "base", "guestmem", "privsep", "http", "worker", "metrics", "cluster", "keeper", "subnet_host", "host", "daemon"
    targets = [f"paravane_{room}_test" for room in rooms] + ["paravane_conformance_test"]
    if stage.build("tsan", *targets, "driver_seeds", "driver_replay"):
        # Hostile drivers, with the seeds and with what the stage `fuzz` has found since.
        programs, seeds = ROOT / "build" / "tsan" / "fuzz", ROOT / "build" / "tsan" / "fuzz" / "seeds"
        stage.check("driver_seeds", programs / "driver_seeds", seeds)
        replay = programs / "driver_replay", "--seconds", 60, seeds, ROOT / "build" / "fuzz" / "corpus" / "driver"
        # Rig time has one thread: an hour of it shows no more than a second. And a test that
        # single-steps would step through the sanitizer's own code, which waits for its threads.
        left_out = "*ForAnHour*", "*PayloadStep*", "*AtAnyInstruction*"
        binaries = {target: next((ROOT / "build" / "tsan").rglob(target), target) for target in targets}
        stage.check_side_by_side([pair for pair in [("driver_replay", replay)] + [
            (target, (binary, "--gtest_filter=-" + ":".join(left_out))) for target, binary in binaries.items()]
            if stage.is_wanted(pair[0])])


HOST_PROGRAMS = "paravaned", "paravane", "paravane-wire", "paravane_libibumad"
GUEST_PROGRAMS = "paravane-verify", "paravane-hoard", "paravane-interrupted", "paravane-tally", "paravane-many", "paravane-switch", "paravane-machine"


def has_programs(stage, *programs):
    """Whether they are built. The stage `release` does it; where that is not run, they are built here."""
    return release in stage.options.stages or stage.build("release", *programs, is_waited_for=True)


LAYERS = "python", "storage", "middleware", "switch", "traffic", "udev", "wired"  # of the guest


def preparing(layers):
    return "lab/prepare", *[word for layer in layers for word in ("--layer", layer)]


def has_guest(stage, *layers):
    """Whether there is a QEMU and Debian 12's guest. The stage `lab` makes them; where that is not run, they are made here, whatever
    the pattern is."""
    if lab in stage.options.stages:
        return True
    place = stage.log_size()
    made = stage.run(*preparing(layers))
    if not made:
        stage.tally.add(f"{stage.name}: prepare", False, stage.log_since(place))
    return made


def cluster(stage):
    """Several hosts in network namespaces, without VMs, with a real etcd; with --all also what waits for minutes."""
    if has_programs(stage, *HOST_PROGRAMS, "clock_offset"):
        # Two at a time: beside guests four had so little of the processors that what is bounded in time was late.
        usual = [] if stage.options.all or stage.options.k else ["-LE", "long"]
        stage.ctest("release", "-L", "cluster", *usual, "--timeout", "600", "-j2")


def infiniband(stage):
    """Virtual InfiniBand adapters under Debian's opensm, infiniband-diags and ibsim, and the kernel's own ib_ipoib in a guest."""
    stage.say("preparing Debian 13's programs and a guest (the first time takes minutes)")
    ready = [stage.check(f"prepare {guest}", *preparing([layer]), env={"LAB_GUEST": guest})
             for guest, layer in (("trixie", "infiniband"), ("bookworm", "ipoib"))]
    if all(ready) and has_programs(stage, *HOST_PROGRAMS):
        stage.ctest("release", "-L", "infiniband", "-j2")


def tidy(stage):
    """clang-tidy over every source file that changed since it was last clean."""
    # A preset that compiles each source alone; it has to be configured only.
    if stage.check("configured", "cmake", "--preset", "clang-19"):
        with giving_way() as nicely:
            stage.check("clang-tidy", *nicely, "tools/tidy.py", "--build", "build/clang-19", timeout=7200)


def fuzz(stage):
    """A few seconds of each fuzzer, and the lines each must reach."""
    doors = [line.split()[0] for line in (ROOT / "fuzz" / "floors").read_text().splitlines() if line.split("#")[0].strip()]
    chosen = [door for door in doors if stage.is_wanted(door)]
    if not chosen or not stage.build("asan+ubsan", *[f"{door}_{part}" for door in chosen for part in ("fuzz", "seeds")]):
        return
    stage.say(f"{stage.options.fuzz_seconds} s of each fuzzer")
    report = LOGS / "fuzz.json"
    report.unlink(missing_ok=True)
    stage.run("fuzz/run", "--seconds", stage.options.fuzz_seconds, "--json", report, *chosen)
    if not report.exists():
        stage.tally.add("fuzz: ran", False)
        return
    for target in json.loads(report.read_text()):
        stage.say(f"{target['name']}: {target['covered_lines']} lines reached, floor {target['floor']}")
        stage.tally.add(f"fuzz: {target['name']}", target["ok"])
        if not target["ok"]:
            stage.tally.why[f"fuzz: {target['name']}"] = target["found"]


def lab(stage):
    """QEMU, guest kernel and initramfs; with --all the lab's own test."""
    stage.say("preparing QEMU and guests (the first time takes minutes)")
    if not stage.check("prepare", *preparing(LAYERS)):
        stage.tally.is_broken = True
    elif stage.options.all or stage.options.k:
        stage.check("selftest", "lab/selftest", timeout=300)


def qtest(stage):
    """The vfio-user server under a real QEMU with no guest."""
    binary = ROOT / "build" / "release" / "bin" / "paravane_qtest"
    if not has_programs(stage, "paravane_qtest") or not has_guest(stage):
        return
    stage.check("QEMU -accel qtest", binary, env={"PARAVANE_QEMU": str(CACHE / "lab" / "qemu" / "qemu-system-x86_64")}, timeout=300)


def guests(stage):
    """Unmodified Linux guests: Debian 12."""
    if has_guest(stage, *LAYERS):
        run_guests(stage, "bookworm")


SMALL_PART_OF_GUESTS = ("Devices", "BetweenTwoGuests.test_C78_rping", "BetweenTwoGuests.test_C78_ib_write_bw", "NativeEndpoint.test_1",
                        "NativeMerging")
PART_OF_GUESTS = ("Devices", "Pyverbs", "BetweenTwoGuests.test_C78", "BetweenTwoGuests.test_every_operation",
                  "BetweenTwoHosts.test_every_operation", "BetweenTwoGuests.test_ucmatose", "NativeEndpoint.", "NativeMerging")


def prepare_and_run_guests(stage, guest, layers, patterns):
    stage.say("preparing the guest (the first time takes minutes)")
    if stage.check("prepare", *preparing(layers), env={"LAB_GUEST": guest}):
        run_guests(stage, guest, *patterns)


def guests_trixie(stage):
    """Unmodified Linux guests: Debian 13 with its 6.12 kernel, a part of the tests."""
    prepare_and_run_guests(stage, "trixie", ["python", "switch", "traffic"], PART_OF_GUESTS if stage.options.all else SMALL_PART_OF_GUESTS)


def guests_backports(stage):
    """Unmodified Linux guests: Debian 13 with its backports' kernel, a part of the tests."""
    more = ("ConnectionManager", "EightAdapters", "HardwareVersions", "NvmeOverFabrics", "ScsiRdmaProtocol",
            "Quotas", "NativeFaults")
    prepare_and_run_guests(stage, "backports", ["python", "storage", "switch", "traffic"], PART_OF_GUESTS + more)


def run_guests(stage, guest, *patterns):
    if not has_programs(stage, *HOST_PROGRAMS, *GUEST_PROGRAMS):
        return
    report = LOGS / f"{stage.name}.json"
    for old in report, LOGS / f"{stage.name}-programs.json":
        old.unlink(missing_ok=True)
    words = [word for pattern in stage.options.k or patterns for word in ("-k", pattern)] + ["--all"] * stage.options.all
    stage.follow("guests: ", "python3", "tests/guests/run.py", "--json", report, *words,
                 env={"LAB_GUEST": guest, "PARAVANE_REPORT": str(LOGS / stage.name)})
    stage.count_verdicts(report)


def coverage(stage):
    """Lines of the guest-facing folders that unit tests, conformance, CVE tests and fuzzers' inputs run."""
    report = LOGS / "coverage.json"
    report.unlink(missing_ok=True)
    stage.say("building coverage and running all of it")
    with giving_way() as nicely:  # it builds for the most part
        stage.check("all tests pass, every folder above its floor", *nicely, "tools/coverage.py", "--json", report, timeout=7200)
    if not report.exists():
        return
    for row in json.loads(report.read_text()):
        stage.say(f"{row['folder']}: {row['covered']} of {row['lines']} lines, {100 * row['covered'] / row['lines']:.1f} %")


def chaos(stage):
    """An hour of stations in an InfiniBand subnet, and six guests on one host and on three for ten minutes, with random traffic and random mishaps; 20 s
    each, and of guests on three hosts alone, without --all."""
    seconds = 3600 if stage.options.all else 20
    name = f"chaos: {seconds} s, an InfiniBand subnet"
    if stage.is_wanted(name) and has_programs(stage, *HOST_PROGRAMS):
        stage.tally.add(name, stage.follow("chaos: ", "tests/chaos/run", "--subnet", "--seconds", seconds))
    if not has_guest(stage):
        return
    seconds = 600 if stage.options.all else 20
    for hosts in (1, 3) if stage.options.all else (3,):
        name = f"chaos: {seconds} s, hosts: {hosts}"
        if stage.is_wanted(name) and has_programs(stage, *HOST_PROGRAMS, *GUEST_PROGRAMS, "clock_offset"):
            stage.tally.add(name, stage.follow("chaos: ", "tests/chaos/run", "--seconds", seconds, "--hosts", hosts))


# What needs no network, and judges no host beside its peers.
COMPARED = "latency", "bandwidth", "rate", "atomics", "shared", "many", "setup"


def speed(stage):
    """The benchmark's ratios have not fallen by a tenth below bench/baseline.json."""
    if not has_programs(stage, "paravane_bench"):
        return
    report = LOGS / "speed.json"
    report.unlink(missing_ok=True)
    # It ends with 3 where a target is missed, which docs/performance.md says.
    stage.run(ROOT / "build" / "release" / "bin" / "paravane_bench", "--only", ",".join(COMPARED), "--json", report)
    stage.check("no ratio has fallen by a tenth", "bench/compare.py", "bench/baseline.json", report)


def conformance(stage):
    """docs/conformance.md says what sanitizers, guests and guests_trixie showed."""
    stage.check("docs/conformance.md", "tools/conformance.py", "--compare", *["--all"] * stage.options.all)


def mutants(stage):
    """Takes every check out of the source, one by one, and sees its tests go red."""
    stage.tally.add("mutants: every check is seen missing", stage.run("tests/mutants", *stage.options.k, timeout=7200))


def packages(stage):
    """Debian packages: built, installed, upgraded, removed on Debian 12 and 13; the guest's driver built."""
    report = LOGS / "packages.json"
    report.unlink(missing_ok=True)
    words = [word for pattern in stage.options.k for word in ("-k", pattern)]
    stage.follow("packages: ", "tests/packages/run", "--json", report, *words)
    stage.count_verdicts(report)


def releases(stage):
    """The last releases, built from the history: each against what is here, both ways."""
    if not has_programs(stage, *HOST_PROGRAMS, *GUEST_PROGRAMS):
        return
    report = LOGS / "releases.json"
    report.unlink(missing_ok=True)
    words = [word for pattern in stage.options.k for word in ("-k", pattern)]
    stage.follow("releases: ", "tests/releases/run", "--json", report, *words)
    stage.count_verdicts(report)
