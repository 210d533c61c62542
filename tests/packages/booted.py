"""A Debian with a systemd of its own, in namespaces and a control group of its own.

Nothing of it reaches the machine: it has its own processes, mounts, network and /dev,
and its group is killed and removed when the test ends.
"""

import pathlib
import subprocess
import time

PATIENCE_S = 120

# Runs in the new namespaces; $1 is the root, $2 the address of its only NIC, if there is one.
START = r"""
set -e
if [ -n "$2" ]; then
  ip link add eth0 type veth peer name cable
  ip address add "$2/24" dev eth0
  ip link set eth0 up
  ip link set cable up
fi
mount --rbind "$1" "$1"
mount -t proc proc "$1/proc"
mount -t sysfs -o ro sysfs "$1/sys"
mount -t tmpfs tmpfs "$1/sys/fs/cgroup"
mount -t cgroup2 cgroup2 "$1/sys/fs/cgroup"
mount -t tmpfs -o mode=755 tmpfs "$1/run"
mount -t tmpfs -o mode=755 tmpfs "$1/dev"
for device in null zero full random urandom tty net/tun; do
  [ -e "/dev/$device" ] || continue
  mkdir -p "$(dirname "$1/dev/$device")"
  : >"$1/dev/$device"
  mount --bind "/dev/$device" "$1/dev/$device"
done
exec env -i container=paravane-test PATH=/usr/sbin:/usr/bin:/sbin:/bin chroot "$1" \
  /lib/systemd/systemd --show-status=no --unit=multi-user.target
"""


def unified_hierarchy():
    """Where the machine's control groups (version 2) are, or None."""
    for line in pathlib.Path("/proc/mounts").read_text().splitlines():
        fields = line.split()
        if fields[2] == "cgroup2":
            return pathlib.Path(fields[1])
    return None


class Booted:
    """Boots `debian`, in which systemd-sysv must be installed. Its network is empty, but for a NIC
    if it has an address. When it has ended it can be booted again."""

    def __init__(self, debian, address=""):
        self.group = unified_hierarchy() / debian.folder.name
        self.group.mkdir()
        # What systemd has to itself it mounts itself.
        subprocess.run(["umount", debian.root / "proc"], check=False, stderr=subprocess.DEVNULL)
        join = f'echo $$ >{self.group}/cgroup.procs && exec "$@"'
        with (debian.folder / "systemd.log").open("wb") as log:
            self.process = subprocess.Popen(
                ["sh", "-c", join, "sh", "unshare", "--cgroup", "--pid", "--fork", "--mount", "--uts", "--ipc", "--net",
                 "--kill-child", "sh", "-c", START, "sh", debian.root, address], stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self.log = debian.folder / "systemd.log"
        self.init = None
        self.wait_until_it_runs()

    def wait_until_it_runs(self):
        end = time.monotonic() + PATIENCE_S
        while True:
            children = pathlib.Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
            found = children.read_text().split() if children.exists() else []
            if found:
                self.init = int(found[0])
                if self.try_run("systemctl", "is-system-running").stdout.strip() in ("running", "degraded"):
                    return
            if self.process.poll() is not None or time.monotonic() > end:
                raise AssertionError(f"systemd does not run:\n{self.log.read_text()[-3000:]}")
            time.sleep(0.2)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        (self.group / "cgroup.kill").write_text("1")
        self.process.wait(60)
        end = time.monotonic() + PATIENCE_S
        while "populated 1" in (self.group / "cgroup.events").read_text() and time.monotonic() < end:
            time.sleep(0.05)
        for folder in sorted(self.group.rglob("*/"), key=lambda path: -len(path.parts)):
            if folder.is_dir():
                folder.rmdir()
        self.group.rmdir()

    def path(self, inside):
        """A file of its as the machine sees it."""
        return pathlib.Path(f"/proc/{self.init}/root") / inside

    def try_run(self, *words):
        root = f"/proc/{self.init}/root"
        return subprocess.run(
            ["nsenter", "--target", str(self.init), "--mount", "--pid", "--uts", "--ipc", "--net", "--cgroup",
             f"--root={root}", f"--wd={root}", "env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C.UTF-8",
             "DEBIAN_FRONTEND=noninteractive", *map(str, words)],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
            check=False, timeout=600)

    def run(self, *words):
        done = self.try_run(*words)
        if done.returncode:
            raise AssertionError(f"{' '.join(map(str, words))}: exit status {done.returncode}\n{done.stdout[-4000:]}\n"
                                 f"{self.log.read_text()[-4000:]}")
        return done.stdout
