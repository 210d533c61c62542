"""Captures of InfiniBand ports, read by tshark: management while opensm brings a subnet up, and what stations of a switch exchange."""
import collections
import re
import unittest

from fabric_rig import FabricTest
from capture_rig import Capture
from rig import wait_for
from uplink_rig import UplinkTest

OUT, IN = "0x00000002", "0x00000001"  # as pcapng's packet flags have it
PERMISSIVE_LID = "65535"
SMP = "infiniband.mad.mgmtclass == 0x81"
ADMINISTRATION = "infiniband.mad.mgmtclass == 0x03"
IBPING = "infiniband.mad.mgmtclass == 0x32"
GET, SET, GET_RESPONSE, TABLE, TABLE_RESPONSE = (f"infiniband.mad.method == {number:#x}" for number in (1, 2, 0x81, 0x12, 0x92))
NODE_INFO, PORT_INFO = (f"infiniband.mad.attributeid == {number:#x}" for number in (0x11, 0x15))
DIRECTION = "frame.packet_flags_direction"


def numbers(rows):
    """The same rows of fields, as numbers."""
    return [tuple(int(one, 0) for one in row) for row in rows]


class Captures(FabricTest):
    """Of vmnic32, the first port of mlx4_0, where opensm runs; vmnic33 is the second."""

    def test_1_management_that_opensm_brings_a_subnet_up_with(self):
        capture = Capture(self, "vmnic32")
        self.manager()
        ports = self.wait_active()
        wait_for(lambda: "SUBNET UP" in self.manager_log(), "SUBNET UP in opensm's log")
        capture.end()
        capture.assert_good()
        first, second = ports["mlx4_0", 1], ports["mlx4_0", 2]

        # Where packets have no LIDs yet, management is all there is, and it goes the way that each packet names.
        requests = capture.fields(f"{SMP} and {GET}", "infiniband.lrh.vl", "infiniband.lrh.dlid", "infiniband.bth.destqp", DIRECTION)
        self.assertEqual({(lane, lid, pair) for lane, lid, pair, _ in requests}, {("0x0f", PERMISSIVE_LID, "0x000000")})
        self.assertIn(OUT, {direction for *_, direction in requests})
        answers = capture.fields(f"{SMP} and {NODE_INFO} and {GET_RESPONSE}", "infiniband.nodeinfo.portguid", "infiniband.nodeinfo.nodetype",
                                 "infiniband.nodeinfo.numports", DIRECTION)
        self.assertIn((second["guid"], "0x01", "0x02", IN), [("0x" + guid.removeprefix("0x"), *rest) for guid, *rest in answers],
                      "the adapter, asked for across the switch")
        self.assertIn(("0x02", "0x40"), {(kind, count) for _, kind, count, _ in answers}, "the switch and its 64 ports")

        # opensm gives the second port its LID, and sets it Active.
        given = numbers(capture.fields(f"{SMP} and {PORT_INFO} and {SET}", "infiniband.portinfo.lid", "infiniband.portinfo.mastersmlid",
                                       "infiniband.portinfo.portstate"))
        self.assertIn((second["lid"], first["lid"], 4), given)

    def test_2_records_of_administration_and_pings(self):
        self.manager()
        ports = self.wait_active()
        wait_for(lambda: "SUBNET UP" in self.manager_log(), "SUBNET UP in opensm's log")
        lids = [ports["mlx4_0", number]["lid"] for number in (1, 2)]
        self.spawn(*self.command("ibping", "-S", "-C", "mlx4_0", "-P", "2"))
        wait_for(lambda: "1 received" in self.tool("ibping", "-c", 1, lids[1], check=False).stdout, "ibping to be answered")
        capture = Capture(self, "vmnic32")
        nodes = self.tool("saquery", "NR")
        paths = self.tool("saquery", "PR")
        self.assertIn("10 packets transmitted, 10 received", self.tool("ibping", "-f", "-c", 10, lids[1]))
        capture.end()
        capture.assert_good()

        asked = capture.fields(f"{ADMINISTRATION} and {TABLE} and {NODE_INFO}", "infiniband.bth.destqp", "infiniband.deth.q_key")
        self.assertTrue(asked)
        self.assertEqual(set(numbers(asked)), {(1, 0x80010000)})
        # tshark shows the first record of an answer's first segment.
        first = re.search(r"lid\.+(\d+)\s+.*?node_guid\.+0x(\w+)", nodes, re.S)
        record = capture.text(f"{ADMINISTRATION} and {TABLE_RESPONSE} and {NODE_INFO}")
        self.assertRegex(record, rf"LID: 0x{int(first[1]):04x}\n")
        self.assertIn(f"NodeGUID: 0x{first[2]}\n", record)
        self.assertIn("SubnAdmGetTableResp(PathRecord)", capture.text(f"{ADMINISTRATION} and {TABLE_RESPONSE}"))
        self.assertIn("PathRecord dump", paths)

        pings = collections.Counter(capture.fields(IBPING, "infiniband.lrh.slid", "infiniband.lrh.dlid", DIRECTION))
        here, there = map(str, lids)
        self.assertEqual(pings, {(here, there, OUT): 10, (there, here, IN): 10})

    def test_3_each_port_is_captured_once_and_no_other(self):
        Capture(self, "vmnic32")
        other = Capture(self, "vmnic33", "--count", "5", "--snaplen", "64")
        self.assertIn("is already being captured", self.refused(1, "sniff", "--uplink", "vmnic32", "-w", str(self.folder / "again")))
        self.assertIn("there is no uplink vmnic34", self.refused(1, "sniff", "--uplink", "vmnic34", "-w", str(self.folder / "none")))
        self.manager()
        other.wait()
        self.assertEqual(other.fields("frame", "frame.len", "frame.cap_len", "frame.interface_name"), [("290", "64", "vmnic33")] * 5)

    def test_4_one_ends_with_its_adapter(self):
        self.manager()
        self.wait_active()
        self.cli("infiniband", "adapter", "add", "mlx4_1", "--device", "MT26428")
        for end in (("restart",), ("adapter", "remove", "mlx4_1")):
            self.wait_active()
            capture = Capture(self, "vmnic34")
            self.tool("smpquery", "nodeinfo", self.ports()["mlx4_1", 1]["lid"])
            self.cli("infiniband", *end)
            capture.wait()
            self.assertIn("its InfiniBand adapter was removed or restarted", capture.said.read_text())
            capture.assert_good()


