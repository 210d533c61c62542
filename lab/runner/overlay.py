"""More files for a guest: folders become cpio archives behind the initramfs.

The kernel unpacks archives one after the other, so a file of an overlay replaces
one of the image. /lab-start, if an overlay brings it, runs before LAB-READY.
"""

import hashlib
import os
import shutil
import sys

from .errors import LabError
from .places import lab_folder


def remove(state):
    shutil.rmtree(os.path.join(state.folder, "overlays"), ignore_errors=True)


def archives(paths, state):
    """Paths of cpio archives, one for each folder or archive in `paths`."""
    return [os.path.abspath(path) if os.path.isfile(path) else pack(path, state)
            for path in paths]


def pack(folder, state):
    if not os.path.isdir(folder):
        raise LabError(folder, "no such overlay folder", "name a folder or a cpio archive")
    sys.path.insert(0, os.path.join(lab_folder(), "steps"))
    from cpio import CpioWriter  # pylint: disable=import-outside-toplevel
    name = hashlib.sha256(os.path.abspath(folder).encode()).hexdigest()[:12] + ".cpio"
    target = os.path.join(state.folder, "overlays", name)
    os.makedirs(os.path.dirname(target), exist_ok=True)
    with open(target, "wb") as file:
        archive = CpioWriter(file)
        for top, folders, files in os.walk(folder):
            inside = os.path.relpath(top, folder)
            for entry in sorted(folders + files):
                add(archive, os.path.normpath(os.path.join(inside, entry)),
                    os.path.join(top, entry))
        archive.close()
    return target


def add(archive, name, path):
    if os.path.islink(path):
        archive.symlink(name, os.readlink(path))
    elif os.path.isdir(path):
        archive.directory(name)
    else:
        archive.copy(name, path)
