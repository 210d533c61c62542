"""Real RDMA devices as Paravane lists a host's: the keeper's own look at its machine, run in a
guest, which has a vmw_pvrdma and gets a device that is a program (rdma_rxe)."""
import unittest

from rig import Rig


def rows(table):
    """Of a table as esxcli prints it: a dictionary for each row, by the columns' titles."""
    header, dashes, *lines = table.rstrip("\n").split("\n")
    starts = [at for at, c in enumerate(dashes) if c == "-" and (at == 0 or dashes[at - 1] == " ")]
    cut = lambda line: [line[a:b].strip() for a, b in zip(starts, starts[1:] + [None])]
    return [dict(zip(cut(header), cut(line))) for line in lines]


class Machine(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.rig = Rig()
        cls.addClassCleanup(cls.rig.close)
        cls.rig.up(1, "--layer", "wired", "--qemu=-device", "--qemu=e1000e,addr=0x1e")  # its driver has pause frames

    def look(self, *words):
        return self.rig.guest(1, "paravane-machine", *words)

    def device(self, name="vmrdma0"):
        return next(row for row in rows(self.look("devices")) if row["Name"] == name)

    def nic(self):
        return rows(self.look("nics"))[0]

    def test_a_nic_is_listed_with_its_driver_and_link(self):
        mac = self.rig.shell(1, "cat /sys/class/net/eth0/address").strip()
        nic = self.nic()
        self.assertEqual((nic["Name"], nic["PCI Device"], nic["Driver"], nic["Admin Status"], nic["Link Status"],
                          nic["MAC Address"]), ("vmnic0", "0000:00:10.0", "vmxnet3", "Up", "Up", mac))
        self.assertIn("(eth0)", nic["Description"])

    def pause_of(self, driver):
        name = next(nic["Name"] for nic in rows(self.look("nics")) if nic["Driver"] == driver)
        row = next(row for row in rows(self.look("pause")) if row["NIC"] == name)
        return [row[title] for title in ("Pause Params Supported", "Pause RX", "Pause TX", "Auto Negotiation")]

    def test_pause_frames_are_those_that_ethtool_sets(self):
        self.rig.guest(1, "modprobe", "e1000e")
        nic, = self.rig.shell(1, "basename -a $(dirname $(grep -l e1000e /sys/class/net/*/device/uevent) | xargs -n1 dirname)").split()
        for rx, tx in (("on", "on"), ("on", "off"), ("off", "off")):
            self.rig.guest(1, "ethtool", "-A", nic, "autoneg", "off", "rx", rx, "tx", tx)
            self.assertEqual(self.pause_of("e1000e"), ["true", str(rx == "on").lower(), str(tx == "on").lower(), "false"])
        self.assertEqual(self.pause_of("vmxnet3"), ["false"] * 4)

    def test_a_device_is_listed_with_its_uplink_and_follows_its_port_down(self):
        device = self.device()
        mtu = self.rig.shell(1, "ibv_devinfo -d vmw_pvrdma0 | grep active_mtu").split()[1]
        self.assertEqual((device["Driver"], device["State"], device["MTU"], device["Paired Uplink"]),
                         ("vmw_pvrdma", "Active", mtu, "vmnic0"))
        self.assertRegex(device["Speed"], r"^[0-9.]+ Gbps$")
        self.rig.cli("vm", "adapter", "disconnect", "vm1")
        try:
            device = self.device()
            self.assertEqual((device["State"], device["Speed"], device["Paired Uplink"]), ("Down", "0", "vmnic0"))
        finally:
            self.rig.cli("vm", "adapter", "connect", "vm1")
        self.assertEqual(self.device()["State"], "Active")

    def test_protocols_are_those_of_the_gid_table(self):
        types = self.rig.shell(1, "cat /sys/class/infiniband/vmw_pvrdma0/ports/1/gid_attrs/types/* 2>/dev/null || true")
        device = rows(self.look("protocols"))[0]
        self.assertEqual(device, {"Device": "vmrdma0", "RoCE v1": str("IB/RoCE v1" in types).lower(),
                                  "RoCE v2": str("RoCE v2" in types).lower(), "iWARP": "false"})
        self.assertIn("true", device.values())

    def test_resources_are_counted(self):
        self.assertRegex(self.look("stats", "vmrdma0"), r"(?m)^   Queue pairs allocated: \d+$")

    def test_a_device_that_is_a_program_stands_after_cards_and_counts(self):
        self.rig.guest(1, "modprobe", "rdma_rxe")
        self.rig.guest(1, "rdma", "link", "add", "rxe0", "type", "rxe", "netdev", "eth0")
        try:
            device = self.device("vmrdma1")
            self.assertEqual((device["Driver"], device["State"], device["Paired Uplink"], device["Description"]),
                             ("rdma_rxe", "Active", "vmnic0", "rxe0"))
            self.assertIn({"Device": "vmrdma1", "RoCE v1": "false", "RoCE v2": "true", "iWARP": "false"},
                          rows(self.look("protocols")))
            self.assertRegex(self.look("stats", "vmrdma1"), r"(?m)^   Packets sent: \d+$")
            self.rig.shell(1, "ip link set eth0 down")
            device, nic = self.device("vmrdma1"), self.nic()
            self.assertEqual((device["State"], device["Speed"], device["Paired Uplink"]), ("Down", "0", "vmnic0"))
            self.assertEqual((nic["Admin Status"], nic["Link Status"], nic["Speed"], nic["Duplex"]),
                             ("Down", "Down", "0", "Half"))
        finally:
            self.rig.shell(1, "ip link set eth0 up")
            self.rig.guest(1, "rdma", "link", "del", "rxe0")


if __name__ == "__main__":
    unittest.main()
