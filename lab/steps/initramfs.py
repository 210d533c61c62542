#!/usr/bin/env python3
"""Makes the guest's initramfs from unpacked packages, modules and the agent.

Only the named programs and what they need get in: every megabyte costs boot
time. The archive is not compressed, which boots fastest without KVM.
Without --init it is a layer: only what is named, for a guest that has the rest.
/usr/lib/lab/packages/NAME lists the versions of the packages it was made of.

usage: initramfs.py --tree DIR --modules DIR [--init FILE --agent FILE] --output FILE --name NAME
                    --program PATTERN... --folder PATTERN... --file PATTERN... --module NAME...
                    --package NAME...
"""

import argparse
import glob
import gzip
import os
import re
import stat
import subprocess
import sys

from cpio import CpioWriter
from elf_libraries import is_dynamic_elf, libraries_of
from kernel_modules import closure

HOSTS = 32


def matches(tree, pattern):
    found = sorted(glob.glob(os.path.join(tree, pattern)))
    return [path for path in found if os.path.exists(path)]


def add_skeleton(archive):
    for name in ("proc", "sys", "dev", "tmp", "root", "run", "etc", "var/tmp", "usr/bin",
                 "usr/sbin", "usr/lib", "usr/lib64", "lab"):
        archive.directory(name, 0o1777 if name.endswith("tmp") else 0o755)
    for name in ("bin", "sbin", "lib", "lib64"):
        archive.symlink(name, "usr/" + name)
    archive.node("dev/console", stat.S_IFCHR, 5, 1, 0o600)
    archive.node("dev/null", stat.S_IFCHR, 1, 3, 0o666)
    hosts = ["127.0.0.1 localhost"] + [f"10.77.0.{i} vm{i}" for i in range(1, HOSTS + 1)]
    archive.data("etc/hosts", ("\n".join(hosts) + "\n").encode(), 0o644)
    archive.data("etc/passwd", b"root:x:0:0:root:/root:/bin/sh\n", 0o644)
    archive.data("etc/group", b"root:x:0:\n", 0o644)


class Image:
    """Adds each file once, with the libraries it needs, where the tree has it."""

    def __init__(self, archive, tree):
        self.archive = archive
        self.tree = tree

    def add(self, path):
        name = os.path.relpath(path, self.tree)
        name = os.path.join(os.path.realpath(os.path.join(self.tree, os.path.dirname(name))),
                            os.path.basename(name))
        name = os.path.relpath(name, os.path.realpath(self.tree))
        if name in self.archive.names:
            return
        if os.path.islink(path):
            self._add_link(name, path)
            return
        self.archive.copy(name, path)
        if is_dynamic_elf(path):
            for library in sorted(libraries_of(self.tree, path)):
                self.add(library)

    def _add_link(self, name, path):
        target = os.readlink(path)
        self.archive.symlink(name, target)
        inside = target.lstrip("/") if target.startswith("/") else \
            os.path.join(os.path.dirname(name), target)
        self.add(os.path.join(self.tree, os.path.normpath(inside)))


def add_busybox(image):
    busybox = os.path.join(image.tree, "usr/bin/busybox")
    image.add(busybox)
    applets = subprocess.run([busybox, "--list"], capture_output=True, text=True,
                             check=True).stdout.split()
    for applet in applets:
        names = (f"usr/bin/{applet}", f"usr/sbin/{applet}")
        if applet != "busybox" and not image.archive.names.intersection(names):
            image.archive.symlink(names[0], "busybox")


def add_programs(image, patterns):
    for pattern in patterns:
        found = [path for path in matches(image.tree, "usr/" + pattern)
                 if os.path.islink(path) or is_dynamic_elf(path)]
        if not found:
            sys.exit(f"lab: error: guest program {pattern}: not in the unpacked packages")
        for path in found:
            image.add(path)


def add_shell(image):
    image.archive.symlink("usr/bin/sh", "dash")
    for tool in ("modprobe", "insmod", "rmmod", "lsmod", "depmod", "modinfo"):
        image.archive.symlink("usr/sbin/" + tool, "../bin/kmod")


def add_folders(image, patterns):
    for pattern in patterns:
        for folder in matches(image.tree, pattern):
            for top, _, files in os.walk(folder):
                for name in sorted(files):
                    image.add(os.path.join(top, name))


def add_modules(archive, folder, names):
    release = os.path.basename(folder.rstrip("/"))
    top = "usr/lib/modules/" + release
    for path in closure(folder, names):
        archive.copy(f"{top}/{path}", os.path.join(folder, path))
    for index in ("dep", "alias", "softdep", "symbols", "builtin", "dep.bin", "alias.bin",
                  "symbols.bin", "builtin.bin", "builtin.alias.bin", "order"):
        path = os.path.join(folder, "modules." + index)
        if os.path.exists(path):
            archive.copy(f"{top}/modules.{index}", path)


def version_of(tree, package):
    """As its changelog begins: what is only unpacked is in no list of dpkg's."""
    for name in ("changelog.Debian.gz", "changelog.Debian.amd64.gz", "changelog.gz"):
        path = os.path.join(tree, "usr/share/doc", package, name)
        if os.path.exists(path):
            with gzip.open(path, "rt", encoding="utf-8", errors="replace") as changelog:
                return re.match(r"\S+ \(([^)]+)\)", changelog.readline()).group(1)
    return None


def add_versions(archive, tree, name, packages):
    """`packages` as apt takes them: with a version or a suite, or without."""
    names = sorted({re.split("[=/]", package)[0] for package in packages})
    lines = [f"{package} {version}\n" for package in names if (version := version_of(tree, package))]
    archive.data(f"usr/lib/lab/packages/{name}", "".join(lines).encode(), 0o644)


def main():
    parser = argparse.ArgumentParser()
    for name in ("tree", "modules", "output", "name"):
        parser.add_argument("--" + name, required=True)
    for name in ("init", "agent"):
        parser.add_argument("--" + name)
    for name in ("program", "folder", "file", "module", "package"):
        parser.add_argument("--" + name, nargs="*", default=[])
    args = parser.parse_args()
    with open(args.output, "wb") as file:
        archive = CpioWriter(file)
        image = Image(archive, args.tree)
        if args.init:
            add_skeleton(archive)
            archive.copy("init", args.init)
            archive.copy("usr/lib/lab/agent", args.agent)
        add_programs(image, args.program)
        if args.init:
            add_shell(image)
            add_busybox(image)
        add_folders(image, args.folder)
        for pattern in args.file:
            for path in matches(args.tree, pattern):
                image.add(path)
        add_modules(archive, args.modules, args.module)
        add_versions(archive, args.tree, args.name, args.package)
        archive.close()
    print(f"{args.output}: {len(archive.names)} files, {archive.size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
