"""A Debian of a test's own: an overlay over a tree of tests/packages/tree, entered by chroot.

What the test does to it is gone when it ends. Must run in a mount namespace of its own
(tests/packages/run sees to it), so that no mount outlives it either.
"""

import contextlib
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache")) / "paravane"
PATIENCE_S = 1800
PATIENCE_TO_END_S = 20
PATIENCE_TO_BUILD_S = 7200  # all of it, on a busy machine

# What any installation changes, and files that were there before under the same name.
NOT_OURS = ("/proc", "/dev", "/run/lock", "/tmp", "/var/lib/dpkg/info", "/var/lib/dpkg/triggers", "/var/lib/dpkg/updates",
            "/var/cache", "/var/lib/apt", "/var/log", "/packages")


def remove_leftovers():
    """Of runs that were killed; their mounts ended with them."""
    for folder in (CACHE / "packages").glob("run-*-*"):
        if not pathlib.Path("/proc", folder.name.split("-")[1]).exists():
            shutil.rmtree(folder)


class Failed(AssertionError):
    """A command in the Debian failed that should not have."""


class Debian:
    def __init__(self, suite, kind="base"):
        lower = subprocess.run([ROOT / "tests/packages/tree", suite, kind], check=True, stdout=subprocess.PIPE,
                               text=True).stdout.strip()
        self.suite = suite
        (CACHE / "packages").mkdir(parents=True, exist_ok=True)
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix=f"run-{os.getpid()}-", dir=CACHE / "packages"))
        self.root = self.folder / "root"
        for name in "root", "upper", "work":
            (self.folder / name).mkdir()
        mount("-t", "overlay", "overlay", "-o",
              f"lowerdir={lower},upperdir={self.folder}/upper,workdir={self.folder}/work", self.root)
        mount("-t", "proc", "proc", self.root / "proc")
        mount("-t", "tmpfs", "tmp", self.root / "tmp")
        # Packages are downloaded once.
        self.bind(CACHE / "packages" / f"{suite}-archives", "var/cache/apt/archives")
        # No service starts by itself.
        policy = self.root / "usr/sbin/policy-rc.d"
        policy.write_text("#!/bin/sh\nexit 101\n")
        policy.chmod(0o755)
        shutil.copy("/etc/resolv.conf", self.root / "etc/resolv.conf")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end_processes()
        subprocess.run(["umount", "-R", self.root], check=False)
        if not os.path.ismount(self.root):
            shutil.rmtree(self.folder)

    def end_processes(self):
        """Those of a command that was interrupted: what it has started may outlive it."""
        end = time.monotonic() + PATIENCE_TO_END_S
        while (left := list(self.processes())) and time.monotonic() < end:
            for process in left:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)
            time.sleep(0.1)

    def processes(self):
        """Whose root directory it is."""
        for entry in pathlib.Path("/proc").iterdir():
            with contextlib.suppress(OSError):
                if entry.name.isdigit() and os.readlink(entry / "root") == str(self.root):
                    yield int(entry.name)

    def bind(self, outside, inside):
        outside.mkdir(parents=True, exist_ok=True)
        (self.root / inside).mkdir(parents=True, exist_ok=True)
        mount("--bind", outside, self.root / inside)

    def words(self, *words):
        """A command line that runs there."""
        return ["chroot", str(self.root), *map(str, words)]

    def try_run(self, *words, env=None, patience_s=PATIENCE_S):
        """Runs a command; its output and complaints together. After `patience_s` it is ended,
        and what it has started."""
        environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LC_ALL": "C.UTF-8",
                       "DEBIAN_FRONTEND": "noninteractive", **(env or {})}
        bound = "timeout", "--kill-after=10", patience_s
        process = subprocess.Popen(self.words(*bound, *words), env=environment, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
        try:
            said, _ = process.communicate()
        except BaseException:
            process.terminate()  # timeout(1) passes it on to all that it has started
            process.communicate()
            raise
        return subprocess.CompletedProcess(words, process.returncode, said)

    def run(self, *words, env=None):
        done = self.try_run(*words, env=env)
        if done.returncode:
            raise Failed(f"{' '.join(map(str, words))}: exit status {done.returncode}\n{done.stdout[-6000:]}")
        return done.stdout

    def update(self):
        self.run("apt-get", "-q", "update")

    def install(self, *packages):
        """With apt; files by their path there."""
        return self.run("apt-get", "-q", "-y", "install", *packages)

    def bring(self, *packages):
        """Copies packages in; returns their paths there."""
        (self.root / "packages").mkdir(exist_ok=True)
        for package in packages:
            shutil.copy(package, self.root / "packages")
        return [f"/packages/{package.name}" for package in packages]

    def files(self):
        """Every path there is, but for what any installation changes."""
        found = set()
        for folder, folders, files in os.walk(self.root):
            inside = "/" + os.path.relpath(folder, self.root).removeprefix(".")
            folders[:] = [name for name in folders if os.path.join(inside, name) not in NOT_OURS]
            found.update(os.path.join(inside, name) for name in folders + files)
        return found


def mount(*words):
    subprocess.run(["mount", *map(str, words)], check=True)
