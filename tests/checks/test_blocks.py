"""tools/check_blocks.py, on pages of this test's own."""
import pathlib
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tools"))
import check_blocks  # noqa: E402  (the line above makes it importable)

TYPED = "<!-- typed: daemon.pages -->\n```\nparavane vm list\n```\n"
NOT_TYPED = "<!-- not typed: it takes a whole hour -->\n```\nscripts/bench\n```\n"


class BlocksTest(unittest.TestCase):
    def problems(self, text, test='self.blocks("README.md", 1)'):
        """What is wrong with a repository whose README has this text."""
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / "README.md").write_text(text)
            (root / "tests" / "daemon").mkdir(parents=True)
            (root / "tests" / "daemon" / "test_pages.py").write_text(test)
            return [problem.partition(": ")[2] or problem for problem in check_blocks.problems(root)[0]]

    def test_marked_blocks_are_good(self):
        self.assertEqual(self.problems(TYPED * 9 + NOT_TYPED + "<!-- shows: an answer -->\n```\n{}\n```\n"), [])

    def test_an_unmarked_block_is_refused(self):
        for before in "", "<!-- typed: daemon.pages -->\n\n", "<!-- typed -->\n", "text\n":
            with self.subTest(before=before):
                self.assertIn("needs a line before it", self.problems(before + "```\nls\n```\n")[0])

    def test_a_block_ends(self):
        self.assertEqual(self.problems(TYPED * 9 + "<!-- shows: an answer -->\n```\n{}\n"), ["does not end"])

    def test_a_block_in_a_list_is_seen(self):
        self.assertIn("needs a line before it", self.problems("- so:\n\n  ```\n  ls\n  ```\n")[0])
        self.assertEqual(self.problems("  <!-- shows: a rule -->\n  ```\n  a=b\n  ```\n"), [])

    def test_the_test_is_there_and_names_the_page(self):
        self.assertIn("there is no tests/daemon/test_gone.py", self.problems("<!-- typed: daemon.gone -->\n```\nls\n```\n")[0])
        self.assertIn("does not name README.md", self.problems(TYPED, test="")[0])

    def test_at_most_a_tenth_is_not_typed(self):
        self.assertEqual(self.problems(TYPED * 8 + NOT_TYPED), ["1 of 9 blocks of commands are not typed, more than a tenth"])

    def test_a_reason_has_words(self):
        self.assertIn("is no reason", self.problems(TYPED * 9 + "<!-- not typed: slow -->\n```\nls\n```\n")[0])

    def test_commands_do_not_pass_as_what_is_shown(self):
        for line in ("$ ls", "h1# ls", "# lab/vm up 2", "paravane vm list", "sudo systemctl stop x", "PATH=/x paravane vm list",
                     "scripts/check --all", "curl -s x", "  ibv_devinfo -v"):
            with self.subTest(line=line):
                self.assertIn("has a command", self.problems(f"<!-- shows: an answer -->\n```\n{line}\n```\n")[0])
        for line in ("paravaned: bad.toml:2: wrong", "db1  off  -", '{"a": 1}', "address = 1  # this host's own", "head  128 bytes"):
            with self.subTest(line=line):
                self.assertEqual(self.problems(f"<!-- shows: an answer -->\n```\n{line}\n```\n"), [])

    def test_guides_say_it_in_their_first_line(self):
        self.assertEqual(check_blocks.said("console host=h1", ""), ("typed", "guests.guides"))
        self.assertEqual(check_blocks.said("console vm=vm1", "", "mellanox-infiniband.md"), ("typed", "infiniband.guide"))
        self.assertEqual(check_blocks.said('console vm=vm1 not-run="needs an adapter"', ""), ("not typed", "needs an adapter"))

    def test_marked_gives_a_test_its_blocks(self):
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "README.md").write_text(TYPED + NOT_TYPED)
            found = check_blocks.marked("daemon.pages", pathlib.Path(folder))
        self.assertEqual([block.lines for block in found["README.md"]], [["paravane vm list"]])


if __name__ == "__main__":
    unittest.main()
