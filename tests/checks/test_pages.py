"""Every link of a page of this repository leads somewhere: to a file, and to a heading of it."""
import os
import pathlib
import re
import subprocess
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ +(.*)$", re.MULTILINE)


def anchors(page):
    """As hosting sites name headings: small letters, hyphens for spaces, no punctuation."""
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in HEADING.findall(page.read_text())}


def links(page):
    """(file, anchor or empty) of each link to a file; what is in a block of code is none."""
    text = re.sub(r"^ *```.*?^ *```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"`[^`\n]*`", "", text)
    for target in LINK.findall(text):
        if not re.match(r"[a-z]+:", target):
            path, _, anchor = target.partition("#")
            yield (page.parent / path if path else page).resolve(), anchor


class PagesTest(unittest.TestCase):

    def test_every_link_leads_somewhere(self):
        names = subprocess.run(["git", "ls-files", "*.md"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\n")
        pages = [ROOT / name for name in names if name and (ROOT / name).exists()]
        self.assertGreater(len(pages), 10)
        for page in pages:
            for target, anchor in links(page):
                with self.subTest(page=str(page.relative_to(ROOT)), link=f"{target}#{anchor}"):
                    self.assertTrue(target.exists())
                    if anchor:
                        self.assertIn(anchor, anchors(target))

    def test_every_page_of_docs_is_linked(self):
        linked = {target for page in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")] for target, _ in links(page)}
        self.assertEqual([str(page) for page in (ROOT / "docs").rglob("*.md") if page.resolve() not in linked], [])

    def test_programs_that_pages_name_can_be_run(self):
        named = {name for page in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
                 for name in re.findall(r"\b(?:scripts|tests|lab|fuzz|tools)/[\w./-]*\w", page.read_text())}
        programs = [name for name in sorted(named) if (ROOT / name).is_file() and (ROOT / name).read_bytes()[:2] == b"#!"]
        self.assertGreater(len(programs), 10)
        self.assertEqual([name for name in programs if not os.access(ROOT / name, os.X_OK)], [])

    def test_the_figures_of_the_readme_are_those_of_the_performance_page(self):
        table = (ROOT / "README.md").read_text().split("<!-- figures of docs/performance.md -->\n")[1].split("\n\n")[0]
        proven = set(re.findall(r"\d[\d.]*", (ROOT / "docs" / "performance.md").read_text().replace(",", "")))
        rows = [row.split("|")[1:-1] for row in table.splitlines()[2:]]
        self.assertGreater(len(rows), 5)
        for what, ours, theirs, ratio, command in rows:
            with self.subTest(figure=what.strip()):
                self.assertTrue((ROOT / command.strip(" `").split()[0]).exists())
                found = re.findall(r"\d[\d.]*", " ".join([ours, theirs, ratio]).replace(",", ""))
                self.assertEqual([number for number in found if number not in proven], [])


if __name__ == "__main__":
    unittest.main()
