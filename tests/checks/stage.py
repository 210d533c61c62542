"""What a stage of scripts/check is made of: its log, the commands that it runs, and what it found."""
import concurrent.futures
import ctypes
import json
import os
import pathlib
import resource
import subprocess
import time
import xml.etree.ElementTree as ElementTree

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
LOGS = ROOT / "build" / "check"
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache")) / "paravane"
PROCESSORS = len(os.sched_getaffinity(0))


class Tally:
    """What a stage found: the names of what passed, failed and was skipped; and what it cost."""

    def __init__(self):
        self.passed, self.failed, self.skipped = [], [], []
        self.builds = 0  # of what passed or failed: no tests
        self.seconds = self.building = self.processor = 0.0  # by the clock; processor time of builds, of all

    def add(self, name, ok):
        (self.passed if ok else self.failed).append(name)

    def tests(self):
        return len(self.passed) + len(self.failed) + len(self.skipped) - self.builds

    def merge(self, other):
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped
        self.builds += other.builds


def processor_seconds():
    """Of this process and all that it waited for."""
    return sum(usage.ru_utime + usage.ru_stime
               for usage in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)))


def adopt_orphans():
    """What a stage's programs leave behind is this process's to wait for, so that its processor time is counted."""
    pr_set_child_subreaper = 36
    ctypes.CDLL(None).prctl(pr_set_child_subreaper, 1, 0, 0, 0)


def bury_orphans():
    try:
        while os.waitpid(-1, os.WNOHANG)[0] > 0:
            pass
    except ChildProcessError:
        pass


class Stage:
    """One stage's log file and the commands it runs."""

    def __init__(self, name, options):
        self.name, self.options = name, options
        self.log = (LOGS / f"{name}.log").open("w")
        self.tally = Tally()

    def say(self, text):
        print(f"    {self.name}: {text}", flush=True)

    def is_wanted(self, name):
        """Whether a test of this name is among those that -k asks for."""
        return not self.options.k or any(pattern in name for pattern in self.options.k)

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
        if not self.is_wanted(name):
            return True
        ok = self.run(*command, **more)
        self.tally.add(f"{self.name}: {name}", ok)
        return ok

    def check_side_by_side(self, commands):
        """Pairs of a name and a command, each counted as one test."""
        def run(pair):
            name, command = pair
            words = [str(word) for word in command]
            done = subprocess.run(["timeout", "1800", *words], cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True, errors="replace", check=False)
            return name, words, done
        with concurrent.futures.ThreadPoolExecutor(PROCESSORS) as pool:
            for name, words, done in pool.map(run, commands):
                self.log.write("$ " + " ".join(words) + "\n" + done.stdout)
                self.tally.add(f"{self.name}: {name}", done.returncode == 0)

    def build(self, preset, *targets):
        """Configures and builds a preset; a failure counts as a failed test."""
        self.say(f"building {preset}")
        before = processor_seconds()
        ok = self.run("cmake", "--preset", preset, "-DCMAKE_CXX_COMPILER_LAUNCHER=ccache")
        ok = ok and self.run("cmake", "--build", "--preset", preset, *(["--target", *targets] if targets else []), timeout=5400)
        self.tally.building += processor_seconds() - before
        self.tally.builds += 1
        self.tally.add(f"{self.name}: builds without a warning ({preset})", ok)
        return ok

    def ctest(self, preset, *more, env=None):
        """Runs the tests of a build and counts each."""
        self.say(f"running tests of {preset}")
        report = LOGS / f"{self.name}.xml"
        report.unlink(missing_ok=True)
        wanted = ["-R", "|".join(map(as_cmake_regex, self.options.k))] if self.options.k else []
        self.run("ctest", "--test-dir", f"build/{preset}", f"-j{PROCESSORS}", "--output-on-failure", "--timeout", "120",
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
                self.tally.failed.append(name)

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
                self.tally.add(name, case["verdict"] == "passed")


def as_cmake_regex(text):
    return "".join(f"[{c}]" if c in ".[]*+?()|$" else f"\\{c}" if c in "^\\" else c for c in text)


def run_stage(function, options):
    """Runs one stage in this process; returns what it found."""
    adopt_orphans()
    began = time.monotonic()
    stage = Stage(function.__name__, options)
    function(stage)
    stage.log.close()
    bury_orphans()
    stage.tally.seconds = time.monotonic() - began
    stage.tally.processor = processor_seconds()
    return stage.tally
