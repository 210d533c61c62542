"""What guests sent, as `paravane sniff` wrote it, read by each Debian's Wireshark: 4.0 and 4.4."""

import os
import pathlib
import subprocess
import sys
import tempfile

from debian import ROOT, Debian
from suites import OfEachSuite


class Tshark(OfEachSuite):
    """The daemon is that of build/release and runs outside: only tshark is of the Debian."""

    def test_captures_are_read(self):
        with Debian(self.suite) as debian:
            debian.update()
            debian.install("--no-install-recommends", "tshark")
            debian.bind(pathlib.Path(tempfile.gettempdir()), "tmp")  # the captures are there
            tshark = debian.folder / "bin" / "tshark"
            tshark.parent.mkdir()
            tshark.write_text(f'#!/bin/sh\nexec {" ".join(debian.words("tshark"))} "$@"\n')
            tshark.chmod(0o755)
            done = subprocess.run([sys.executable, ROOT / "tests/guests/run.py", "--all", "--jobs", "1", "-k", "Sniffed."],
                                  env={**os.environ, "PATH": f'{tshark.parent}:{os.environ["PATH"]}'},
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stdout[-6000:])
            self.assertRegex(done.stdout, r"\b1[0-9] passed, 0 failed, 0 skipped\n")