class UplinkCaptures(UplinkTest):
    """What stations of two switches say to each other: RFC 4391."""

    def test_9_addresses_and_datagrams(self):
        capture = Capture(self, "vmnic32")
        left = self.station("a", "left", "192.0.2.1/24", "2001:db8::1/64")
        self.station("b", "right", "192.0.2.2/24", "2001:db8::2/64")
        left.wait_for("192.0.2.2")
        left.wait_for("2001:db8::2")
        # With each number of bytes of padding.
        for size in range(100, 104):
            self.assertTrue(left.pings("192.0.2.2", "-s", size))
        self.assertTrue(left.pings("192.0.2.2", "-s", 1472, "-M", "do"))
        capture.end()
        capture.assert_good()
        guids = [self.ports()["mlx4_0", number]["guid"].removeprefix("0x") for number in (1, 2)]
        addresses = [rf"00[0-9a-f]{{6}}fe80000000000000{guid}" for guid in guids]

        # 9.1.1: a question to all, and its answer to the one that asked.
        asked, *_ = capture.fields("arp.opcode == 1", "arp.hw.type", "arp.hw.size", "arp.src.hw", "arp.src.proto_ipv4", "arp.dst.proto_ipv4",
                                   "infiniband.bth.destqp", "infiniband.grh.dgid")
        self.assertEqual(asked[:2] + asked[3:], ("32", "20", "192.0.2.1", "192.0.2.2", "0xffffff", "ff12:401b:ffff::ffff:ffff"))
        self.assertRegex(asked[2], f"^{addresses[0]}$")
        self.assertIn("Hardware type: InfiniBand (32)\n", capture.text("arp.opcode == 1"))
        answer, *_ = capture.fields("arp.opcode == 2", "arp.hw.type", "arp.hw.size", "arp.src.hw", "arp.dst.hw")
        self.assertEqual(answer[:2], ("32", "20"))
        self.assertRegex(answer[2], f"^{addresses[1]}$")
        self.assertEqual(answer[3], asked[2])

        # 9.2: options of 24 bytes, of which two are reserved.
        for kind, option in ((135, "src"), (136, "target")):
            rows = capture.fields(f"icmpv6.type == {kind} and icmpv6.opt.linkaddr", "icmpv6.opt.type", "icmpv6.opt.length", "icmpv6.opt.linkaddr")
            self.assertTrue(rows, option)
            for types, lengths, value in rows:
                self.assertEqual((types.split(",")[0], lengths.split(",")[0]), ("1" if kind == 135 else "2", "3"))
                self.assertRegex(value, rf"^0000({'|'.join(addresses)})$")

        wrong = "icmp.checksum.status == 0 or icmpv6.checksum.status == 0 or ip.checksum.status == 0"
        self.assertEqual(capture.packets(wrong), [])
        pings = capture.fields("icmp.type == 8", "infiniband.bth.padcnt", "ip.len", "infiniband.deth.q_key", DIRECTION)
        lengths = {(int(length), int(padding)) for padding, length, *_ in pings}
        self.assertLessEqual({(128, 0), (129, 3), (130, 2), (131, 1), (1500, 0)}, lengths)
        self.assertEqual({(int(key, 16), direction) for *_, key, direction in pings}, {(0xb1b, OUT)})
        self.assertEqual(len(capture.packets("icmp.type == 0")), len(pings))

    def test_9_each_vlan_has_the_key_of_its_partition(self):
        capture = Capture(self, "vmnic32")
        left = self.station("a", "left", "192.0.2.1/24", vlan=10)
        self.station("b", "right", "192.0.2.2/24", vlan=10)
        left.wait_for("192.0.2.2")
        capture.end()
        capture.assert_good()
        self.assertEqual(set(numbers(capture.fields("icmp or arp", "infiniband.bth.p_key"))), {(0x800a,)})
        self.assertEqual(capture.packets("vlan"), [])


if __name__ == "__main__":
    unittest.main()
