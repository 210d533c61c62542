"""Which shared libraries a program of an unpacked tree needs.

The tree's own loader is asked (--list), so nothing of this machine gets in.
"""

import os
import subprocess

LIBRARY_FOLDER = "usr/lib/x86_64-linux-gnu"
PRIVATE = "systemd"  # in there: libraries that only systemd's programs find
LOADER = "usr/lib64/ld-linux-x86-64.so.2"


def is_dynamic_elf(path):
    with open(path, "rb") as file:
        head = file.read(65536)
    shared = ".so" in os.path.basename(path)
    return head.startswith(b"\x7fELF") and (shared or b"ld-linux" in head)


def libraries_of(tree, program):
    """Paths of the libraries inside the tree, loader included.

    Raises RuntimeError when one is missing from the tree.
    """
    loader = os.path.join(tree, LOADER)
    # A plugin may need another one that lies beside it.
    folders = ":".join([os.path.join(tree, LIBRARY_FOLDER), os.path.join(tree, LIBRARY_FOLDER, PRIVATE), os.path.dirname(program)])
    answer = subprocess.run(
        [loader, "--inhibit-cache", "--library-path", folders, "--list", program],
        capture_output=True, text=True, check=False)
    if answer.returncode != 0 or "not found" in answer.stdout:
        raise RuntimeError(f"{program}: {answer.stdout}{answer.stderr}")
    found = {loader}
    for line in answer.stdout.splitlines():
        path = line.split("=>")[-1].split("(")[0].strip()
        if not path.startswith("/") or os.path.basename(path) == os.path.basename(loader):
            continue  # the kernel's own, or the loader
        if not path.startswith(tree):
            raise RuntimeError(f"{program}: {path} is not in the unpacked packages")
        found.add(path)
    return found
