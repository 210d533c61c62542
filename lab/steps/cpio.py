"""Writes cpio archives ("newc", what the Linux kernel unpacks as initramfs).

Own writer because the archive must hold device nodes and root's files whoever
makes it, and come out the same for the same content. Archives may be
concatenated: the kernel unpacks one after the other, so an overlay is simply
appended. Each is padded so that the next one starts aligned.
"""

import os
import stat

ALIGNMENT = 512


class CpioWriter:
    """Files, links, directories and nodes; parents are made as needed."""

    def __init__(self, file):
        self.file = file
        self.size = 0
        self.inode = 0
        self.names = set()

    def directory(self, name, mode=0o755):
        self._entry(name, stat.S_IFDIR | mode)

    def symlink(self, name, target):
        self._entry(name, stat.S_IFLNK | 0o777, target.encode())

    def node(self, name, kind, major, minor, mode):
        self._entry(name, kind | mode, b"", major, minor)

    def data(self, name, content, mode):
        self._entry(name, stat.S_IFREG | mode, content)

    def copy(self, name, path):
        """A file of this machine, or of a tree, with its permission to execute."""
        mode = 0o755 if os.stat(path).st_mode & 0o111 else 0o644
        with open(path, "rb") as file:
            self.data(name, file.read(), mode)

    def close(self):
        self._write("TRAILER!!!", 0, b"", 0, 0)
        self._pad(ALIGNMENT)

    def _entry(self, name, mode, content=b"", major=0, minor=0):
        name = name.strip("/")
        parent = os.path.dirname(name)
        if parent and parent not in self.names:
            self.directory(parent)
        if name in self.names:
            if stat.S_ISDIR(mode):
                return
            raise ValueError(f"{name} is in the archive twice")
        self.names.add(name)
        self._write(name, mode, content, major, minor)

    def _write(self, name, mode, content, major, minor):
        self.inode += 1
        links = 2 if stat.S_ISDIR(mode) else 1
        raw = name.encode() + b"\0"
        fields = (self.inode, mode, 0, 0, links, 0, len(content), 0, 0, major, minor, len(raw), 0)
        self._put(b"070701" + b"".join(b"%08X" % field for field in fields) + raw)
        self._pad(4)
        self._put(content)
        self._pad(4)

    def _put(self, content):
        self.file.write(content)
        self.size += len(content)

    def _pad(self, alignment):
        self._put(b"\0" * (-self.size % alignment))
