"""A small file system of a host's own, for what its daemon keeps: it can be filled, and has room again."""

import errno
import os

from . import processes

BLOCKS = bytes(1 << 20), bytes(4096)


class Disk:
    """At a directory, which others find as they would without it. In memory, and takes of that what is in it."""

    def __init__(self, directory, mib):
        self.directory, self.mib = directory, mib
        self.filler = os.path.join(directory, "filler")

    def mount(self):
        """Before the daemon is started: it looks at the file systems that there are then."""
        os.makedirs(self.directory, exist_ok=True)
        processes.run("mount", "-t", "tmpfs", "-o", f"size={self.mib}m,mode=0700", "paravane-lab", self.directory)

    def fill(self):
        """To the last block, also what has become free since it was filled."""
        with open(self.filler, "ab", buffering=0) as file:
            for block in BLOCKS:
                try:
                    while True:
                        file.write(block)
                except OSError as full:
                    if full.errno != errno.ENOSPC:
                        raise

    def free(self):
        os.unlink(self.filler)

    def unmount(self):
        """What is in it is gone. Whoever has a file of it open keeps that."""
        if os.path.ismount(self.directory):
            processes.run("umount", "--lazy", self.directory, check=False)
