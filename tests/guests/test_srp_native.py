"""A storage adapter of the host on an Ethernet: Linux's SRP target on a machine with rdma_rxe, which knows nothing of Paravane, and
on a VM whose adapter has RoCE v2. Each test goes on where the one before has ended."""
import re
import subprocess
import unittest

from guests import wait_for
from srp_rig import NUMBER, PATIENCE_S, PORT, Lun, SrpNativeRig, in_target, naa, permit, port_folder, serve, target_gid
from test_srp_initiator import is_logged_in
from test_upgrade import Upgrades

MACHINE, VM = 2, 1
SERIALS = {MACHINE: "aabbccdd0021", VM: "aabbccdd0011"}
MIB = 8
SUM = f"echo 3 >/proc/sys/vm/drop_caches; head -c {MIB << 20} /dev/ram0 | sha256sum"


class SrpNative(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.rig = SrpNativeRig()
        cls.addClassCleanup(cls.rig.close)
        cls.host = cls.rig.hosts[0]
        cls.storage = cls.rig.storage
        cls.luns = {vm: Lun(0, serial, file="/dev/ram0") for vm, serial in SERIALS.items()}
        cls.initiator = cls.storage.initiator()
        cls.rig.shell(MACHINE, serve(cls.luns[MACHINE], vm=MACHINE))
        cls.number = "0x" + cls.rig.shell(MACHINE, "cat /sys/module/ib_srpt/parameters/srpt_service_guid").strip().removeprefix("0x")

        # Nothing has this address, which shows after 30 seconds (test_8).
        cls.add_target("10.77.0.99", "0x1")

    @classmethod
    def add_target(cls, address, number):
        cls.host.cli("infiniband", "target", "add", "vmhba32", address, "--id-ext", number, "--ioc-guid", number, "--port", str(PORT))

    def target(self, what, is_so):
        """The machine's."""
        return self.storage.wait_target(what, lambda one: one["address"] == "::ffff:10.77.0.2" and is_so(one))

    def write_through(self, vm):
        """Random bytes come by the LUN's socket, and are those of the target's disk."""
        device = self.storage.device(naa(SERIALS[vm]))
        source = self.rig.folder / "random"
        with source.open("wb") as file:
            subprocess.run(["head", "-c", str(MIB << 20), "/dev/urandom"], stdout=file, check=True)
        where = f"nbd+unix:///{device['Device']}?socket={device['DevfsPath']}"
        subprocess.run(["qemu-img", "convert", "-n", "-f", "raw", "-O", "raw", source, where], check=True, timeout=PATIENCE_S)
        here = subprocess.run(["sha256sum", source], capture_output=True, text=True, check=True).stdout.split()[0]
        self.assertEqual(self.rig.shell(vm, SUM).split()[0], here)
        back = self.rig.folder / "back"
        subprocess.run(["qemu-img", "dd", "-f", "raw", "-O", "raw", "bs=1M", f"count={MIB}", f"if={where}", f"of={back}"], check=True,
                       timeout=PATIENCE_S)
        self.assertEqual(subprocess.run(["sha256sum", back], capture_output=True, text=True, check=True).stdout.split()[0], here)

    def test_1_a_target_that_is_no_vm_refuses_an_initiator_that_its_access_list_lacks(self):
        self.add_target("10.77.0.2", self.number)
        target = self.target("the refusal", lambda one: one["state"] == "refused" and self.initiator in one["problem"])
        self.assertTrue(target["named"])
        counters = self.storage.vmhbas()[0]["counters"]
        self.assertGreater(counters["neighbours_asked"], 0)

    def test_2_with_its_name_there_it_is_logged_in_and_its_bytes_are_the_targets(self):
        self.rig.shell(MACHINE, in_target(permit(port_folder(vm=MACHINE), self.initiator, self.luns[MACHINE])))
        self.storage.rescan()
        self.target("the login", is_logged_in)
        self.write_through(MACHINE)
        sent = self.rig.rxe_counters()
        self.assertGreater(sent["rcvd_pkts"], MIB << 10, sent)  # packets of 1024 bytes

    def test_3_the_machine_finds_its_address_by_arp(self):
        self.assertRegex(self.rig.shell(MACHINE, f"ip neighbour show {self.rig.ADDRESS}"), r"lladdr 00:50:56")
        self.assertGreater(self.storage.vmhbas()[0]["counters"]["neighbours_answered"], 0)

    def test_4_a_vm_with_roce_v2_is_found_and_logged_in_to(self):
        self.rig.shell(VM, serve(self.luns[VM], initiators=[self.initiator]))
        self.storage.rescan()
        target = self.storage.wait_target("the VM's login", lambda one: not one["named"] and is_logged_in(one))
        self.assertEqual((target["address"], target["id_ext"]), (target_gid(), NUMBER))
        self.write_through(VM)
        self.assertRegex(self.rig.shell(VM, "ip -6 neighbour show"), r"fe80::\S+ dev eth0 lladdr 00:50:56")

    def test_5_an_engine_that_is_replaced_logs_in_to_both_again(self):
        Upgrades(self.host).next()
        wait_for("both logins", lambda: sum(map(is_logged_in, self.storage.targets())) == 2, PATIENCE_S)
        self.write_through(MACHINE)

    def test_6_a_machine_whose_port_was_down_is_logged_in_to_again(self):
        self.rig.shell(MACHINE, "ip link set eth0 down")
        device = self.storage.device(naa(SERIALS[MACHINE]))
        # A command finds that its target is silent.
        reader = subprocess.Popen(["qemu-io", "-r", "-f", "raw", "-c", "read 0 4k", f"nbd+unix:///{device['Device']}?socket={device['DevfsPath']}"],
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(reader.wait, PATIENCE_S)
        self.addCleanup(reader.kill)
        self.target("the end of the login", lambda one: not is_logged_in(one))
        self.rig.shell(MACHINE, "ip link set eth0 up")
        self.target("the login", is_logged_in)
        self.write_through(MACHINE)

    def test_7_M4_4_5_its_path_goes_on_by_the_standby_uplink_of_a_team(self):
        device = self.storage.device(naa(SERIALS[MACHINE]))
        logins = "dmesg | grep -c 'Received SRP_LOGIN_REQ'"
        before = self.rig.shell(MACHINE, logins)
        self.assertEqual(self.rig.carrier(), "eth1")
        fio = subprocess.Popen(["fio", "--name=verify", "--ioengine=nbd", f"--uri=nbd+unix:///{device['Device']}?socket={device['DevfsPath']}",
                                f"--size={MIB}M", "--rw=randwrite", "--bsrange=4k-64k", "--iodepth=8", "--verify=crc32c", "--verify_fatal=1",
                                "--verify_backlog=16", "--time_based", "--runtime=12", "--verify_state_save=0"],
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.addCleanup(fio.kill)
        self.rig.lab.ethernet.set_link(self.rig.TEAM["eth1"], False)
        self.addCleanup(self.rig.lab.ethernet.set_link, self.rig.TEAM["eth1"], True)
        wait_for("the standby", lambda: self.rig.carrier() == "eth2", PATIENCE_S)
        said, _ = fio.communicate(timeout=PATIENCE_S)
        self.assertEqual((fio.returncode, "err= 0" in said), (0, True), said)
        self.assertEqual(self.rig.shell(MACHINE, logins), before, "it was logged in all the time")

    def test_8_an_address_that_no_machine_has_is_told(self):
        target = self.storage.wait_target("the reason", lambda one: "10.77.0.99" in one["address"] and one["state"] == "refused")
        self.assertIn("no machine of the network answers", target["problem"])

    def test_9_without_native_roce_its_address_is_refused_and_its_tap_goes(self):
        taps = self.rig.lab.hosts[0].space
        self.assertIn("pv-vmhba32.0", subprocess.run(["ip", "-n", taps, "link"], capture_output=True, text=True, check=True).stdout)
        self.host.cli("portgroup", "set", "native", "--roce", "off")
        vmhba = self.storage.vmhbas()[0]
        self.assertIn("RoCE off", vmhba["problem"])
        self.assertNotIn("pv-vmhba32.0", subprocess.run(["ip", "-n", taps, "link"], capture_output=True, text=True, check=True).stdout)
        refused = self.storage.type("paravane infiniband vmhba set vmhba32 --ipv4 10.77.0.201/24", status=1)
        self.assertIn("portgroup set native --roce native", re.sub(r"\s+", " ", refused))
        self.host.cli("portgroup", "set", "native", "--roce", "native")
        self.target("the login", is_logged_in)


if __name__ == "__main__":
    unittest.main()
