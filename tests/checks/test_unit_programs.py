"""Programs of unit tests (checks/unit_programs.py), with one that is a script."""
import pathlib
import tempfile
import unittest

from checks import unit_programs

PROGRAM = """#!/bin/sh
for word; do case $word in
  --gtest_output=xml:*) report=${word#*:} ;;
  --gtest_flagfile=*) cat "${word#*=}" ;;
esac; done
[ "$ENDS" = early ] && { echo "AddressSanitizer: it broke"; exit 1; }
cat > "$report" <<END
<testsuites><testsuite name="A">
<testcase name="Good" classname="A" status="run" result="completed"/>
<testcase name="Bad/0" classname="P/A" status="run" result="completed"><failure message="a_test.cc:7"/></testcase>
<testcase name="Not" classname="A" status="run" result="skipped"/>
</testsuite></testsuites>
END
exit 1
"""


class UnitProgramsTest(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name) / "a_test"
        self.path.write_text(PROGRAM)
        self.path.chmod(0o755)
        self.tests = [{"name": name, "command": [str(self.path), f"--gtest_filter={name}"]} for name in ("A.Good", "P/A.Bad/0", "A.Not")]
        self.tests.append({"name": "daemon.api", "command": ["python3", "-m", "unittest"]})

    def test_each_test_of_a_program_is_counted(self):
        (program,), others = unit_programs.split(self.tests, lambda name: True)
        self.assertEqual(others, ["daemon.api"])
        found, printed, is_whole = unit_programs.run_program(program, {})
        self.assertEqual([(name, verdict) for name, verdict, _ in found],
                         [("A.Good", "passed"), ("P/A.Bad/0", "failed"), ("A.Not", "skipped")])
        self.assertTrue(is_whole)
        self.assertEqual(printed, "")

    def test_a_part_of_them_is_asked_for_by_name(self):
        (program,), others = unit_programs.split(self.tests, lambda name: "Bad" in name)
        self.assertEqual(others, [])
        self.assertEqual(unit_programs.run_program(program, {})[1], "--gtest_filter=P/A.Bad/0\n")

    def test_a_program_that_breaks_is_no_pass(self):
        (program,), _ = unit_programs.split(self.tests, lambda name: True)
        found, printed, is_whole = unit_programs.run_program(program, {"ENDS": "early"})
        self.assertEqual((found, is_whole), ([], False))
        self.assertIn("it broke", printed)


if __name__ == "__main__":
    unittest.main()
