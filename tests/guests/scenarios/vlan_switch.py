"""In a guest, whose kernel's bridge filters VLANs: two hosts (network namespaces), joined by a
wire, and one switch with an untagged port group and VLANs 10 and 20 on both. On a third host the
switch has an IPoIB uplink, whose taps the test has instead of the engine. Ends with "done"."""

import json
import os
import select
import socket
import struct
import subprocess
import threading

from network import PATIENCE_S, TEST_ETHERTYPE, VNET_HEADER, Namespace, Tap, is_cut_off, join, reaches, run

HEAD = "paravane-switch-plan 1;"
SWITCH = "switch lan 1500 nic 0 10 20;"
VLANS = {"a": 0, "b": 10, "c": 20}  # of VMs
GUEST_VLANS = 4095
SOL_PACKET, PACKET_AUXDATA, VLAN_VALID, ETH_P_ALL = 263, 8, 1 << 4, 3


def make(host, plan):
    done = subprocess.run(["ip", "netns", "exec", host.name, "paravane-switch", "nic", "vmnic32"], input=plan, capture_output=True,
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


def frames(tap, act):
    """(VLAN or None, text) of our frames that a tap gets from `act`, whose last one is "end"."""
    while tap.receive(0.2):  # of what was before
        pass
    act()
    found = []
    while select.select([tap.fd], [], [], PATIENCE_S)[0]:
        frame = os.read(tap.fd, 65536)[len(VNET_HEADER):]
        tag = None
        if frame[12:14] == b"\x81\0":
            tag, frame = struct.unpack(">H", frame[14:16])[0] & 0xFFF, frame[:12] + frame[16:]
        if struct.unpack(">H", frame[12:14])[0] != TEST_ETHERTYPE:
            continue
        text = frame[14:].rstrip(b"\0").decode()
        if text == "end":
            return found
        found.append((tag, text))
    raise AssertionError(f"the last frame has not come: {found}")


def check_ipoib_uplink(host):
    """One tap carries the frames of all VLANs with their tags; another those of VMs that tag their frames themselves."""
    vlans = {**VLANS, "fw": GUEST_VLANS}
    plan = HEAD + "switch lan 1500 vmnic32 0 10 20 4095;" + "".join(f"tap {vm} 1 lan {vlan};" for vm, vlan in vlans.items())
    for _ in range(2):
        report = make(host, plan + "ipoib vmnic32 1;")
        assert report == "paravane-switch-report 1;switch lan vlan-aware;bridge pvs-lan;bridge pvs-lan+4095;", report
    assert {name for name in host.links() if name.startswith("vmnic")} == {"vmnic32", "vmnic32+4095"}
    assert vlans_of(host, "vmnic32") == {10: [], 20: [], 4094: ["Egress Untagged", "PVID"]}, vlans_of(host, "vmnic32")
    uplink, of_guests = Tap(host, "vmnic32"), Tap(host, "vmnic32+4095")
    vms = {vm: Tap(host, f"pv-{vm}") for vm in vlans}
    for vm in vms:
        assert reaches(vms[vm], of_guests if vm == "fw" else uplink), vm
    # Out of the switch, with the VLAN's tag, which no VM can choose.
    for vm, vlan in VLANS.items():
        def send(vm=vm):
            vms[vm].send(f"from {vm}")
            vms[vm].send("with a tag", 4093)
            vms[vm].send("end")
        heard = frames(uplink, send)
        assert heard == [(vlan or None, f"from {vm}")], (vm, heard)
    # Into it: each VLAN's VMs, and no others.
    for vm, vlan in VLANS.items():
        tag = vlan or None

        def answer(tag=tag, vm=vm):
            for other in (30, *VLANS.values()):
                if other != (tag or 0):
                    uplink.send(f"to {other}", other or None)
            uplink.send(f"to {vm}", tag)
            uplink.send("end", tag)
        heard = frames(vms[vm], answer)
        assert heard == [(None, f"to {vm}")], (vm, heard)

    # VMs that tag their frames: all VLANs, both ways, and none of the other bridge.
    def tagged(tap):
        for tag in (None, 10, 20, 77):
            tap.send(f"tag {tag}", tag)
        tap.send("end")
    for sender, receiver in ((vms["fw"], of_guests), (of_guests, vms["fw"])):
        assert frames(receiver, lambda sender=sender: tagged(sender)) == [(tag, f"tag {tag}") for tag in (None, 10, 20, 77)]
    for vm in VLANS:
        assert is_cut_off(vms[vm], of_guests, vms["fw"]), vm
    for tap in (uplink, of_guests, *vms.values()):
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
    check_ipoib_uplink(Namespace("h3"))
    print("done")


main()
