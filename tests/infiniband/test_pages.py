"""The commands of docs/infiniband.md, typed as they stand there."""
import contextlib
import os
import pathlib
import signal
import subprocess
import sys
import unittest

from fabric_rig import BIN, PATIENCE_S, FabricTest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "daemon"))
import typed_page  # noqa: E402  (the line above makes it importable)

BLOCKS = typed_page.marked("infiniband.pages")


class Pages(FabricTest):
    ADAPTERS = {}

    def setUp(self):
        super().setUp()
        # `paravane` is at this daemon, and opensm keeps its files in the test's folder.
        home = self.folder / "bin"
        home.mkdir()
        (home / "paravane").write_text(f'#!/bin/sh\nexec {BIN}/paravane --socket {self.api} "$@"\n')
        (home / "paravane").chmod(0o755)
        for name in ("esxcfg-module", "mgmt-mlx"):
            (home / name).symlink_to(BIN / "paravane")
        self.environment = os.environ | {"PARAVANE_SOCKET": str(self.api), "PATH": f"{home}:{os.environ['PATH']}", "OSM_CACHE_DIR": str(self.folder),
                                         "OSM_TMP_DIR": str(self.folder)}
        self.addCleanup(self.end_managers)

    def end_managers(self):
        """Those that went into the background."""
        for process in pathlib.Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if f"OSM_CACHE_DIR={self.folder}\0".encode() in (process / "environ").read_bytes():
                    os.kill(int(process.name), signal.SIGKILL)

    def type(self, block):
        typed = typed_page.commands(block)
        done = subprocess.run(["bash", "-c", f"cd '{self.folder}'\n" + typed_page.script_of(typed)], env=self.environment,
                              capture_output=True, text=True, timeout=PATIENCE_S, check=False, stdin=subprocess.DEVNULL)
        for one, (lines, status) in zip(typed, typed_page.results(done.stdout, typed)):
            self.assertEqual(status, 0, f"{one.text}: {lines}\n{done.stderr}")

    def test_infiniband(self):
        begin, end, modules, capture = BLOCKS["infiniband.md"]
        self.type(begin)
        self.wait_active()
        self.type(modules)
        self.wait_active()
        self.type(capture)
        self.type(end)
        self.assertEqual(self.adapters(), [])


if __name__ == "__main__":
    unittest.main()
