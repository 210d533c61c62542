"""Path MTUs of 2048 and 4096 between a VM and Linux's rdma_rxe, where the network carries frames that long."""
import re
import unittest

from guests import wait_for
from native_rig import NativeRig
from test_native_endpoint import BOTH_WAYS, MACHINE, VM

PROGRAMS = (["ib_write_bw"], ["ib_read_bw", "-o", "4"], ["ib_send_bw"])
BYTES, MESSAGES = 65536, 50


class NativeLargeFrames(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.rig = NativeRig(VM, MACHINE, mtu=9000)
        cls.addClassCleanup(cls.rig.close)
        cls.rig.up()

    def active_mtu(self, guest):
        return int(re.search(r"active_mtu:\s+(\d+)", self.rig.guest(guest, "ibv_devinfo", "-d", self.rig.devices[guest]))[1])

    def goes_with(self, mtu):
        """Packets of that MTU, of programs of both ends."""
        for server, client in BOTH_WAYS:
            with self.subTest(server=server, mtu=mtu):
                self.rig.exchange(server, client, "ibv_rc_pingpong", "-g", "1", "-m", str(mtu), "-c", "-s", str(BYTES), "-n", "20")
            for words in PROGRAMS:
                with self.subTest(server=server, mtu=mtu, words=words):
                    before = self.rig.rxe_counters()
                    _, text = self.rig.exchange(server, client, words[0], "-x", "1", "-F", "-m", str(mtu), "-s", str(BYTES), "-n",
                                                str(MESSAGES), *words[1:])
                    self.assertRegex(text, rf"Mtu\s+: {mtu}\[B\]")
                    if words[0] == "ib_read_bw":
                        continue  # some of a READ's data is asked for again
                    after = self.rig.rxe_counters()
                    # As Linux counts them: those of the data, for there are no more acknowledgements.
                    packets = max(after[name] - before[name] for name in ("sent_pkts", "rcvd_pkts"))
                    self.assertGreaterEqual(packets, MESSAGES * BYTES // mtu)
                    self.assertLess(packets, 1.5 * MESSAGES * BYTES // mtu)

    def test_1_where_frames_have_9000_bytes(self):
        self.assertEqual([self.active_mtu(guest) for guest in (VM, MACHINE)], [4096, 4096])
        for mtu in 2048, 4096:
            self.goes_with(mtu)
        self.rig.rping(MACHINE, VM)
        self.rig.rping(VM, MACHINE)

    def test_2_the_mtu_of_the_switch_is_lowered_under_traffic(self):
        """Packets that have become too long are never sent: the connection ends, and the guest sees what its next may have."""
        host, words = self.rig.lab.hosts[0], ["-x", "1", "-F", "-m", "4096", "-s", str(BYTES), "-D", "60"]
        server = self.rig.spawn(MACHINE, "ib_write_bw", "-d", self.rig.devices[MACHINE], *words)
        self.addCleanup(server.process.kill)
        self.rig.wait_listening(MACHINE, 18515)
        before = self.rig.sends(VM)
        client = self.rig.spawn(VM, "ib_write_bw", "-d", self.rig.devices[VM], *words, self.rig.address_of(MACHINE))
        self.addCleanup(client.process.kill)
        self.addCleanup(self.rig.set_mtu, self.rig.mtu)
        wait_for("writes", lambda: self.rig.sends(VM) > before + 20, 30)
        host.paravane("vds", "set", "lan", "--mtu", "1500")
        code, text = client.finish(60)
        self.assertNotEqual(code, 0, text)
        self.assertIn("status 12", text)  # IBV_WC_RETRY_EXC_ERR
        self.assertGreater(self.rig.stats(VM)["too_long"], 0)
        self.assertEqual(self.active_mtu(VM), 1024)
        for server, client in BOTH_WAYS:
            self.rig.exchange(server, client, "ibv_rc_pingpong", "-g", "1", "-m", "1024", "-c", "-n", "20")

    def test_3_where_they_have_just_the_room_for_4096(self):
        for mtu in 4200, 4180:
            for guest in VM, MACHINE:
                self.rig.guest(guest, "ip", "link", "set", "eth0", "mtu", str(mtu))
            self.rig.set_mtu(mtu)
            self.goes_with(4096)
            self.rig.rping(VM, MACHINE)


if __name__ == "__main__":
    unittest.main()
