#!/usr/bin/env python3
"""Runs the tests on real guests and writes each verdict to a file.

Usage: tests/guests/run.py [--all] [--json FILE] [--jobs N] [--files PATTERN] [-k PATTERN]...

Test classes run side by side, as many as there are processors and memory for: each has its
hosts and guests in a folder and in namespaces of its own, and most of its time is waiting.
"""
import argparse
import json
import os
import pathlib
import sys
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import others  # noqa: E402  (the line above makes it importable)
from side_by_side import Classes, usual_jobs  # noqa: E402
from usual import is_usual  # noqa: E402

# They judge by the clock how long a guest waited, or by ticks how busy one was: they have the machine to themselves.
ALONE = "HostFaults", "Exitless", "NativeMishaps", "HcaTrunk", "HcaTrunkBetweenTwoHosts", "HcaTrunkOnANicOfItsOwn"


class Verdicts(unittest.TestResult):
    """Prints a line per test as it ends and keeps all of them."""

    def __init__(self):
        super().__init__()
        self.cases, self.began = [], time.monotonic()

    def startTest(self, test):
        super().startTest(test)
        self.began = time.monotonic()

    def _note(self, test, verdict, reason=""):
        name = short_name(test)
        # In one piece, since other classes print as well.
        print(f"guests: {verdict:7} {name} ({time.monotonic() - self.began:.1f} s)\n" + (f"{reason}\n" if reason else ""),
              end="", flush=True)
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


def short_name(test):
    return ".".join(test.id().split(".")[-2:])


def each(tests):
    """The tests of a suite, one by one."""
    for test in tests:
        if isinstance(test, unittest.TestSuite):
            yield from each(test)
        else:
            yield test


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("-k", action="append", default=[], metavar="PATTERN", help="only tests whose name has it, whether or not usual.py has them")
    parser.add_argument("--all", action="store_true", help="all tests, not the usual ones alone (usual.py)")
    parser.add_argument("--jobs", type=int, default=usual_jobs(), metavar="N", help="classes at a time (%(default)s)")
    parser.add_argument("--files", default="test_*.py", metavar="PATTERN", help="where the tests are (%(default)s)")
    options = parser.parse_args()
    if options.all:
        os.environ.setdefault("PARAVANE_EVENT_ROUNDS", "100000")
        os.environ.setdefault("PARAVANE_RELOADS", "100")
    loader = unittest.TestLoader()
    if options.k:
        loader.testNamePatterns = [f"*{pattern}*" for pattern in options.k]
    tests = [test for test in each(loader.discover(str(HERE), pattern=options.files))
             if options.all or options.k or is_usual(short_name(test))]
    classes = Classes(tests, ALONE, Verdicts)
    cases = classes.run(options.jobs)
    if options.json:
        options.json.write_text(json.dumps(cases, indent=1))
    others.report(cases)
    failed = sum(case["verdict"] == "failed" for case in cases)
    passed = sum(case["verdict"] == "passed" for case in cases)
    print(f"{passed} passed, {failed} failed, {len(cases) - passed - failed} skipped")
    return 1 if failed or not cases else 0


if __name__ == "__main__":
    sys.exit(main())
