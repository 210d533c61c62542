"""The lists of programs of others (others.py) and of the usual run (usual.py) speak of tests that there are."""
import fnmatch
import pathlib
import unittest

import others
import usual
from run import each, short_name

HERE = pathlib.Path(__file__).resolve().parent


class Others(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        cls.names = [short_name(test) for test in each(unittest.TestLoader().discover(str(HERE), pattern="test_*.py"))]

    def test_every_pattern_names_a_test(self):
        for program in others.PROGRAMS:
            for pattern in program.tests:
                self.assertTrue(fnmatch.filter(self.names, pattern), f"{program.name}: no test is called {pattern}")

    def test_the_usual_run_knows_every_class_and_names_tests(self):
        self.assertEqual(set(usual.USUAL), {name.partition(".")[0] for name in self.names})
        for one, patterns in usual.USUAL.items():
            for pattern in patterns.split():
                self.assertTrue(fnmatch.filter(self.names, f"{one}.test_{pattern}"), f"{one}: no test is called {pattern}")

    def test_a_program_passes_when_all_of_its_tests_do(self):
        def row(*verdicts):
            return others.rows([{"name": f"NfsOverRdma.test_{i}", "verdict": verdict} for i, verdict in enumerate(verdicts)])
        self.assertEqual([(one["program"], one["tests"], one["verdict"]) for one in row("passed", "passed")],
                         [("NFS over RDMA (rpcrdma)", 2, "pass")])
        self.assertEqual(row("passed", "failed")[0]["verdict"], "**fail**: NfsOverRdma.test_1")
        self.assertEqual(row("skipped")[0]["verdict"], "**fail**: NfsOverRdma.test_0")
        self.assertEqual(row(), [])


if __name__ == "__main__":
    unittest.main()
