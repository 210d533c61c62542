"""The Ethernets between the VMs: a network namespace with a bridge for the first
adapters, one for the second ones, and so on, and a tap for each adapter of a VM.

Everything is inside the namespace, so nothing can collide with the host's own
interfaces, and deleting the namespace deletes all of it.
"""

import json
import os

from .processes import run

PREFIX = "10.77"
HOST_NUMBER = 254  # ours on each bridge, for a look at the guests from the host
LAST_ADAPTER = 8


def exists(namespace):
    return os.path.exists(f"/run/netns/{namespace}")


def bridge_name(adapter):
    return f"br{adapter - 1}"


def tap_name(index, adapter=1):
    return f"tap{index}" if adapter == 1 else f"tap{index}.{adapter}"


def guest_address(index, adapter=1):
    return f"{PREFIX}.{adapter - 1}.{index}/24"


def guest_mac(index, adapter=1):
    return f"52:54:00:77:{adapter - 1:02x}:{index:02x}"


def inside(namespace):
    """What to put before a command that shall run in the namespace."""
    return ["nsenter", f"--net=/run/netns/{namespace}"]


def ensure(namespace, mtu, adapters):
    if not exists(namespace):
        run("ip", "netns", "add", namespace)
        run("ip", "-n", namespace, "link", "set", "lo", "up")
    there = links(namespace)
    for adapter in range(1, adapters + 1):
        if bridge_name(adapter) not in there:
            add_bridge(namespace, adapter, mtu)


def links(namespace):
    return {link["ifname"] for link in json.loads(run("ip", "-n", namespace, "-json", "link", "show") or "[]")}


def add_bridge(namespace, adapter, mtu):
    ip = ["ip", "-n", namespace]
    bridge = bridge_name(adapter)
    run(*ip, "link", "add", bridge, "type", "bridge", "stp_state", "0")
    run(*ip, "link", "set", bridge, "mtu", str(mtu), "up")
    run(*ip, "address", "add", guest_address(HOST_NUMBER, adapter), "dev", bridge)


def add_taps(namespace, index, adapters, mtu):
    """One for each adapter of a VM; what an earlier run left goes first."""
    remove_taps(namespace, index)
    ip = ["ip", "-n", namespace]
    for adapter in range(1, adapters + 1):
        tap = tap_name(index, adapter)
        run(*ip, "tuntap", "add", tap, "mode", "tap", "vnet_hdr")
        run(*ip, "link", "set", tap, "mtu", str(mtu), "master", bridge_name(adapter), "up")


def remove_taps(namespace, index):
    if not exists(namespace):
        return
    for tap in links(namespace) & {tap_name(index, adapter) for adapter in range(1, LAST_ADAPTER + 1)}:
        run("ip", "-n", namespace, "link", "delete", tap, check=False)


def remove(namespace):
    if exists(namespace):
        run("ip", "netns", "delete", namespace)
