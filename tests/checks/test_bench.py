"""bench/compare.py: which figures have fallen against a baseline. bench/floor_figures.py: which targets are met."""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
COMPARE = ROOT / "bench" / "compare.py"
sys.path.insert(0, str(ROOT / "bench"))
from floor_figures import AT_LEAST, AT_MOST, figure as beside, status_of  # noqa: E402  (the line above makes it importable)


def figure(name, unit, ratio, cores="distant", spread=0.02):
    return {"name": name, "unit": unit, "floor_name": "a floor", "cores": cores,
            "ratio": {"median": ratio, "min": ratio * (1 - spread), "max": ratio * (1 + spread)}}


class CompareTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.baseline = self.folder / "baseline.json"
        self.write(figure("rate", "million/s", 0.8), figure("latency", "us", 1.6), figure("rate", "million/s", 0.4, cores="near"))

    def run_file(self, figures):
        path = self.folder / "figures.json"
        path.write_text(json.dumps({"figures": [*figures, {"name": "wake-ups", "unit": "wake-ups", "ratio": None}]}))
        return path

    def write(self, *figures):
        subprocess.run([COMPARE, "--write", self.baseline, self.run_file(figures)], check=True)

    def compare(self, *figures):
        done = subprocess.run([sys.executable, COMPARE, self.baseline, self.run_file(figures)], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout

    def test_what_is_as_good_or_better_passes(self):
        self.assertEqual(self.compare(figure("rate", "million/s", 0.8), figure("latency", "us", 1.2))[0], 0)

    def test_what_is_worse_by_more_than_a_tenth_has_fallen(self):
        for one in figure("rate", "million/s", 0.68), figure("latency", "us", 1.85), figure("rate", "million/s", 0.3, cores="near"):
            status, said = self.compare(one)
            self.assertEqual((status, said.count("FALLEN")), (3, 1), one)

    def test_the_best_repetition_is_compared(self):
        self.assertEqual(self.compare(figure("rate", "million/s", 0.68, spread=0.2))[0], 0)

    def test_other_cores_and_new_figures_are_named_and_not_compared(self):
        status, said = self.compare(figure("latency", "us", 9, cores="near"), figure("new", "us", 9))
        self.assertEqual((status, said.count("no baseline for these cores")), (0, 2))

    def test_figures_of_other_runs_stay_in_the_baseline(self):
        self.write(figure("rate", "million/s", 0.9))
        kept = json.loads(self.baseline.read_text())
        self.assertEqual(kept["rate, beside a floor"], {"distant": 0.9, "near": 0.4})
        self.assertEqual(len(kept), 2)


class FiguresTest(unittest.TestCase):
    def test_a_ratio_is_that_of_each_pair_with_its_floor(self):
        one = beside("rate", "MB/s", [10, 30, 40], AT_LEAST, 0.7, [20, 30, 50], "a relay")
        self.assertEqual(one["ratio"], {"median": 0.8, "min": 0.5, "max": 1})
        self.assertEqual((one["target"], one["met"], one["floor_name"]), (">= 0.7 x", True, "a relay"))

    def test_the_median_is_judged_and_the_limit_itself_meets(self):
        self.assertTrue(beside("wake-ups", "wake-ups/s", [0, 1, 9], AT_MOST, 1)["met"])
        self.assertFalse(beside("wake-ups", "wake-ups/s", [0, 2, 2], AT_MOST, 1)["met"])
        self.assertFalse(beside("rate", "k/s", [5, 5], AT_LEAST, 0.6, [10, 10])["met"])

    def test_a_missed_target_is_status_3(self):
        free = beside("time", "s", [1])
        missed = beside("time", "s", [4], AT_MOST, 3)
        self.assertIsNone(free["met"])
        self.assertEqual((status_of([free]), status_of([free, missed])), (0, 3))
