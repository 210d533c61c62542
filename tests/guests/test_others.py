"""The list of programs of others (others.py) speaks of tests that there are."""
import fnmatch
import pathlib
import unittest

import others

HERE = pathlib.Path(__file__).resolve().parent


def each(suite):
    for one in suite:
        if isinstance(one, unittest.TestSuite):
            yield from each(one)
        else:
            yield one


class Others(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        tests = list(each(unittest.TestLoader().discover(str(HERE), pattern="test_*.py")))
        cls.names = {".".join(test.id().split(".")[-2:]): hasattr(getattr(test, test._testMethodName, None), "only_with_all")
                     for test in tests}

    def test_every_pattern_names_a_test(self):
        for program in others.PROGRAMS:
            for pattern in program.tests:
                self.assertTrue(fnmatch.filter(self.names, pattern), f"{program.name}: no test is called {pattern}")

    def test_every_program_runs_in_the_default_check(self):
        """Or the table would have other rows with --all."""
        for program in others.PROGRAMS:
            self.assertTrue(any(others.has(program, name) and not long for name, long in self.names.items()), program.name)

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
