"""Test cases that run what is here against each release before it."""

import os
import pathlib
import sys
import unittest

import history

HERE = pathlib.Path(__file__).resolve().parent
NOW = pathlib.Path(os.environ.get("PARAVANE_BIN", history.ROOT / "build" / "release" / "bin")).resolve()
os.environ["PARAVANE_BIN"] = str(NOW)  # which the rigs of others read
for folder in "cluster", "daemon":
    sys.path.insert(0, str(HERE.parent / folder))

VERSION = history.version_of("HEAD")


class OfEachRelease(unittest.TestCase):
    """Its tests use self.old, the folder of a release's programs; tests/releases/run makes a class of it for each."""

    release = None

    @property
    def old(self):
        return self.release.programs()


def only_with(*versions):
    """A test of what these releases lack, or of how their state is stored."""
    def mark(test):
        test.versions = versions
        return test
    return mark


def except_with(*versions):
    """A test of what came after these releases."""
    def mark(test):
        test.other_than = versions
        return test
    return mark


def concerns(test, release):
    return release.version in getattr(test, "versions", [release.version]) and release.version not in getattr(test, "other_than", [])


def cases(modules, releases):
    """Every test with every release that it concerns."""
    for release in releases:
        for module in modules:
            for kind in vars(module).values():
                if isinstance(kind, type) and issubclass(kind, OfEachRelease) and kind.__module__ == module.__name__:
                    there = type(kind.__name__, (kind,), {"release": release})
                    for name in unittest.TestLoader().getTestCaseNames(there):
                        if concerns(getattr(there, name), release):
                            yield there(name)


def name_of(case):
    """Of what sets a class up, too, which is no test."""
    if not isinstance(case, OfEachRelease):
        return str(case)
    return f"{case.release.version}: {type(case).__name__}.{case.id().rpartition('.')[2].removeprefix('test_')}"
