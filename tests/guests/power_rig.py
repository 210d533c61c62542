"""PowerRig: VMs that paravane itself runs, as child processes and as a user without rights.

They are the lab's guests, described by `vm add`; nothing of the lab's own runner starts them.
QEMU is the lab's, linked to where that user can read it. All is in a network namespace of its
own, with a bridge and a tap for each adapter that a VM has or may get.
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time
import types

from guests import BUILD, ROOT, Failed, wait_for
from rig import Rig

sys.path.insert(0, str(ROOT / "lab"))
from runner import network, overlay, places, qemu_command  # noqa: E402  (the line above makes it importable)

QEMU_USER = "nobody"
START = """#!/bin/dash
case $(cat /proc/cmdline) in *test.button*)
  insmod /button.ko; insmod /evdev.ko
  for event in /dev/input/event*; do (head -c 1 "$event" >/dev/null && poweroff -f) & done ;;
esac
"""
# The guest's first process wants the lab's serial port.
AGENT = ["-device", "virtio-serial-pci,id=agent,addr=1c.0", "-chardev", "null,id=p1",
         "-device", "virtserialport,bus=agent.0,chardev=p1,name=lab.1"]


def copy_tree(source, target):
    """With links to its files where the file system can, else with copies."""
    def place(one, other):
        try:
            os.link(one, other)
        except OSError:
            shutil.copy2(one, other)
    shutil.copytree(source, target, symlinks=True, copy_function=place)


def copy_modules(folder, *names):
    """There, some of the guest's kernel that its image lacks."""
    modules = pathlib.Path(places.cache()) / f"guest-{places.guest_name()}" / "kernel" / "modules"
    for name in names:
        shutil.copy(next(modules.rglob(name)), folder)


def make_images(folder, more, layers=()):
    """There, what guests boot: vmlinux, and initrd with the lab's layers and the files of an overlay, which then have an ear for
    the power button too, if their kernel is told test.button."""
    copy_modules(more, "button.ko", "evdev.ko", "virtio_blk.ko")
    start = more / "lab-start"
    start.write_text(START)
    start.chmod(0o755)
    packed = overlay.pack(str(more), types.SimpleNamespace(folder=str(folder / "packed")))
    with (folder / "initrd").open("wb") as image:
        for part in (places.guest_image("initramfs.cpio"), *map(places.guest_layer, layers), packed):
            with open(part, "rb") as file:
                shutil.copyfileobj(file, image)
    shutil.copy(places.guest_image("vmlinux"), folder / "vmlinux")


