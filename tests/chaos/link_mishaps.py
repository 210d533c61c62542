"""What other programs do to the interfaces of a host's switch, which its keeper mends. VMs hear nothing of it but
late frames: what they send to one another with RDMA goes another way, and TCP sends again."""
import json
import time

from mishap import Mishap
from rig import wait_for
from runner import processes
from runner.errors import LabError
from runner.host import UPLINK
from runner.hosts import SWITCH

BRIDGE = f"pvs-{SWITCH}"
OTHER_NAME = "ens5"
MENDED_S = 30  # two where there is a processor to spare (tests/daemon/test_switch.py)
WEIGHT = 0.5   # of each; there are seven


def ip(host, *words):
    return processes.run("ip", "-n", host.space, *words)


def links(host):
    return {link["ifname"]: link for link in json.loads(processes.run("ip", "-j", "-n", host.space, "link", "show"))}


def mended(host, names, began, master=BRIDGE):
    """Waits until interfaces are there, up, and in that bridge. Returns how many seconds that took since `began`: where
    processors are busy the keeper may be done before the fault's own command has returned."""
    def is_well():
        there = links(host)
        return all(name in there and "UP" in there[name]["flags"] and there[name].get("master") == master for name in names)
    wait_for(f"{', '.join(names)} of {host.name} as before", is_well, MENDED_S, 0.02)
    return time.monotonic() - began


def taps(host):
    return [f"pv-vm{vm}" for vm in host.vms()]


def fault(name, text, words, *link, master=BRIDGE):
    """One of `ip link`'s, after which those interfaces are to be as they were. `TAP`: that of a VM of the host; TAPS: all."""
    def act(rig, number, chance):
        host = rig.lab.hosts[number - 1]
        tap = chance.choice(taps(host))
        names = [one for word in link for one in (taps(host) if word == "TAPS" else [word.replace("TAP", tap)])]
        began = time.monotonic()
        ip(host, "link", *words.replace("TAP", tap).split())
        return mended(host, names, began, master)
    return Mishap(name, text, act, WEIGHT)


def rename(host, before, after):
    """The keeper may switch it on in between, and older kernels rename nothing that is on."""
    def is_renamed():
        try:
            ip(host, "link", "set", before, "down")
            ip(host, "link", "set", before, "name", after)
        except LabError as error:
            if "busy" not in str(error):
                raise
            return False
        return True
    wait_for(f"{before} of {host.name} is renamed", is_renamed, MENDED_S)


def rename_uplink(rig, number, _chance):
    """Told, not undone: a name is its administrator's."""
    host = rig.lab.hosts[number - 1]
    told = f"it was renamed to {OTHER_NAME}"
    began = time.monotonic()
    rename(host, UPLINK, OTHER_NAME)
    took = mended(host, [OTHER_NAME], began)
    wait_for(f"{host.name} says so", lambda: told in host.paravane("vds", "list").stdout, MENDED_S, 0.1)
    began = time.monotonic()
    rename(host, OTHER_NAME, UPLINK)
    took = max(took, mended(host, [UPLINK], began))
    wait_for(f"{host.name} says so no more", lambda: told not in host.paravane("vds", "list").stdout, MENDED_S, 0.1)
    return took


OF_LINKS = [
    fault("take-uplink-out", "the uplink of its switch is taken out of the bridge", f"set {UPLINK} nomaster", UPLINK),
    fault("set-uplink-down", "the uplink of its switch is switched off", f"set {UPLINK} down", UPLINK),
    Mishap("rename-uplink", "the uplink of its switch is renamed, and called as before again", rename_uplink, WEIGHT),
    fault("set-bridge-down", "the bridge of its switch is switched off", f"set {BRIDGE} down", BRIDGE, master=None),
    fault("delete-bridge", "the bridge of its switch is deleted", f"del {BRIDGE}", UPLINK, "TAPS"),
    fault("take-tap-out", "a VM's tap is taken out of its bridge", "set TAP nomaster", "TAP"),
    fault("set-tap-down", "a VM's tap is switched off", "set TAP down", "TAP"),
]
