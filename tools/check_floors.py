#!/usr/bin/env python3
"""Fails if a folder includes from a folder it may not know about.

The table is the architecture. A new arrow is a design decision: change the
table in the same commit and say why in the commit message.
Usage: tools/check_floors.py [src-root]
"""
import pathlib
import re
import sys

# folder -> the folders whose headers it may include (besides its own).
MAY_INCLUDE = {
    "base": [],
    "state": ["base"],
    "guestmem": ["base", "state"],
    "ethernet": ["base"],
    "rdma": ["base"],
    "abi": ["base"],
    "wire": ["base"],
    "subnet": ["base", "state", "wire"],
    "scsi": ["base", "wire"],
    "umad": ["base", "wire", "subnet"],
    "ipoib": ["base", "state", "wire", "subnet"],
    "neighbour": ["base", "wire", "ipoib"],
    "cable": ["base", "wire", "subnet"],
    "connection": ["base", "wire"],
    "srp": ["base", "wire", "scsi"],
    "nbd": ["base", "guestmem"],
    "verbs": ["base", "state", "guestmem"],
    "host_verbs": ["base", "guestmem", "verbs"],
    "vfio_user": ["base", "state", "guestmem"],
    "device": ["base", "state", "guestmem", "abi", "verbs", "vfio_user"],
    "transport/local": ["base", "guestmem", "verbs", "wire"],
    "transport/roce": ["base", "state", "guestmem", "verbs", "wire"],
    "transport/channel": ["base", "guestmem", "verbs", "wire"],
    "transport/tcp": ["base", "guestmem", "transport/channel"],
    "transport/hca": ["base", "guestmem", "wire", "verbs", "transport/channel"],
    "transport/impaired": ["base", "guestmem", "verbs"],
    "sniff": ["base", "guestmem", "verbs", "wire", "capture"],
    "fabric": ["base", "verbs"],
    "json": ["base"],
    "model": ["base"],
    "text": ["base"],
    "capture": ["base", "model", "text"],
    "api": ["base", "json", "model"],
    "store": ["base", "json", "model", "api"],
    "inventory": ["base", "json", "model", "api"],
    "authority": ["base", "json", "model"],
    "vmm": ["base", "json", "model"],
    "cli": ["base", "json", "model", "text", "api", "vmm"],
    "settings": ["base", "model"],
    "privsep": ["base", "json", "model", "api"],
    "holder": ["base", "privsep"],
    "keeper": ["base", "state", "ethernet", "rdma", "model", "settings", "privsep"],
    "http": ["base", "settings", "api"],
    "worker": ["base", "state", "guestmem", "verbs", "vfio_user", "device", "transport/local", "transport/roce", "transport/channel", "transport/impaired", "sniff", "capture", "wire", "neighbour", "fabric", "model"],
    "subnet_host": ["base", "state", "wire", "subnet", "umad", "ipoib", "cable", "capture", "json", "model", "text", "api", "store"],
    "storage": ["base", "guestmem", "wire", "verbs", "host_verbs", "fabric", "scsi", "srp", "connection", "nbd", "neighbour", "worker", "model"],
    "metrics": ["base", "http", "worker", "privsep", "model", "api"],
    "cluster": ["base", "cable", "settings", "privsep", "inventory", "authority", "json", "model", "transport/channel", "transport/tcp"],
    "host": ["base", "subnet_host", "cable", "worker", "storage", "wire", "capture", "cluster", "metrics", "privsep", "settings", "inventory", "device", "json", "model", "api", "store"],
    "daemon": ["base", "guestmem", "cable", "settings", "privsep", "holder", "keeper", "http", "worker", "metrics", "cluster", "host", "inventory", "transport/hca", "model", "api"],
    "umad_library": ["base", "umad"],
    "testing": ["base", "state", "guestmem", "abi", "wire", "subnet", "umad", "ipoib", "cable", "scsi", "srp", "connection", "nbd", "verbs", "host_verbs", "storage", "vfio_user", "device", "transport/local", "transport/roce", "transport/channel", "transport/tcp", "transport/hca", "transport/impaired", "fabric", "model", "inventory", "authority"],
}
# What a folder may not see through other folders' headers either: the process with root's rights reads nothing
# that a guest, a client, another host or etcd has written.
NEVER_THROUGH_OTHERS = {"keeper": ("json", "api", "http", "worker", "metrics", "cluster", "host", "inventory", "authority")}
# A third-party header that only one folder may see; a name that ends with a slash stands for all below it.
ONLY_IN = {"httplib.h": ("api", "http"), "sqlite3.h": ("store",), "CLI/CLI.hpp": ("cli", "daemon"), "toml++/toml.h": ("settings",),
           "curl/curl.h": ("api", "inventory"), "openssl/": ("authority", "cluster", "state", "transport/channel", "transport/tcp"), "netlink/": ("ethernet", "rdma"),
           "rdma/rdma_netlink.h": ("rdma",), "infiniband/": ("rdma", "transport/hca", "umad_library"), "prometheus/": ("metrics",)}

INCLUDE = re.compile(r'\s*#\s*include\s*([<"])([^>"]+)[>"]')


def folder_of(path):
    """The room a path belongs to: its first part, or two for transport/<name>."""
    parts = path.split("/")
    return "/".join(parts[:2]) if parts[0] == "transport" else parts[0]


def includes(file):
    """What a file includes, each with its line's number."""
    for number, line in enumerate(file.read_text().splitlines(), 1):
        if match := INCLUDE.match(line):
            yield number, match


def seen_through(root, file, way=()):
    """The headers of ours that a file sees by way of others, each with the way to it."""
    for _, match in includes(file):
        target = match.group(2)
        if match.group(1) == '"' and target not in way and (root / target).exists():
            yield (*way, target)
            yield from seen_through(root, root / target, (*way, target))


def problems(root):
    for file in sorted(p for p in root.rglob("*") if p.suffix in (".h", ".cc")):
        here = file.relative_to(root).as_posix()
        folder = folder_of(here)
        if folder not in MAY_INCLUDE:
            yield f"{here}: unknown folder {folder}/: give it a row in {__file__}"
            continue
        is_test = file.stem.endswith("_test")
        for way in seen_through(root, file) if folder in NEVER_THROUGH_OTHERS and not is_test else ():
            if len(way) > 1 and folder_of(way[-1]) in NEVER_THROUGH_OTHERS[folder]:
                yield f"{here}: {folder}/ may not see {way[-1]}, not by way of {' and '.join(way[:-1])} either"
        for number, match in includes(file):
            target = match.group(2)
            # <rdma/...> is the kernel's, "rdma/..." is ours.
            top = folder_of(target) if match.group(1) == '"' else ""
            if any(folder not in folders for name, folders in ONLY_IN.items()
                   if target == name or (name.endswith("/") and target.startswith(name))):
                yield f"{here}:{number}: {folder}/ may not include {target}"
            elif top == "testing" and folder != "testing" and not is_test:
                yield f"{here}:{number}: only tests may include {target}"
            elif top in MAY_INCLUDE and top not in (folder, "testing") and not is_test:
                if top not in MAY_INCLUDE[folder]:
                    yield f"{here}:{number}: {folder}/ may not include {target}"


if __name__ == "__main__":
    found = list(problems(pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "src")))
    print("\n".join(found) or "floors: ok")
    sys.exit(bool(found))