class GuestConsole:
    """A shell at a guest's serial line, through `paravane vm console`."""

    def __init__(self, rig, vm):
        self.process = subprocess.Popen(rig.words("vm", "console", vm), env=rig.environment_of_vms(), stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        os.set_blocking(self.process.stdout.fileno(), False)
        self.text = ""

    def type(self, text):
        self.process.stdin.write(text.encode())
        self.process.stdin.flush()

    def wait_for(self, pattern, timeout):
        def found():
            self.text += (self.process.stdout.read() or b"").decode(errors="replace").replace("\r", "")
            return re.search(pattern, self.text)
        try:
            return wait_for(f"{pattern} on the console", found, timeout)
        except Failed as late:
            raise Failed(f"{late}\n{self.text[-3000:]}") from None

    def leave(self):
        if self.process.poll() is None:
            self.type("\x1d")
            self.process.wait(10)
        self.process.stdin.close()
        self.process.stdout.close()


class PowerRig(Rig):
    """A daemon, and what VMs need that `paravane vm start` runs."""

    def __init__(self, extra_config="", layers=(), files=None):
        """`layers`: the lab's, for the guests; `files`: name -> text of more that they have, in /."""
        super().__init__(extra_config)
        for name, text in (files or {}).items():
            (self.overlay / name).write_text(text)
        self.folder.chmod(0o711)
        self.namespace = f"pvm-{os.getpid()}"
        self.taps = []
        subprocess.run(["ip", "netns", "add", self.namespace], check=True)
        self.ip("link", "add", "br0", "type", "bridge")
        self.ip("link", "set", "br0", "up")
        copy_tree(pathlib.Path(places.cache()) / "qemu", self.folder / "qemu")
        (self.folder / "qemu").chmod(0o755)
        (self.folder / "run").mkdir()
        make_images(self.folder, self.overlay, layers)

    def ip(self, *words):
        subprocess.run(["ip", "-n", self.namespace, *words], check=True)

    # ---- the command line ----

    def environment_of_vms(self, **more):
        return {**os.environ, "PARAVANE_VM_DIRECTORY": str(self.folder / "run"), "PARAVANE_VM_USER": QEMU_USER,
                "PARAVANE_QEMU": str(self.folder / "qemu" / "qemu-system-x86_64"), **more}

    def words(self, *words):
        return ["ip", "netns", "exec", self.namespace, BUILD / "bin" / "paravane", "--socket", self.folder / "api.sock", *words]

    def run(self, *words, status=0, text=None, **environment):
        """A command that must end so. Returns what it wrote."""
        done = subprocess.run(self.words(*words), env=self.environment_of_vms(**environment), capture_output=True, text=True,
                              timeout=180, check=False, **({"stdin": subprocess.DEVNULL} if text is None else {"input": text}))
        if done.returncode != status:
            raise Failed(f"paravane {' '.join(words)}: exit status {done.returncode}, not {status}\n{done.stdout}{done.stderr}\n"
                         f"daemon: {self.daemon_log()[-2000:]}")
        return done.stdout if status == 0 else done.stderr

    def checked(self, vm):
        """What vm check says of it, whatever that is."""
        done = subprocess.run(self.words("--formatter=json", "vm", "check", vm), env=self.environment_of_vms(), capture_output=True,
                              text=True, timeout=60, check=False)
        return json.loads(done.stdout)

    def rows(self, vm):
        """A row for each adapter of a VM, with what the VM has beside it."""
        found = next(one for one in json.loads(self.run("--formatter=json", "vm", "list")) if one["name"] == vm)
        return [{**found, **adapter} for adapter in found["adapters"]]

    def row(self, vm):
        return self.rows(vm)[0]

    # ---- VMs ----

    def add_tap(self, name):
        self.ip("tuntap", "add", name, "mode", "tap")
        self.ip("link", "set", name, "master", "br0", "up")

    def add_guest(self, index, *options, append=""):
        """vmI, at 10.77.0.I."""
        name = f"vm{index}"
        self.add_tap(f"pv-{name}")
        line = f"{qemu_command.KERNEL_LINE} lab.name={name} lab.addresses={network.guest_address(index, 1)} lab.rdma=1 {append}"
        self.run("vm", "add", name, "--memory", "512M", "--accelerator", "tcg", "--cpu-model", qemu_command.CPU_MODELS["tcg"],
                 "--kernel", str(self.folder / "vmlinux"), "--initrd", str(self.folder / "initrd"), "--append", line,
                 *(f"--qemu-arg={word}" for word in AGENT), *options)
        return name

    def wait_booted(self, vm, timeout=120):
        self.shell_of(vm, "until ibv_devinfo | grep -q PORT_ACTIVE; do sleep 0.2; done", timeout)

    def shell_of(self, vm, script, timeout=60):
        """Runs a line of shell in a guest; returns what it wrote. It must succeed."""
        console = GuestConsole(self, vm)
        try:
            # Nobody reads the line before the shell is there, which also says so. What is typed
            # comes back as well, so it is not what is waited for.
            end = time.monotonic() + timeout
            while True:
                console.type("\necho RE\\ADY\n")
                try:
                    console.wait_for("READY", 2)
                    break
                except Failed:
                    if time.monotonic() > end:
                        raise
            console.type(f"echo BE\\GIN; {script}; echo EN\\D-$?-\n")
            found = console.wait_for(r"(?s)BEGIN\n(.*)END-([0-9]+)-", timeout)
        finally:
            console.leave()
        if found[2] != "0":
            raise Failed(f"{vm}: {script}: exit status {found[2]}\n{found[1]}")
        return found[1]

    def power_off(self, vm):
        if self.row(vm)["power"] == "running":
            self.run("vm", "stop", vm, "--force")

    def close(self):
        try:
            for name in {row["name"] for row in json.loads(self.run("--formatter=json", "vm", "list"))}:
                self.power_off(name)
        finally:
            super().close()
            subprocess.run(["ip", "netns", "del", self.namespace], check=True)
