"""A VM whose memory is locked, on a host whose root may lock it, which the machine that runs
the tests need not be: the host is a guest, and the VM in it boots nothing."""
import pathlib
import shutil
import sys
import unittest

from guests import BUILD, ROOT
from host_programs import folder_in, put_program, put_script, put_users
from rig import Rig

sys.path.insert(0, str(ROOT / "lab"))
from runner import places  # noqa: E402  (the line above makes it importable)

CONFIG = '[vfio_user]\ngroup = "vm"\n[sandbox]\nuser = "engine"\n'
START = """
set -e
for folder in /run/paravane /run/paravane/vm /var/lib/paravane; do mkdir -p $folder; chown 990:990 $folder; done
cd /opt/host
export PARAVANE_VM_USER=vm PARAVANE_QEMU=/opt/host/qemu
./paravaned --config /opt/host/paravaned.toml >/tmp/paravaned.log 2>&1 </dev/null &
i=0; until ./paravane status >/dev/null 2>&1; do i=$((i+1)); [ $i -lt 300 ] || { cat /tmp/paravaned.log; exit 1; }; sleep 0.2; done
./paravane vm add cold --memory 64M --accelerator tcg --lock-memory
./paravane vm start cold
"""


# As the lab's own script starts it.
QEMU = """#!/bin/sh
exec /opt/host/tree/usr/lib64/ld-linux-x86-64.so.2 --argv0 qemu-system-x86_64 --inhibit-cache \\
  --library-path /opt/host/tree/usr/lib/x86_64-linux-gnu /opt/host/tree/usr/bin/qemu-system-x86_64 \\
  -L /opt/host/tree/usr/share/qemu -L /opt/host/tree/usr/share/seabios -L /opt/host/tree/usr/lib/ipxe/qemu "$@"
"""


class LockedMemory(unittest.TestCase):
    def test_memory_that_is_reserved_is_locked_where_root_may(self):
        rig = Rig()
        self.addCleanup(rig.close)
        folder = folder_in(rig.overlay)
        for name in "paravaned", "paravane":
            put_program(BUILD / "bin" / name, folder)
        usr = pathlib.Path(places.cache()) / "qemu" / "tree" / "usr"
        for name in "lib", "lib64", "share/qemu", "share/seabios":
            shutil.copytree(usr / name, folder / "tree" / "usr" / name, symlinks=True, ignore=shutil.ignore_patterns("edk2*"))
        (folder / "tree" / "usr" / "bin").mkdir()
        shutil.copy(usr / "bin" / "qemu-system-x86_64", folder / "tree" / "usr" / "bin")
        put_script(folder / "qemu", QEMU)
        (folder / "paravaned.toml").write_text(CONFIG)
        put_users(rig.overlay, engine=990, vm=991)
        rig.up(1, "--memory", "2048")
        rig.shell(1, START, timeout=240)
        # Nobody else there locks so much.
        locked = rig.shell(1, "grep -h VmLck /proc/[0-9]*/status || true")
        self.assertGreaterEqual(max(int(line.split()[1]) for line in locked.splitlines()), 64 * 1024, locked)


if __name__ == "__main__":
    unittest.main()
