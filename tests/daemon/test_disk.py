"""No free disk, and a disk that cannot be written: a clear error, nothing lost.

The state directory is a small file system in a mount namespace that outlives
the daemons of a test.
"""

import os
import pwd
import subprocess
import unittest

from rig import BIN, ENGINE_USER, DaemonTest, wait_for

AS_ROOT = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
LIMITS = [word for limit in ("queue_pairs=64", "completion_queues=64", "memory_regions=1024",
                             "protection_domains=64", "address_handles=64", "contexts=64",
                             "gids=64", "reads_outstanding=16", "sges=16")
          for word in ("--limit", limit)]


OWNED = "" if AS_ROOT else f",uid={pwd.getpwnam(ENGINE_USER).pw_uid}"


class Disk(DaemonTest):
    def mount_state(self, options):
        """Puts a tmpfs over the state directory, seen by enter() alone."""
        self.holder = self.spawn(
            "unshare", "--mount", *AS_ROOT, "sh", "-c",
            f"mount -t tmpfs -o {options}{OWNED} none '{self.state}' && echo mounted && exec sleep 600")
        wait_for(self.is_mounted, "the file system")
        user = ["--user", "--preserve-credentials"] if AS_ROOT else []
        self.enter = ["nsenter", f"--target={self.holder.pid}", "--mount", "--root", *user]

    def is_mounted(self):
        # In a changed root that is no mount point, a mount namespace cannot be made private.
        if self.holder.poll() is not None:
            self.fail("no mount namespace: " + self.log_text())
        return "mounted" in self.log_text()

    def remount(self, options):
        subprocess.run([*self.enter, "mount", "-o", f"remount,{options}", str(self.state)],
                       check=True)

    def add_until_full(self):
        names = []
        for number in range(200):
            name = f"a-name-that-takes-room-{number:03}"
            done = self.cli("vm", "add", name, *LIMITS, check=False)
            if done.returncode != 0:
                return names, done
            names.append(name)
        self.fail("the disk did not fill up")

    def test_full_disk_loses_nothing(self):
        self.mount_state("size=64k")
        daemon = self.start(*self.enter)
        names, failure = self.add_until_full()
        self.assertGreater(len(names), 3)
        self.assertEqual(failure.returncode, 1)
        self.assertIn("no free disk space", failure.stderr)
        self.assertIn(str(self.state), failure.stderr)
        self.assertIn("nothing was changed", failure.stderr)
        # Nothing of the failed one stays, and the others are as they were.
        self.assertEqual(self.vm_names(), names)
        self.assertEqual(sorted(p.stem for p in self.vms.glob("*.sock")), names)
        self.assertEqual(self.stop(daemon), 0)
        daemon = self.start(*self.enter)
        self.assertEqual(self.vm_names(), names)
        # With room again it goes on.
        self.remount("size=1m")
        self.cli("vm", "add", "the-next", *LIMITS)
        self.assertEqual(self.vm_names(), names + ["the-next"])
        self.assertEqual(self.stop(daemon), 0)

    def test_disk_without_any_room_is_named_at_start(self):
        self.mount_state("size=4k")
        subprocess.run([*self.enter, "sh", "-c", f"head -c 4096 /dev/zero > '{self.state}/full'"],
                       check=True)
        status, complaint = self.run_daemon(*self.enter, BIN / "paravaned", "--config", self.config)
        self.assertEqual(status, 1)
        self.assertIn("no free disk space", complaint)

    def test_directory_that_cannot_be_written_is_named(self):
        self.mount_state("ro")
        status, complaint = self.run_daemon(*self.enter, BIN / "paravaned", "--config", self.config)
        self.assertEqual(status, 1)
        self.assertIn(f"state.directory {self.state} is not writable", complaint)
        self.assertIn("Read-only file system", complaint)


class SocketDirectory(Disk):
    def mount_state(self, options):
        self.state, kept = self.vms, self.state
        super().mount_state(options)
        self.state = kept

    def test_full_disk_loses_nothing(self):
        """Sockets are inodes: a file system that has no more of them."""
        self.mount_state("nr_inodes=6")
        self.start(*self.enter)
        names = []
        for number in range(20):
            done = self.cli("vm", "add", f"vm{number}", check=False)
            if done.returncode != 0:
                break
            names.append(f"vm{number}")
        self.assertEqual(done.returncode, 1, "the file system did not fill up")
        self.assertIn(f"{self.vms}/vm{len(names)}.sock", done.stderr)
        self.assertEqual(self.vm_names(), names)
        self.cli("vm", "remove", names[0])
        self.cli("vm", "add", "another")

    def test_disk_without_any_room_is_named_at_start(self):
        """A VM whose socket cannot be made does not keep the others from starting."""
        daemon = self.start()
        self.cli("vm", "add", "a")
        self.cli("vm", "add", "b")
        self.assertEqual(self.stop(daemon), 0)
        self.mount_state("nr_inodes=3")
        self.start(*self.enter)
        rows = self.vm_rows()
        self.assertEqual([row["state"] for row in rows], ["detached", "failed"])
        self.assertIn("b.sock", rows[1]["problem"])

    def test_directory_that_cannot_be_written_is_named(self):
        self.mount_state("ro")
        status, complaint = self.run_daemon(*self.enter, BIN / "paravaned", "--config", self.config)
        self.assertEqual(status, 1)
        self.assertIn(f"vfio_user.socket_directory {self.vms} is not writable", complaint)


if __name__ == "__main__":
    unittest.main()
