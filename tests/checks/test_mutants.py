"""Each patch of tests/mutants.d applies to the source as it is: one that does not shows nothing."""
import pathlib
import subprocess
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


class MutantsTest(unittest.TestCase):
    def test_every_patch_applies(self):
        patches = sorted((ROOT / "tests" / "mutants.d").glob("*.patch"))
        self.assertTrue(patches)
        for patch in patches:
            with self.subTest(patch.name):
                words = ["patch", "-p1", "--dry-run", "--forward", "--batch", "-i", str(patch)]
                done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
