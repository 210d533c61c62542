"""Each section of Mellanox's InfiniBand guide that docs/compared-with-vsphere.md lists has a test that carries its number, as items of the
device's specification have (tools/conformance.py): M4_4_2_3 in a test's name is section 4.4.2.3."""
import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PAGE = ROOT / "docs" / "compared-with-vsphere.md"
HEADING = "## Mellanox's InfiniBand guide"
ROW = re.compile(r"^\| (M\d(?:\.\d)*) \|", re.MULTILINE)
NAME = re.compile(r"(?:\bdef test_|\bTEST(?:_[FP])?\(\w+, *)(\w+)")
IN_NAME = re.compile(r"M\d(?:_\d)*(?=_[a-zA-Z]|[A-Z])")


def sections(text):
    """Those that a page lists, in its order."""
    return ROW.findall(text.partition(HEADING)[2].partition("\n## ")[0])


def numbers_of_tests(text):
    """The sections that the tests of a source file carry."""
    return {number.replace("_", ".") for name in NAME.findall(text) for number in IN_NAME.findall(name)}


def carried():
    """{section: files with a test that carries its number}"""
    found = {}
    for file in [*(ROOT / "tests").glob("*/test_*.py"), *(ROOT / "src").rglob("*_test.cc")]:
        if file == pathlib.Path(__file__).resolve():
            continue
        for number in numbers_of_tests(file.read_text(encoding="utf-8")):
            found.setdefault(number, []).append(file)
    return found


class GuideSectionsTest(unittest.TestCase):

    def test_each_section_has_a_test_and_each_number_is_of_a_section(self):
        listed, found = sections(PAGE.read_text(encoding="utf-8")), carried()
        self.assertGreater(len(listed), 15)
        self.assertEqual(len(listed), len(set(listed)), "a section has two rows")
        self.assertEqual([one for one in listed if one not in found], [], "sections without a test")
        self.assertEqual({one: files for one, files in found.items() if one not in listed}, {}, f"numbers of no section in {PAGE.name}")

    def test_numbers_are_found_in_names_of_both_languages(self):
        self.assertEqual(numbers_of_tests("    def test_M2_M4_4_4_each_model(self):\n"), {"M2", "M4.4.4"})
        self.assertEqual(numbers_of_tests("TEST(ArpTest, M3_1ConnectedPeers) {}\nTEST_F(M4_4Test, Other) {}"), {"M3.1"})
        self.assertEqual(numbers_of_tests("def test_4_4_2_3_net_queue(self):  # M4_4"), set())


if __name__ == "__main__":
    unittest.main()
