"""Which shared libraries a program of an unpacked tree needs.

The tree's own loader is asked (--list), so nothing of this machine gets in.
"""

import os
import subprocess

LIBRARY_FOLDER = "usr/lib/x86_64-linux-gnu"
LOADER = "usr/lib64/ld-linux-x86-64.so.2"


def is_dynamic_elf(path):
    with open(path, "rb") as file:
        head = file.read(65536)
    return head.startswith(b"\x7fELF") and b"ld-linux" in head or \
        head.startswith(b"\x7fELF") and path.endswith(".so") or ".so." in os.path.basename(path)


def library_folders(tree):
    """A few packages keep theirs in a folder of their own below the common one."""
    top = os.path.join(tree, LIBRARY_FOLDER)
    return [top]


def libraries_of(tree, program):
    """Paths of the libraries inside the tree, loader included.

    Raises RuntimeError when one is missing from the tree.
    """
    loader = os.path.join(tree, LOADER)
    answer = subprocess.run(
        [loader, "--library-path", ":".join(library_folders(tree)), "--list", program],
        capture_output=True, text=True, check=False)
    if answer.returncode != 0 or "not found" in answer.stdout:
        raise RuntimeError(f"{program}: {answer.stdout}{answer.stderr}")
    found = {loader}
    for line in answer.stdout.splitlines():
        path = line.split("=>")[-1].split("(")[0].strip()
        if path.startswith("/") and os.path.basename(path) != os.path.basename(loader):
            found.add(path)
    return found
