"""The Ethernet between the VMs: a network namespace with a bridge and one tap per VM.

Everything is inside the namespace, so nothing can collide with the host's own
interfaces, and deleting the namespace deletes all of it.
"""

import os

from .processes import run

BRIDGE = "br0"
PREFIX = "10.77.0"
# An own address on the bridge, for a look at the guests from the host.
HOST_ADDRESS = f"{PREFIX}.254/24"


def exists(namespace):
    return os.path.exists(f"/run/netns/{namespace}")


def tap_name(index):
    return f"tap{index}"


def guest_address(index):
    return f"{PREFIX}.{index}/24"


def guest_mac(index):
    return f"52:54:00:77:00:{index:02x}"


def inside(namespace):
    """What to put before a command that shall run in the namespace."""
    return ["nsenter", f"--net=/run/netns/{namespace}"]


def ensure(namespace, mtu):
    if exists(namespace):
        return
    run("ip", "netns", "add", namespace)
    ip = ["ip", "-n", namespace]
    run(*ip, "link", "set", "lo", "up")
    run(*ip, "link", "add", BRIDGE, "type", "bridge", "stp_state", "0")
    run(*ip, "link", "set", BRIDGE, "mtu", str(mtu), "up")
    run(*ip, "address", "add", HOST_ADDRESS, "dev", BRIDGE)


def add_tap(namespace, index, mtu):
    remove_tap(namespace, index)
    ip = ["ip", "-n", namespace]
    tap = tap_name(index)
    run(*ip, "tuntap", "add", tap, "mode", "tap", "vnet_hdr")
    run(*ip, "link", "set", tap, "mtu", str(mtu), "master", BRIDGE, "up")


def remove_tap(namespace, index):
    if exists(namespace):
        run("ip", "-n", namespace, "link", "delete", tap_name(index), check=False)


def remove(namespace):
    if exists(namespace):
        run("ip", "netns", "delete", namespace)
