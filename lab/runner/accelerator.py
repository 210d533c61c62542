"""KVM only where it is known to boot a stock kernel, else TCG.

A kernel may offer /dev/kvm and still hang in a stock guest (nested and
paravirtual flavours do), so it is tried once, with a time limit, and the verdict
is kept in the cache for this host kernel and this guest.
"""

import json
import os
import subprocess
import tempfile
import time

from .places import cache, guest_image, guest_name, qemu_binary
from .qemu_command import CPU_MODELS, KERNEL_LINE

LIMIT_SECONDS = 15
DEVICE = "/dev/kvm"


def verdict_file():
    return os.path.join(cache(), f"kvm-verdict-{guest_name()}.json")


def host_key():
    return {"kernel": os.uname().release, "image": os.path.realpath(guest_image("vmlinux"))}


def remembered():
    try:
        with open(verdict_file(), encoding="ascii") as file:
            verdict = json.load(file)
    except (OSError, ValueError):
        return None
    return verdict["accelerator"] if verdict.get("key") == host_key() else None


def boots_with_kvm():
    with tempfile.TemporaryDirectory() as folder:
        console = os.path.join(folder, "console")
        with subprocess.Popen(
                [qemu_binary(), "-nodefaults", "-no-user-config", "-display", "none",
                 "-machine", "q35", "-accel", "kvm", "-cpu", CPU_MODELS["kvm"], "-m", "512",
                 "-kernel", guest_image("vmlinux"), "-initrd", guest_image("initramfs.cpio"),
                 "-append", KERNEL_LINE, "-serial", "file:" + console],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL) as qemu:
            limit = time.monotonic() + LIMIT_SECONDS
            try:
                while time.monotonic() < limit and qemu.poll() is None:
                    time.sleep(0.1)
                    if os.path.exists(console):
                        with open(console, "rb") as file:
                            if b"LAB-READY" in file.read():
                                return True
                return False
            finally:
                qemu.kill()


def choose(say):
    """"kvm" or "tcg"; `say` gets a line when the one slow probe starts."""
    if not os.access(DEVICE, os.R_OK | os.W_OK):
        return "tcg"
    known = remembered()
    if known:
        return known
    say(f"probing once whether {DEVICE} boots a stock kernel (at most {LIMIT_SECONDS} s) ...")
    accelerator = "kvm" if boots_with_kvm() else "tcg"
    with open(verdict_file() + ".new", "w", encoding="ascii") as file:
        json.dump({"key": host_key(), "accelerator": accelerator}, file)
    os.replace(verdict_file() + ".new", verdict_file())
    say(f"guests run with {accelerator}; remembered in {verdict_file()}")
    return accelerator
