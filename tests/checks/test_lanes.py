"""Lanes of small stages: what begins when, what a stage costs, and what is left of it when it ends or is ended."""
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import types
import unittest
import unittest.mock

from checks import lanes, processes
from checks import stage as stages
from checks.processes import name_of

HERE = pathlib.Path(__file__).resolve().parent
MARK = "314"  # seconds that a program of ours would sleep


def sleeps(stage):
    """Passes after a while."""
    stage.check("sleep", "sleep", "0.3")


def make(name, function=sleeps):
    """A stage of that name."""
    def one(stage):
        function(stage)
    one.__name__, one.__doc__ = name, f"{name}."
    return one


def is_running(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


def wait_for(condition, seconds=20):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)


class LanesTest(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.addCleanup(setattr, stages, "LOGS", stages.LOGS)
        stages.LOGS = self.folder
        for number in signal.SIGINT, signal.SIGTERM:
            self.addCleanup(signal.signal, number, signal.getsignal(number))
        self.seen = []

    def run_lanes(self, table, needs=None, wanted=None):
        options = types.SimpleNamespace(stages=wanted or [one for lane in table for one in lane], k=[], all=False)
        run = lanes.Lanes(options, needs or {}, lambda one: self.seen.append(f"+{one.__name__}"),
                          lambda one, _: self.seen.append(f"-{one.__name__}"))
        run.run(table)
        return run.tallies

    def pids(self, name):
        path = self.folder / name
        return [int(word) for word in path.read_text().split()] if path.exists() else []

    # ---- order ----

    def test_a_lane_is_run_in_order(self):
        a, b = make("a"), make("b")
        tallies = self.run_lanes([[a, b]])
        self.assertEqual(self.seen, ["+a", "-a", "+b", "-b"])
        self.assertEqual(tallies[b].passed, ["b: sleep"])

    def test_lanes_run_side_by_side(self):
        self.run_lanes([[make("a")], [make("b")]])
        self.assertEqual(self.seen[:2], ["+a", "+b"])

    def test_a_stage_waits_for_those_that_it_needs(self):
        a, b, c = make("a"), make("b"), make("c")
        self.run_lanes([[a, b], [c]], needs={c: [b]})
        self.assertGreater(self.seen.index("+c"), self.seen.index("-b"))

    def test_what_is_not_wanted_is_not_waited_for(self):
        a, b, c = make("a"), make("b"), make("c")
        self.assertEqual(set(self.run_lanes([[a, b], [c]], needs={c: [b], b: [a]}, wanted=[a, c])), {a, c})

    def test_stages_that_wait_for_one_another_are_said(self):
        a, b = make("a"), make("b")
        with self.assertRaisesRegex(ValueError, "a"):
            self.run_lanes([[a], [b]], needs={a: [b], b: [a]})

    # ---- failure ----

    def test_a_failed_test_ends_neither_its_lane_nor_another(self):
        a, b, c = make("a", lambda stage: stage.check("false", "false")), make("b"), make("c")
        tallies = self.run_lanes([[a, b], [c]], needs={b: [a]})
        self.assertEqual([len(tallies[one].failed) for one in (a, b, c)], [1, 0, 0])
        self.assertEqual([len(tallies[one].passed) for one in (a, b, c)], [0, 1, 1])

    def test_what_needs_a_broken_stage_fails_and_is_not_run(self):
        def breaks(stage):
            stage.tally.is_broken = True
        a, b, c, d = make("a", breaks), make("b"), make("c"), make("d")
        tallies = self.run_lanes([[a], [b, c], [d]], needs={b: [a], c: [b]})
        self.assertEqual(tallies[b].failed, ["b: not run, for a failed"])
        self.assertEqual(tallies[c].failed, ["c: not run, for b failed"])
        self.assertEqual(tallies[d].passed, ["d: sleep"])
        self.assertNotIn("+b", self.seen)

    def test_what_needs_one_that_was_not_run_fails_in_any_lane(self):
        def breaks(stage):
            stage.tally.is_broken = True
        a, b, c = make("a", breaks), make("b"), make("c")
        tallies = self.run_lanes([[c], [b], [a]], needs={c: [b], b: [a]})
        self.assertEqual(tallies[c].failed, ["c: not run, for b failed"])

    def test_a_stage_that_dies_is_a_failure(self):
        a, b = make("a", lambda _: os.kill(os.getpid(), signal.SIGKILL)), make("b")
        tallies = self.run_lanes([[a, b]])
        self.assertEqual(tallies[a].failed, ["a: ended by itself"])
        self.assertEqual(tallies[b].passed, ["b: sleep"])

    # ---- what it costs ----

    def test_processor_time_is_each_stages_own(self):
        spin = "import time; end = time.process_time() + 0.5\nwhile time.process_time() < end: pass"
        a, b = make("a", lambda stage: stage.check("spin", sys.executable, "-c", spin)), make("b")
        tallies = self.run_lanes([[a], [b]])
        self.assertGreater(tallies[a].processor, 0.4)
        self.assertLess(tallies[b].processor, 0.4)

    def test_processor_time_of_what_is_left_behind_counts(self):
        spin = "import time; end = time.process_time() + 0.5\nwhile time.process_time() < end: pass"
        a = make("a", lambda stage: stage.check("spin", "sh", "-c", f"'{sys.executable}' -c '{spin}' & exit 0"))
        with unittest.mock.patch.object(processes, "PATIENCE_S", 60):  # beside builds it has little of a processor
            self.assertGreater(self.run_lanes([[a]])[a].processor, 0.4)

    # ---- the end ----

    def leaves_something(self, stage):
        stage.check("leave", "setsid", "sh", "-c", f"sleep {MARK} & echo $! >{self.folder}/left")

    def test_nothing_outlives_its_stage(self):
        a = make("a", self.leaves_something)
        self.run_lanes([[a]])
        [pid] = self.pids("left")
        self.assertFalse(is_running(pid), name_of(pid))

    def test_what_lost_its_parent_is_no_zombie_when_it_ends(self):
        """Or whoever waits for a daemon's end, by its process id, waits in vain."""
        script = ("pid=$(setsid sh -c 'sleep 0.2 >/dev/null & echo $!'); i=0; while kill -0 $pid; do "
                  "i=$((i+1)); [ $i -lt 100 ] || exit 1; sleep 0.05; done")
        a = make("a", lambda stage: stage.check("wait", "sh", "-c", script))
        self.assertEqual(self.run_lanes([[a]])[a].passed, ["a: wait"])

    def test_a_stage_with_a_mistake_is_a_failure(self):
        a, b = make("a", lambda _: 1 / 0), make("b")
        tallies = self.run_lanes([[a], [b]], needs={b: [a]})
        self.assertEqual(tallies[a].failed, ["a: ran to its end"])
        self.assertIn("ZeroDivisionError", (self.folder / "a.log").read_text())
        self.assertEqual(tallies[b].failed, ["b: not run, for a failed"])

    def interrupt(self, number, times=1, script=""):
        """The exit status of a run of two lanes that is interrupted while both wait; its processes' ids are in files."""
        program = f"""
import pathlib, sys, types
sys.path.insert(0, {str(HERE.parent)!r})
from checks import lanes, stage as stages
stages.LOGS = pathlib.Path({str(self.folder)!r})
def a(stage):
    stage.check("wait", "sh", "-c", '''{script}setsid sleep {MARK} & echo $! $$ >{self.folder}/a; wait; sleep {MARK}''')
    stage.check("never", "touch", "{self.folder}/never")
def b(stage):
    stage.check_side_by_side([("wait", ("sh", "-c", "echo $$ >{self.folder}/b; exec sleep {MARK}"))])
def c(stage):
    stage.check("never", "touch", "{self.folder}/never")
run = lanes.Lanes(types.SimpleNamespace(stages=[a, b, c], k=[], all=False), {{}}, lambda _: None,
                  lambda one, tally: print(one.__name__, tally.failed, flush=True))
run.run([[a, c], [b]])
sys.exit(1 if run.is_interrupted else 0)
"""
        with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as check:
            wait_for(lambda: len(self.pids("a")) == 2 and self.pids("b"))
            for _ in range(times):
                check.send_signal(number)
                time.sleep(0.5)
            text, _ = check.communicate(timeout=60)
        wait_for(lambda: not any(map(is_running, self.pids("a") + self.pids("b"))))
        self.assertFalse((self.folder / "never").exists())
        return check.returncode, text

    def test_an_interrupted_run_ends_all_and_starts_no_more(self):
        for number in signal.SIGINT, signal.SIGTERM:
            with self.subTest(signal=number.name):
                began = time.monotonic()
                code, text = self.interrupt(number)
                self.assertEqual(code, 1)
                self.assertIn("a: interrupted", text)
                self.assertNotIn("c [", text)
                self.assertLess(time.monotonic() - began, 15)  # none was waited for until the end of its grace
                for name in "ab":
                    (self.folder / name).unlink()

    def test_a_second_interruption_does_not_wait(self):
        began = time.monotonic()
        code, _ = self.interrupt(signal.SIGINT, times=2, script="trap : INT TERM; ")
        self.assertEqual(code, 1)
        self.assertLess(time.monotonic() - began, 15)

    def test_a_run_that_is_killed_leaves_nothing(self):
        code, _ = self.interrupt(signal.SIGKILL)
        self.assertEqual(code, -signal.SIGKILL)


if __name__ == "__main__":
    unittest.main()
