"""Types the blocks of README.md and docs/ that say `typed: guests.pages`: those for which it takes a real guest."""
import os
import pathlib
import shutil
import sys
import tempfile
import unittest

from guests import ROOT

sys.path.append(str(ROOT / "tests" / "daemon"))
import typed_page  # noqa: E402  (the line above makes it importable)
from terminal import at_terminal  # noqa: E402

BLOCKS = typed_page.marked("guests.pages")
PATIENCE_S = 400  # guests boot on a busy machine, and what the lab lacks is made


class Pages(unittest.TestCase):
    """A method for each page."""

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="paravane-test-"))
        self.folder.chmod(0o711)  # for the daemon, who is nobody
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        # Folders of its own: other labs and clusters are left alone.
        self.environment = {**os.environ, "LAB_STATE": str(self.folder / "lab"), "LAB_CLUSTER": str(self.folder / "cluster")}

    def type(self, block):
        typed = typed_page.commands(block)
        text, _ = at_terminal(["bash", "-c", f"cd '{ROOT}'\n{typed_page.script_of(typed)}"], (), PATIENCE_S, self.environment)
        for one, (lines, status) in zip(typed, typed_page.results(text, typed)):
            self.assertEqual(status, 0, f"{block.page.name}:{block.line}: {one.text}\n" + "\n".join(lines))
        return text

    def test_lab(self):
        vms, cluster = BLOCKS["lab.md"]
        self.addCleanup(self.type_end, "lab/vm down")
        text = self.type(vms)
        self.assertIn("PORT_ACTIVE", text)
        self.assertRegex(text, r"(?m)^ *65536 +\d+ +[\d.]+ +[\d.]*[1-9]")
        self.addCleanup(self.type_end, "lab/cluster down")
        self.type(cluster)

    def type_end(self, command):
        """What a block that failed has left is ended."""
        at_terminal(["bash", "-c", f"cd '{ROOT}'\n{command}"], (), PATIENCE_S, self.environment)

    def test_every_page_is_typed(self):
        text = pathlib.Path(__file__).read_text(encoding="utf-8")
        self.assertEqual([page for page in BLOCKS if f'BLOCKS["{page}"]' not in text], [])


if __name__ == "__main__":
    unittest.main()
