"""The GIDs of an adapter as its guest sees them."""
import collections
import ipaddress

Gid = collections.namedtuple("Gid", "index gid type netdev")

# An empty entry has a GID of zeros, and its type cannot be read.
LIST = "cd /sys/class/infiniband/{device}/ports/1 && grep -Hs . gids/* gid_attrs/types/* gid_attrs/ndevs/*; true"


def of(rig, vm, device="vmw_pvrdma0"):
    found = {}
    for line in rig.shell(vm, LIST.format(device=device)).splitlines():
        name, _, text = line.partition(":")
        folder, index = name.rsplit("/", 1)
        found.setdefault(int(index), {})[folder] = text
    return [Gid(index, ipaddress.IPv6Address(entry["gids"]), entry["gid_attrs/types"], entry["gid_attrs/ndevs"])
            for index, entry in sorted(found.items()) if "gid_attrs/types" in entry]


def made_of(address):
    """The GID that an IPv4 or IPv6 address makes."""
    one = ipaddress.ip_address(address)
    return one if one.version == 6 else ipaddress.IPv6Address(f"::ffff:{one}")


def made_of_mac(mac):
    """The link-local one, which an adapter always has."""
    m = [int(byte, 16) for byte in mac.split(":")]
    return ipaddress.IPv6Address(bytes([0xFE, 0x80, *[0] * 6, m[0] ^ 2, m[1], m[2], 0xFF, 0xFE, *m[3:]]))


def find(rig, vm, gid, device="vmw_pvrdma0"):
    """The entry of one GID; fails when there is none."""
    table = of(rig, vm, device)
    for entry in table:
        if entry.gid == gid:
            return entry
    raise AssertionError(f"vm{vm} {device}: no {gid} among {table}")
