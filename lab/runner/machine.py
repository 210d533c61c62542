"""One VM of a lab: its folder, its QEMU process, its boots."""

import json
import os
import shlex
import shutil
import socket
import time

from . import device_arguments, network, processes, qemu_command
from .channel import Channel
from .errors import LabError
from .places import guest_image, tail

READY = b"LAB-READY"
PANIC = b"Kernel panic"
BOOT_SECONDS = 120


class Machine:
    """May exist on disk only; nothing here is kept in memory between commands."""

    def __init__(self, state, index):
        self.state = state
        self.index = index
        self.name = f"vm{index}"
        self.folder = state.vm_folder(index)
        self.options = self._saved_options()

    def path(self, name):
        return os.path.join(self.folder, name)

    def _saved_options(self):
        try:
            with open(self.path("options.json"), encoding="utf-8") as file:
                return json.load(file)
        except (OSError, ValueError):
            return {}

    def pid(self):
        return processes.recall(self.path("pid"))

    def require_running(self):
        if self.pid() is None:
            raise LabError(self.name, "not running", f"lab/vm up --first {self.index} 1",
                           tail(self.path("qemu.log"), 5))

    def start(self, options, accelerator):
        """Starts QEMU and returns; wait_ready() tells when the guest is up."""
        shutil.rmtree(self.folder, ignore_errors=True)
        os.makedirs(self.folder, mode=0o700)
        self.options = options
        with open(self.path("options.json"), "w", encoding="utf-8") as file:
            json.dump(options, file)
        self._append_overlays()
        if not options["netns"]:
            network.add_taps(self.state.namespace, self.index, options["adapters"], options["mtu"])
        command = qemu_command.command(self, accelerator, device_arguments.for_vm(self))
        with open(self.path("qemu.command"), "w", encoding="utf-8") as file:
            file.write(shlex.join(command) + "\n")
        with open(self.path("qemu.log"), "wb") as log:
            processes.start(self.path("pid"), network.inside(options["netns"] or self.state.namespace) + command,
                            cwd=self.folder, stdout=log)

    def _append_overlays(self):
        if not self.options["overlay"]:
            return
        with open(self.path("initramfs.cpio"), "wb") as image:
            for part in (guest_image("initramfs.cpio"), *self.options["overlay"]):
                with open(part, "rb") as file:
                    shutil.copyfileobj(file, image)

    def console_count(self, words):
        """How often the guest's console showed these words."""
        try:
            with open(self.path("console.log"), "rb") as file:
                return file.read().count(words)
        except OSError:
            return 0

    def boots_seen(self):
        return self.console_count(READY)

    def wait_ready(self, boots=1, seconds=BOOT_SECONDS):
        """Until the guest said LAB-READY `boots` times and its agent answers."""
        limit = time.monotonic() + seconds
        panics = self.console_count(PANIC) if boots > 1 else 0
        while self.boots_seen() < boots:
            if self.pid() is None:
                raise LabError(self.name, "its QEMU ended while the guest booted",
                               "see the end of its log above",
                               tail(self.path("qemu.log"), 10))
            if self.console_count(PANIC) > panics:
                raise self._boot_error("its kernel panicked while it booted")
            if time.monotonic() > limit:
                raise self._boot_error(f"no LAB-READY within {seconds:g} s")
            time.sleep(0.05)
        with Channel(self) as channel:
            channel.hello()

    def _boot_error(self, cause):
        return LabError(self.name, cause, f"see the console above ({self.path('console.log')})",
                        tail(self.path("console.log"), 60) + tail(self.path("qemu.log"), 5))

    def kill(self):
        """As if the host's power failed: no device of the VM is told anything."""
        processes.kill(self.path("pid"))

    def down(self):
        processes.stop(self.path("pid"))
        network.remove_taps(self.state.namespace, self.index)
        shutil.rmtree(self.folder, ignore_errors=True)

    def monitor(self, command):
        """One QMP command; its answer is waited for."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as qmp:
            qmp.settimeout(30)
            folder = os.open(self.folder, os.O_PATH | os.O_DIRECTORY)
            try:
                qmp.connect(f"/proc/self/fd/{folder}/qmp.sock")
            finally:
                os.close(folder)
            answers = qmp.makefile("rb")
            answers.readline()
            for name in ("qmp_capabilities", command):
                qmp.sendall(json.dumps({"execute": name}).encode() + b"\n")
                while b'"return"' not in (line := answers.readline()):
                    if not line or b'"error"' in line:
                        raise LabError(self.name, f"QEMU refused {name}: {line.decode()}", "")
