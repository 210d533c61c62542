"""What a stage of scripts/check is made of: its log, the commands that it runs, and what it found."""
import concurrent.futures
import contextlib
import fcntl
import json
import os
import pathlib
import re
import subprocess
import time
import traceback
import xml.etree.ElementTree as ElementTree

from checks import unit_programs
from checks.processes import Ending, Supervisor, processor_seconds

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
LOGS = ROOT / "build" / "check"
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache")) / "paravane"
PROCESSORS = len(os.sched_getaffinity(0))


MOST_LINES = 6  # of what a failed test printed, at the end of a run
TELLING = re.compile(r"error|fail|assert|expected|actual|sanitizer|timed? ?out|traceback|exception|waited|which is", re.IGNORECASE)


def telling_lines(text):
    """The last lines that seem to say why it failed, or the last of all."""
    lines = [line.strip()[:180] for line in text.splitlines() if line.strip()]
    return ([line for line in lines if TELLING.search(line)] or lines)[-MOST_LINES:]


class Tally:
    """What a stage found: the names of what passed, failed and was skipped; and what it cost."""

    def __init__(self):
        self.passed, self.failed, self.skipped = [], [], []
        self.why = {}  # {name of what failed: lines}
        self.builds = 0  # of what passed or failed: no tests
        self.seconds = self.building = self.processor = 0.0  # by the clock; processor time of builds, of all
        self.is_broken = False  # what others need of this stage is not there

    def add(self, name, ok, printed=""):
        """`printed`: by the test; kept of one that failed."""
        (self.passed if ok else self.failed).append(name)
        if not ok:
            self.why[name] = telling_lines(printed)

    def tests(self):
        return len(self.passed) + len(self.failed) + len(self.skipped) - self.builds

    def merge(self, other):
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped
        self.why |= other.why
        self.builds += other.builds


LESS = 10  # as nice(1) counts: a tenth of a processor where something else wants all of it


@contextlib.contextmanager
def giving_way():
    """What runs meanwhile gives way to the rest: builds stand beside tests that judge by time. Yields what to put before
    its commands.

    Not the idle policy (SCHED_IDLE): on a machine with other work it would wait forever. Where the scheduler's groups are
    sessions (autogroup, sched(7)), a nice value says nothing to other sessions, and our group gets its weight.
    """
    group = pathlib.Path("/proc/self/autogroup")

    def weigh(nice):
        with contextlib.suppress(OSError):  # there is none, or it is not ours to change
            group.write_text(str(nice))
    weigh(LESS)
    try:
        yield ["nice", "-n", LESS]
    finally:
        weigh(0)


