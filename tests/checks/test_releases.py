"""The version, CHANGELOG.md, Debian's changelog and packaging/releases say the same."""
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests" / "releases"))
import history  # noqa: E402  (the line above makes it importable)

ENTRY = re.compile(r"^## \[(\d+\.\d+\.\d+)\] - (Unreleased|\d{4}-\d\d-\d\d)$", re.MULTILINE)


def number(version):
    return [int(part) for part in version.split(".")]


class ReleasesTest(unittest.TestCase):
    def setUp(self):
        self.version = re.search(r"^project\(paravane VERSION ([0-9.]+) ", (ROOT / "CMakeLists.txt").read_text(), re.MULTILINE)[1]
        self.changelog = (ROOT / "CHANGELOG.md").read_text()
        self.entries = ENTRY.findall(self.changelog)

    def test_the_changelog_has_an_entry_for_each_version_the_newest_first(self):
        self.assertEqual(re.findall(r"^## .*$", self.changelog, re.MULTILINE),
                         [f"## [{version}] - {date}" for version, date in self.entries])
        self.assertEqual(self.entries[0][0], self.version)
        versions = [number(version) for version, _ in self.entries]
        self.assertEqual(versions, sorted(versions, reverse=True))

    def test_each_release_has_its_line_and_a_date(self):
        # The first is under development, or is the commit that a line will name.
        released = self.entries[1:]
        self.assertNotIn("Unreleased", [date for _, date in released])
        self.assertEqual([release.version for release in history.releases()], [version for version, _ in released][::-1])

    def test_the_package_has_the_version(self):
        said = subprocess.run([ROOT / "scripts" / "package", "--version"], capture_output=True, text=True, check=True).stdout
        # Of what is committed.
        self.assertRegex(said, rf"^{re.escape(history.version_of('HEAD'))}(\+git\d{{14}}\.[0-9a-f]+)?\n$")

    def test_commits_of_releases_are_in_the_history_with_that_version(self):
        for release in history.releases():
            self.assertEqual(history.why_missing(release), "")
            self.assertEqual(history.version_of(release.commit), release.version)

    def test_what_is_no_version_and_commit_is_refused(self):
        for line in ("0.1.0", "0.1.0 940a32f", "v0.1.0 " + "0" * 40, "0.1.0 " + "0" * 40 + " x"):
            with self.assertRaisesRegex(ValueError, "is not VERSION COMMIT"):
                history.read_releases(f"# a comment\n\n{line}\n")

    def test_a_shallow_clone_says_what_to_do(self):
        release = history.releases()[0]
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run(["git", "clone", "-q", "--depth", "1", "--no-checkout", ROOT.as_uri(), folder], check=True)
            self.assertIn("which is shallow: git fetch --unshallow", history.why_missing(release, root=folder))
        self.assertIn("see packaging/releases", history.why_missing(history.Release("0.0.1", "0" * 40)))


if __name__ == "__main__":
    unittest.main()
