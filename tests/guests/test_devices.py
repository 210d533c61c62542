"""What a stock guest sees of its adapter."""
import re
import unittest

from rig import Rig


class Devices(unittest.TestCase):
    """One guest with two addresses."""

    @classmethod
    def setUpClass(cls):
        cls.rig = Rig()
        cls.addClassCleanup(cls.rig.close)
        cls.rig.up(1)

    def test_C77_ibv_devinfo_shows_one_active_port_of_a_pvrdma_adapter(self):
        text = self.rig.guest(1, "ibv_devinfo", "-v")
        self.assertRegex(text, r"hca_id:\s+vmw_pvrdma0")
        self.assertRegex(text, r"vendor_id:\s+0x15ad")
        self.assertRegex(text, r"vendor_part_id:\s+2080")
        self.assertRegex(text, r"phys_port_cnt:\s+1\n")
        self.assertRegex(text, r"state:\s+PORT_ACTIVE \(4\)")
        self.assertRegex(text, r"link_layer:\s+Ethernet")

    def test_gids_follow_the_mac_and_the_addresses_of_the_paired_nic(self):
        self.rig.shell(1, "ip addr add fd77::1/64 dev eth0 nodad")
        mac = self.rig.shell(1, "cat /sys/class/net/eth0/address").strip().split(":")
        eui = f"fe80:0000:0000:0000:{int(mac[0], 16) ^ 2:02x}{mac[1]}:{mac[2]}ff:fe{mac[3]}:{mac[4]}{mac[5]}"
        gids = self.rig.shell(1, "cat /sys/class/infiniband/vmw_pvrdma0/ports/1/gids/*").split()
        self.assertIn(eui, gids)
        self.assertIn("0000:0000:0000:0000:0000:ffff:0a4d:0001", gids)
        self.assertIn("fd77:0000:0000:0000:0000:0000:0000:0001", gids)

    def test_ibstat_says_active(self):
        text = self.rig.guest(1, "ibstat")
        self.assertIn("CA 'vmw_pvrdma0'", text)
        self.assertRegex(text, r"State: Active\s+Physical state: LinkUp")

    def test_rdma_link_says_active(self):
        self.assertRegex(self.rig.guest(1, "rdma", "link"), r"link vmw_pvrdma0/1 state ACTIVE physical_state LINK_UP")

    def test_dmesg_names_the_paired_device(self):
        self.assertRegex(self.rig.guest(1, "dmesg"), r"vmw_pvrdma 0000:00:10\.1: paired device to (eth|ens)\w+")

    def test_node_guid_follows_the_mac(self):
        mac = self.rig.shell(1, "cat /sys/class/net/eth0/address").strip().split(":")
        guid = self.rig.shell(1, "cat /sys/class/infiniband/vmw_pvrdma0/node_guid").strip().replace(":", "")
        self.assertTrue(re.fullmatch(r"[0-9a-f]{16}", guid))
        self.assertEqual(guid[-6:], "".join(mac[3:]))


if __name__ == "__main__":
    unittest.main()