@contextlib.contextmanager
def alone_in(preset):
    """Two stages of different lanes may use one build folder; only one at a time builds in it."""
    with (LOGS / f"{preset}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


class Stage:
    """One stage's log file and the commands it runs."""

    def __init__(self, name, options, worker):
        self.name, self.options, self.worker = name, options, worker
        self.log = (LOGS / f"{name}.log").open("w", errors="replace")
        self.tally = Tally()

    def say(self, text):
        print(f"{self.name}: {text}", flush=True)

    def is_wanted(self, name):
        """Whether a test of this name is among those that -k asks for."""
        return not self.options.k or any(pattern in name for pattern in self.options.k)

    def log_since(self, place):
        """What the log got since it had `place` bytes."""
        self.log.flush()
        with pathlib.Path(self.log.name).open("rb") as log:
            log.seek(place)
            return log.read().decode(errors="replace")

    def log_size(self):
        self.log.flush()
        return os.fstat(self.log.fileno()).st_size

    def run(self, *command, env=None, timeout=1800):
        """Runs a command into the log; returns whether it succeeded."""
        self.worker.refuse_when_ending()
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
        self.worker.refuse_when_ending()
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
        if not self.is_wanted(name):
            return True
        place = self.log_size()
        ok = self.run(*command, **more)
        self.tally.add(f"{self.name}: {name}", ok, "" if ok else self.log_since(place))
        return ok

    def check_side_by_side(self, commands):
        """Pairs of a name and a command, each counted as one test."""
        def run(pair):
            self.worker.refuse_when_ending()
            name, command = pair
            words = [str(word) for word in command]
            done = subprocess.run(["timeout", "1800", *words], cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True, errors="replace", check=False)
            if done.returncode == 124:  # of timeout(1)
                done.stdout += f"\n{name}: timed out after 1800 s\n"
            return name, words, done
        with concurrent.futures.ThreadPoolExecutor(PROCESSORS) as pool:
            for name, words, done in pool.map(run, commands):
                self.log.write("$ " + " ".join(words) + "\n" + done.stdout)
                self.tally.add(f"{self.name}: {name}", done.returncode == 0, done.stdout)

    def build(self, preset, *targets, is_waited_for=False):
        """Configures and builds a preset, giving way unless others wait for it; a failure counts as a failed test."""
        self.say(f"building {preset}")
        before, place = processor_seconds(), self.log_size()
        with alone_in(preset), contextlib.nullcontext([]) if is_waited_for else giving_way() as nicely:
            ok = self.run(*nicely, "cmake", "--preset", preset, "-DCMAKE_CXX_COMPILER_LAUNCHER=ccache")
            ok = ok and self.run(*nicely, "cmake", "--build", "--preset", preset, *(["--target", *targets] if targets else []),
                                 timeout=7200)
        self.tally.building += processor_seconds() - before
        self.tally.builds += 1
        self.tally.is_broken |= not ok
        self.tally.add(f"{self.name}: builds without a warning ({preset})", ok, "" if ok else self.log_since(place))
        return ok

    def ctest(self, preset, *more, env=None):
        """Runs the tests of a build and counts each."""
        self.say(f"running tests of {preset}")
        report = LOGS / f"{self.name}.xml"
        report.unlink(missing_ok=True)
        wanted = ["-R", "|".join(map(as_cmake_regex, self.options.k))] if self.options.k and "-R" not in more else []
        # The longest takes half a minute alone; here it is not.
        self.run("ctest", "--test-dir", f"build/{preset}", f"-j{PROCESSORS}", "--output-on-failure", "--timeout", "240",
                 "--output-junit", report, *wanted, *more, env=env)
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
                self.tally.add(name, False, case.findtext("system-out") or state)

    def unit_tests(self, preset, *more, env=None):
        """Runs the tests of a build, those of a program in one process, and counts each."""
        self.say(f"running tests of {preset}")
        programs, others = unit_programs.split(unit_programs.known_tests(ROOT / "build" / preset, *more), self.is_wanted)
        cases = ElementTree.Element("testsuite")

        def on_end(program, verdicts, printed, is_whole):
            name = pathlib.Path(program.path).name
            self.log.write(f"$ {program.path}\n{printed}")
            for test, verdict, said in verdicts:
                case = ElementTree.SubElement(cases, "testcase", name=test, status="run" if verdict != "skipped" else "notrun")
                if verdict == "failed":
                    ElementTree.SubElement(case, "failure")
                if verdict == "skipped":
                    self.tally.skipped.append(f"{self.name}: {test} (skips itself)")
                else:
                    self.tally.add(f"{self.name}: {test}", verdict == "passed", said)
            if not is_whole:
                self.tally.add(f"{self.name}: {name} ran to its end", False, printed)
        self.worker.refuse_when_ending()
        unit_programs.run(programs, env or {}, PROCESSORS, on_end)
        if others:
            self.ctest(preset, "-R", "^(" + "|".join(map(as_cmake_regex, others)) + ")$", env=env)
            for case in ElementTree.parse(LOGS / f"{self.name}.xml").getroot().iter("testcase"):
                cases.append(case)
        ElementTree.ElementTree(cases).write(LOGS / f"{self.name}.xml")

    def count_verdicts(self, report):
        """Counts what a program of tests wrote: a list of names, verdicts and reasons."""
        if not report.exists():
            self.tally.add(f"{self.name}: ran", False)
            return
        for case in json.loads(report.read_text()):
            name = f"{self.name}: {case['name']}"
            if case["verdict"] == "skipped":
                self.tally.skipped.append(f"{name} ({case['reason']})")
            else:
                self.tally.add(name, case["verdict"] == "passed", case["reason"] or "")


def as_cmake_regex(text):
    return "".join(f"[{c}]" if c in ".[]*+?()|$" else f"\\{c}" if c in "^\\" else c for c in text)


def run_stage(function, options, report):
    """Runs one stage in this process, which is its own. `report` is told of what was found, a Tally (unless the stage
    died), and then of what it cost: seconds, seconds of a processor."""
    began = time.monotonic()

    def run(worker):
        stage = Stage(function.__name__, options, worker)
        try:
            function(stage)
        except Ending:
            stage.tally.add(f"{stage.name}: interrupted", False)
        except Exception:
            stage.log.write(traceback.format_exc())
            stage.tally.is_broken = True
            stage.tally.add(f"{stage.name}: ran to its end", False)
        stage.log.close()
        report(stage.tally)
    if left := Supervisor().run(run):
        print(f"{function.__name__}: left running, and ended now: {', '.join(left)}", flush=True)
    report((time.monotonic() - began, processor_seconds()))
