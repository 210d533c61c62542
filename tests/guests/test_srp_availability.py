"""A VM's disk while no path to its LUN works, and while targets are killed and reboot: what was written is there, and what cannot be
written fails in words. The section number is that of Mellanox's guide."""
import hashlib
import unittest

from guests import wait_for
from srp_client import FAILING, PATH_BACK, PATH_WAIT_S, UNREACHABLE, LunClient
from srp_rig import DISK, FIO_MIB, PATIENCE_S, Lun, SrpPowerRig, naa, serve

SERIAL = "aabbccdd0011"


class SrpAllPathsLost(unittest.TestCase):
    """vm2 has a LUN that vm1 offers at two ports."""

    @classmethod
    def setUpClass(cls):
        cls.rig = SrpPowerRig(adapters=2)
        cls.addClassCleanup(cls.rig.close)
        cls.storage = cls.rig.storage
        cls.rig.shell(1, serve(Lun(0, SERIAL, file="/dev/ram0"), initiators=[cls.storage.initiator()], adapters=(1, 2)))
        cls.storage.rescan()
        wait_for("two paths", lambda: len(cls.storage.paths()) == 2, PATIENCE_S)
        cls.client = LunClient(cls.rig, 2, naa(SERIAL))

    def check_the_bytes_are_the_targets(self):
        self.assertEqual(self.client.sum_of_ram(), self.client.sum())

    def set_ports(self, word):
        """Of the target."""
        for adapter in "12":
            self.rig.cli("vm", "adapter", word, "vm1", adapter)

    def test_1_M4_4_5_the_disk_goes_on_when_paths_are_back_in_time(self):
        self.client.begin_fio()
        self.addCleanup(self.set_ports, "connect")
        self.set_ports("disconnect")
        self.client.wait_paths("dead", "dead")
        self.assertEqual(self.client.device()["Status"], "dead")
        [lost] = self.storage.events(UNREACHABLE)
        self.set_ports("connect")
        self.client.wait_paths("active", "standby")
        self.assertLess(self.client.seconds_to(PATH_BACK, lost), PATH_WAIT_S)
        self.client.check_fio_is_right()
        self.assertEqual(self.storage.events(FAILING), [])
        self.assertEqual(self.rig.shell_of("vm2", "dmesg | grep -i 'I/O error' || true"), "")
        self.check_the_bytes_are_the_targets()

    def test_2_M4_4_5_it_fails_in_words_when_they_stay_away_and_works_again(self):
        before = len(self.storage.events(FAILING))
        self.client.begin_fio()
        self.addCleanup(self.storage.set_cable, "mlx4_0 port 1", True)
        self.storage.set_cable("mlx4_0 port 1", False)
        self.client.wait_paths("dead", "dead")
        self.assertTrue(self.client.fio_goes_on())
        self.client.check_fio_fails()
        told = self.storage.events(FAILING)[before:]
        self.assertEqual([one["fields"]["reason"] for one in told], [f"no path has worked for {PATH_WAIT_S} s"])
        self.assertGreater(self.client.seconds_to(FAILING, self.storage.events(UNREACHABLE)[-1]), PATH_WAIT_S - 0.1)  # by a clock that is set
        device = self.client.device()
        self.assertEqual((device["Status"], device["Problem"]), ("dead", "the port of the vmhba is down"))
        self.client.check_a_read_fails()
        self.storage.set_cable("mlx4_0 port 1", True)
        self.client.wait_paths("active", "standby")
        self.client.begin_fio()
        self.client.check_fio_is_right()
        self.check_the_bytes_are_the_targets()
        self.assertEqual(len(self.storage.events(FAILING)), before + 1)

    def test_3_M4_4_5_paths_that_no_command_takes_are_told_dead_too(self):
        self.addCleanup(self.set_ports, "connect")
        self.client.wait_paths("active", "standby")
        before = self.storage.counters(self.client.name)
        self.set_ports("disconnect")
        self.client.wait_paths("dead", "dead")
        self.assertEqual({one["Problem"] for one in self.storage.paths()}, {"a message could not be sent: transport retries exceeded"})
        self.assertEqual(self.storage.counters(self.client.name), before)
        self.set_ports("connect")
        self.client.wait_paths("active", "standby")


class SrpTargetsLost(unittest.TestCase):
    """vm3 has a LUN that vm1 and vm2 offer under one name: they have one disk, without a cache. What a target that is killed had not written
    yet is not written, since the process is gone whose host's file the disk is."""

    @classmethod
    def setUpClass(cls):
        cls.rig = SrpPowerRig(targets=2, shared_mib=FIO_MIB)
        cls.addClassCleanup(cls.rig.close)
        cls.storage = cls.rig.storage
        cls.serve(1)
        cls.serve(2)
        cls.storage.rescan()
        wait_for("two paths", lambda: len(cls.storage.paths()) == 2, PATIENCE_S)
        cls.client = LunClient(cls.rig, 3, naa(SERIAL))

    @classmethod
    def serve(cls, vm):
        """With what a target has after a boot."""
        cls.rig.shell(vm, "insmod /virtio_blk.ko && grep -q 'write through' /sys/block/vda/queue/write_cache")
        cls.rig.shell(vm, serve(Lun(0, SERIAL, file=DISK), initiators=[cls.storage.initiator()], vm=vm))

    def start_again(self, *targets):
        """Those that were killed."""
        self.rig.lab("down", *map(str, targets))
        self.rig.boot_targets(len(targets), first=targets[0])
        for vm in targets:
            self.serve(vm)

    def check_the_bytes_are_the_files(self):
        self.assertEqual(hashlib.sha256(self.rig.shared.read_bytes()).hexdigest(), self.client.sum())

    def check_it_works(self):
        self.client.begin_fio()
        self.client.check_fio_is_right()
        self.check_the_bytes_are_the_files()

    def test_1_M4_4_5_one_is_killed_in_mid_write_and_the_disk_goes_on_by_the_other(self):
        path = self.client.working_path()
        target = int(self.client.target_of(path)[-1])
        moved = self.client.moved()
        self.client.begin_fio()
        self.rig.lab("kill", str(target))
        self.client.wait_states("the path to be dead", lambda states: states[path] == "dead")
        self.assertGreater(self.client.moved(), moved)
        self.client.wait_written("fio to go on by the other path")
        self.assertTrue(self.client.fio_goes_on())
        self.start_again(target)
        self.client.wait_states("the preferred path", lambda states: states[path] == "active")
        self.client.check_fio_is_right()
        self.assertEqual(self.storage.events(UNREACHABLE), [])
        self.check_the_bytes_are_the_files()

    def test_2_M4_4_5_both_are_killed_and_started_again(self):
        def act():
            self.rig.lab("kill", "1", "2")
            self.start_again(1, 2)
        self.client.check_fio_during(act, "active", "standby")
        self.check_it_works()

    def test_3_M4_4_5_the_only_one_reboots_while_it_is_written_to(self):
        self.rig.lab("down", "2")
        self.addCleanup(self.start_again, 2)

        def act():
            self.rig.lab("reboot", "1")
            self.serve(1)
        self.client.check_fio_during(act, "active", "dead")
        self.check_it_works()


if __name__ == "__main__":
    unittest.main()
