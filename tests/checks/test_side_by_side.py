"""Test classes side by side (tests/guests/side_by_side.py), with classes of a fraction of a second."""
import os
import pathlib
import signal
import sys
import tempfile
import threading
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "guests"))
import side_by_side  # noqa: E402  (the line above makes it importable)


class Result(unittest.TestResult):

    def __init__(self):
        super().__init__()
        self.cases = []

    def addSuccess(self, test):
        self.cases.append((test.id().rsplit(".", 1)[1], "passed"))

    def addError(self, test, err):
        self.cases.append((test.id().rsplit(".", 1)[1], err[0].__name__))


class SideBySideTest(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        for number in side_by_side.SIGNALS:
            self.addCleanup(signal.signal, number, signal.getsignal(number))

    def make(self, name, *tests):
        """A class that notes when it begins and ends, with tests of these names and functions."""
        folder = self.folder

        class Made(unittest.TestCase):
            @classmethod
            def setUpClass(cls):
                cls.note("+")
                cls.addClassCleanup(cls.note, "-")

            @classmethod
            def note(cls, what):
                with (folder / "notes").open("a") as notes:
                    notes.write(f"{what}{name}\n")
        for test, function in tests:
            setattr(Made, test, function)
        Made.__name__ = name
        return [Made(test) for test, _ in tests]

    def run_classes(self, *classes, alone=(), jobs=2):
        return side_by_side.Classes([test for one in classes for test in one], alone, Result).run(jobs)

    def notes(self):
        return (self.folder / "notes").read_text().split()

    @staticmethod
    def nap(_):
        time.sleep(0.3)

    def test_as_many_as_asked_for_and_verdicts_in_the_order_of_the_tests(self):
        classes = [self.make(name, (f"test_{name}", self.nap)) for name in "abc"]
        self.assertEqual(self.run_classes(*classes), [("test_a", "passed"), ("test_b", "passed"), ("test_c", "passed")])
        self.assertEqual({*self.notes()[:2]}, {"+a", "+b"})
        self.assertIn("-", self.notes()[2])

    def test_one_that_wants_to_be_alone_is(self):
        classes = [self.make(name, (f"test_{name}", self.nap)) for name in "abc"]
        self.run_classes(*classes, alone=("a",), jobs=3)
        self.assertEqual(self.notes()[-2:], ["+a", "-a"])
        self.assertEqual(len(self.notes()), 6)

    def test_a_class_whose_process_dies_is_a_failure(self):
        dies = self.make("a", ("test_a", lambda _: os.kill(os.getpid(), signal.SIGKILL)))
        [died, passed] = self.run_classes(dies, self.make("b", ("test_b", self.nap)))
        self.assertEqual((died["name"], died["verdict"], passed), ("a.ran", "failed", ("test_b", "passed")))

    def test_an_interrupted_class_ends_what_it_made_and_no_other_begins(self):
        long = self.make("a", ("test_1", lambda _: time.sleep(30)), ("test_2", self.nap))
        threading.Timer(1, os.kill, (os.getpid(), signal.SIGTERM)).start()
        began = time.monotonic()
        self.assertEqual(self.run_classes(long, self.make("b", ("test_b", self.nap)), jobs=1), [("test_1", "Interrupted")])
        self.assertLess(time.monotonic() - began, 15)
        self.assertEqual(self.notes(), ["+a", "-a"])


if __name__ == "__main__":
    unittest.main()
