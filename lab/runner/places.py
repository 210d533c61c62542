"""Where things are: the cache with what lab/prepare made, and the state of one
lab (its VMs' sockets, logs and process ids).

Several labs may run at once, each with its own state folder; every name that the
host knows (the network namespace) is derived from that folder.
"""

import hashlib
import os
import re

from .errors import LabError

FIRST_INDEX = 1
LAST_INDEX = 32


def lab_folder():
    return os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def repository():
    return os.path.dirname(lab_folder())


def cache():
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return os.path.join(base, "paravane", "lab")


def qemu_binary():
    return made("qemu", "qemu-system-x86_64")


def guest_name():
    return os.environ.get("LAB_GUEST", "bookworm")


def guest_image(name):
    return made(f"guest-{guest_name()}", "image", name)


def guest_layer(name):
    return made(f"guest-{guest_name()}", f"layer-{name}", "layer.cpio", by=f"lab/prepare --layer {name}")


def made(*names, by="lab/prepare"):
    path = os.path.join(cache(), *names)
    if not os.path.exists(path):
        raise LabError(path, "not made yet", f"run {by}")
    return path


def tail(path, lines=25):
    """The end of a log, for an error message; empty when there is none."""
    try:
        with open(path, "rb") as file:
            file.seek(max(0, os.path.getsize(path) - 8192))
            text = file.read().decode("utf-8", "replace")
    except OSError:
        return ""
    clean = re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", text.replace("\r", ""))
    return "\n".join(clean.splitlines()[-lines:])


class State:
    """The folder of one lab."""

    def __init__(self, folder=None):
        folder = folder or os.environ.get("LAB_STATE") or "/run/paravane-lab"
        self.folder = os.path.realpath(folder)
        digest = hashlib.sha256(self.folder.encode()).hexdigest()[:8]
        self.namespace = f"lab-{digest}"

    def vm_folder(self, index):
        return os.path.join(self.folder, f"vm{index}")

    def indices(self):
        """The VMs that exist here, running or not."""
        try:
            names = os.listdir(self.folder)
        except FileNotFoundError:
            return []
        found = (re.fullmatch(r"vm([0-9]+)", name) for name in names)
        return sorted(int(match[1]) for match in found if match)
