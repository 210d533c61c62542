#!/usr/bin/env python3
"""Runs the tests on real guests and writes each verdict to a file.

Usage: tests/guests/run.py [--all] [--two] [--json FILE] [-k PATTERN]...
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))


class Verdicts(unittest.TestResult):
    """Prints a line per test as it ends and keeps all of them."""

    def __init__(self):
        super().__init__()
        self.cases, self.began = [], 0.0

    def startTest(self, test):
        super().startTest(test)
        self.began = time.monotonic()

    def _note(self, test, verdict, reason=""):
        name = ".".join(test.id().split(".")[-2:])
        print(f"guests: {verdict:7} {name} ({time.monotonic() - self.began:.1f} s)", flush=True)
        if reason:
            print(reason, flush=True)
        self.cases.append({"name": name, "verdict": verdict, "reason": reason})

    def addSuccess(self, test):
        self._note(test, "passed")

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self._note(test, "failed", self.failures[-1][1])

    def addError(self, test, err):
        super().addError(test, err)
        self._note(test, "failed", self.errors[-1][1])

    def addSubTest(self, test, subtest, err):
        """One that fails is all that is heard of its test."""
        super().addSubTest(test, subtest, err)
        if err is not None:
            self._note(test, "failed", f"{subtest}\n{self._exc_info_to_string(err, test)}")

    def addSkip(self, test, reason):
        self._note(test, "skipped", reason)


def chosen(tests, all_of_them):
    """The tests of a suite, one by one; those that take long only if all are wanted."""
    for test in tests:
        if isinstance(test, unittest.TestSuite):
            yield unittest.TestSuite(chosen(test, all_of_them))
        elif all_of_them or not hasattr(getattr(test, test._testMethodName), "only_with_all"):
            yield test


def classes_of(suite):
    """The tests of a suite by their class: a class shares its guests."""
    found = {}

    def look(tests):
        for test in tests:
            if isinstance(test, unittest.TestSuite):
                look(test)
            else:
                found.setdefault(type(test), unittest.TestSuite()).addTest(test)
    look(suite)
    return found


def run_here(suite):
    verdicts = Verdicts()
    suite.run(verdicts)
    return verdicts.cases


def run_apart(words, name):
    """A class in a process of its own; its lines are shown as they come."""
    with tempfile.NamedTemporaryFile(suffix=".json") as report:
        process = subprocess.Popen([sys.executable, __file__, *words, "--only-class", name, "--json", report.name],
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        said = []
        for line in process.stdout:
            said.append(line)
            print(line, end="", flush=True)
        process.wait()
        text = pathlib.Path(report.name).read_text()
    if text:
        return json.loads(text)
    return [{"name": f"{name}.ran", "verdict": "failed", "reason": "".join(said[-20:])}]


def run_two_at_a_time(by_class, words):
    """Guests wait for one another more than they work, so two classes share the machine; those that
    measure what it does, or need all of it, go alone."""
    cases = []
    names = {kind.__name__: getattr(kind, "goes_alone", False) for kind in by_class}
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for found in pool.map(lambda name: run_apart(words, name), [name for name, alone in names.items() if not alone]):
            cases += found
    for name in (name for name, alone in names.items() if alone):
        cases += run_apart(words, name)
    return cases


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("-k", action="append", default=[], metavar="PATTERN", help="only tests whose name has it")
    parser.add_argument("--all", action="store_true", help="those that take long, too")
    parser.add_argument("--two", action="store_true", help="two classes of tests at a time")
    parser.add_argument("--only-class", metavar="CLASS", help="only those of this class")
    options = parser.parse_args()
    if options.all:
        os.environ.setdefault("PARAVANE_EVENT_ROUNDS", "100000")
    loader = unittest.TestLoader()
    if options.k:
        loader.testNamePatterns = [f"*{pattern}*" for pattern in options.k]
    by_class = classes_of(chosen(loader.discover(str(HERE), pattern="test_*.py"), options.all))
    if options.only_class:
        by_class = {kind: suite for kind, suite in by_class.items() if kind.__name__ == options.only_class}
    if options.two:
        words = [word for pattern in options.k for word in ("-k", pattern)] + ["--all"] * options.all
        cases = run_two_at_a_time(by_class, words)
    else:
        cases = run_here(unittest.TestSuite(by_class.values()))
    if options.json:
        options.json.write_text(json.dumps(cases, indent=1))
    failed = sum(case["verdict"] == "failed" for case in cases)
    passed = sum(case["verdict"] == "passed" for case in cases)
    if not options.only_class:
        print(f"{passed} passed, {failed} failed, {len(cases) - passed - failed} skipped")
    return 1 if failed or not cases else 0


if __name__ == "__main__":
    sys.exit(main())
