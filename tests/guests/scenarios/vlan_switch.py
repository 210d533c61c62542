"""In a guest, whose kernel's bridge filters VLANs: two hosts (network namespaces), joined by a
wire, and one switch with an untagged port group and VLANs 10 and 20 on both. Ends with "done"."""

import json
import socket
import struct
import subprocess
import threading

from network import TEST_ETHERTYPE, Namespace, Tap, is_cut_off, join, reaches, run

HEAD = "paravane-switch-plan 1;"
SWITCH = "switch lan 1500 nic 0 10 20;"
VLANS = {"a": 0, "b": 10, "c": 20}  # of VMs
SOL_PACKET, PACKET_AUXDATA, VLAN_VALID, ETH_P_ALL = 263, 8, 1 << 4, 3


def make(host, plan):
    done = subprocess.run(["ip", "netns", "exec", host.name, "paravane-switch", "nic"], input=plan, capture_output=True,
                          text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def plan_of(vlans):
    return HEAD + SWITCH + "".join(f"tap {vm} 1 lan {vlan};" for vm, vlan in vlans.items())


def vlans_of(host, port):
    """VLAN -> flags, as bridge(8) sees a port of a bridge."""
    listing = json.loads(run("bridge", "-n", host.name, "-json", "vlan", "show") or "[]")
    return {vlan["vlan"]: sorted(vlan.get("flags", []))
            for one in listing if one["ifname"] == port for vlan in one["vlans"]}


def tags_on_wire(host, act):
    """The VLAN tags of our frames that leave a host by its NIC while `act` runs; 0: none."""
    with host.entered():
        ear = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
    ear.setsockopt(SOL_PACKET, PACKET_AUXDATA, 1)
    ear.bind(("nic", ETH_P_ALL))
    ear.settimeout(0.2)
    tags, over = set(), threading.Event()

    def listen():
        while True:
            try:
                frame, extra, _, address = ear.recvmsg(2048, 256)
            except TimeoutError:  # all that came has been read
                if over.is_set():
                    return
                continue
            if address[2] != socket.PACKET_OUTGOING:
                continue
            tag = 0
            for _, _, data in extra:
                status, _, _, _, _, tci, _ = struct.unpack("IIIHHHH", data[:20])
                tag = tci & 0xFFF if status & VLAN_VALID else 0
            if frame[12:14] == b"\x81\0":
                tag, frame = struct.unpack(">H", frame[14:16])[0] & 0xFFF, frame[:12] + frame[16:]
            if struct.unpack(">H", frame[12:14])[0] == TEST_ETHERTYPE:
                tags.add(tag)
    thread = threading.Thread(target=listen)
    thread.start()
    act()
    over.set()
    thread.join()
    ear.close()
    return tags


def check_frames(one, two):
    taps = {(host, vm): Tap(host, f"pv-{vm}") for host in (one, two) for vm in VLANS}
    for vm in VLANS:
        assert reaches(taps[one, vm], taps[two, vm]), vm
        assert reaches(taps[two, vm], taps[one, vm]), vm
    for stranger in VLANS:
        for vm in VLANS:
            if vm != stranger:
                assert is_cut_off(taps[one, stranger], taps[one, vm], taps[two, vm]), (stranger, vm)
                # Nor does a tag of its own making lead there.
                for tag in (*VLANS.values(), 4094):
                    assert is_cut_off(taps[one, stranger], taps[one, vm], taps[two, vm], tag), (stranger, vm, tag)
    for vm, vlan in VLANS.items():
        seen = tags_on_wire(one, lambda vm=vm: reaches(taps[one, vm], taps[two, vm]))
        assert seen == {vlan}, (vm, seen)
    # A VM moves to another port group, its tap open all the while.
    assert "problem" not in make(two, plan_of({**VLANS, "b": 20}))
    assert vlans_of(two, "pv-b") == {20: ["Egress Untagged", "PVID"]}
    assert reaches(taps[one, "c"], taps[two, "b"])
    assert is_cut_off(taps[one, "b"], taps[one, "c"], taps[two, "b"])
    for tap in taps.values():
        tap.__exit__()


def main():
    one, two = Namespace("h1"), Namespace("h2")
    join(one, "nic", two, "nic")
    before = set(one.links())
    for host in (one, two):
        for _ in range(2):  # the second time it finds all of it as it is
            report = make(host, plan_of(VLANS))
            assert report == "paravane-switch-report 1;switch lan vlan-aware;bridge pvs-lan;", report
        assert host.links()["pvs-lan"]["linkinfo"]["info_data"]["vlan_filtering"] == 1
        assert vlans_of(host, "nic") == {10: [], 20: [], 4094: ["Egress Untagged", "PVID"]}, vlans_of(host, "nic")
        assert vlans_of(host, "pv-b") == {10: ["Egress Untagged", "PVID"]}, vlans_of(host, "pv-b")
        assert vlans_of(host, "pvs-lan") == {}, vlans_of(host, "pvs-lan")
    check_frames(one, two)
    make(one, HEAD)
    assert set(one.links()) == before, one.links()
    print("done")


main()
