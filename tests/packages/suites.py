"""Test cases that are the same on each Debian."""

import unittest

SUITES = ["bookworm", "trixie"]


class OfEachSuite(unittest.TestCase):
    """Its tests use self.suite; tests/packages/run makes a class of it for each."""

    suite = None
    uses_releases = False  # the packages of packaging/releases, which take long to build


def cases(modules, suites):
    """(name, test case) of every test on every suite."""
    for suite in suites:
        for module in modules:
            for kind in vars(module).values():
                if isinstance(kind, type) and issubclass(kind, OfEachSuite) and kind is not OfEachSuite:
                    there = type(kind.__name__, (kind,), {"suite": suite})
                    for name in unittest.TestLoader().getTestCaseNames(there):
                        yield f"{suite}: {kind.__name__}.{name.removeprefix('test_')}", there(name)
