"""What a stage keeps of a test that failed (checks/stage.py)."""
import unittest

from checks.stage import MOST_LINES, Tally, telling_lines


class TellingLinesTest(unittest.TestCase):

    def test_lines_that_say_why_come_before_others(self):
        self.assertEqual(telling_lines("[ RUN ] One\nsrc/a_test.cc:7: Failure\n  Actual: 3\n\n[ DONE ]\n"),
                         ["src/a_test.cc:7: Failure", "Actual: 3"])

    def test_without_one_the_end_is_kept(self):
        self.assertEqual(telling_lines("\n".join(f"line {number}" for number in range(20))),
                         [f"line {number}" for number in range(20 - MOST_LINES, 20)])
        self.assertEqual(telling_lines(""), [])

    def test_kept_of_what_failed_and_merged(self):
        tally, total = Tally(), Tally()
        tally.add("good", True, "Error that was expected")
        tally.add("bad", False, "Error: it is")
        total.merge(tally)
        self.assertEqual(total.why, {"bad": ["Error: it is"]})


if __name__ == "__main__":
    unittest.main()
