"""A minute of chaos in a subnet of three hosts (tests/chaos/run --subnet); an hour is `scripts/check --all`'s."""
import pathlib
import subprocess
import sys
import unittest

CHAOS = pathlib.Path(__file__).resolve().parent.parent / "chaos" / "run"
SECONDS, MOST_S = 60, 280


class Minute(unittest.TestCase):
    """Plan, 6.3, at random: the seed is told."""

    def test_stations_to_which_nothing_happens_notice_nothing(self):
        done = subprocess.run([sys.executable, CHAOS, "--subnet", "--seconds", str(SECONDS)], capture_output=True, text=True, timeout=MOST_S, check=False,
                              stdin=subprocess.DEVNULL)
        print(done.stdout[:4000], file=sys.stderr)
        self.assertEqual(done.returncode, 0, f"{done.stdout[-20000:]}{done.stderr}")


if __name__ == "__main__":
    unittest.main()
