"""Storage adapters of the host (vmhba32 and up), which log in to Linux's SRP target on a VM and serve its LUNs as disks. The
section numbers are those of Mellanox's guide."""
import os
import re
import signal
import subprocess
import time
import unittest

from guests import engine_of, wait_for
from srp_rig import (DISK, FIO, NUMBER, PATIENCE_S, PORT, SUM_OF_DISK, SUM_OF_RAM, Lun, SrpHostsRig, SrpPowerRig, SrpRig, in_target, naa, permit,
                     port_folder, serve, target_gid)
from runner import processes  # srp_rig makes it importable
from test_upgrade import Upgrades

SERIALS = ["aabbccdd0001", "aabbccdd0002", "aabbccdd0003", "aabbccdd0004"]
SERIAL = SERIALS[0]


def is_logged_in(target):
    return target["state"] == "logged in" and target["luns"] > 0


class SrpLogin(unittest.TestCase):
    """Each test goes on where the one before has ended."""

    @classmethod
    def setUpClass(cls):
        cls.rig = SrpRig()
        cls.addClassCleanup(cls.rig.close)
        cls.storage = cls.rig.storage
        cls.lun = Lun(0, SERIAL)
        cls.rig.shell(1, serve(cls.lun))

    def logins(self):
        """How many the target's kernel tells of, of ours."""
        return int(self.rig.shell(1, f"dmesg | grep -c 'Received SRP_LOGIN_REQ with {self.own_id()}' || true"))

    def own_id(self):
        return f"i_port_id {':'.join(re.findall('....', self.storage.initiator()[2:]))},"

    def test_1_M4_4_3_a_target_whose_access_list_lacks_it_refuses_it_and_its_name_is_told(self):
        initiator = self.storage.initiator()
        target = self.storage.wait_target("the refusal", lambda one: one["state"] == "refused" and initiator in one["problem"])
        self.assertEqual((target["vmhba"], target["address"], target["id_ext"], target["ioc_guid"]), ("vmhba32", target_gid(), NUMBER, NUMBER))
        self.assertEqual(self.storage.devices(), [])

    def test_2_M4_4_3_with_its_name_there_it_is_logged_in_and_the_target_knows_it(self):
        initiator = self.storage.initiator()
        self.rig.shell(1, in_target(permit(port_folder(), initiator, self.lun)))
        self.storage.rescan()
        target = self.storage.wait_target("the login", is_logged_in)
        self.assertEqual((target["vmhba"], target["luns"], target["named"], target["problem"]), ("vmhba32", 1, False, ""))
        self.assertGreater(self.logins(), 1)
        self.assertIn(SERIAL, self.storage.devices()[0]["Device"])

    def test_3_M4_4_3_one_that_was_found_and_is_named_has_one_login_by_the_way_that_is_named(self):
        words = "vmhba32", target_gid(), "--id-ext", NUMBER, "--ioc-guid", NUMBER, "--port", str(PORT)
        self.rig.cli("infiniband", "target", "add", *words)
        target = self.storage.wait_target("the login", lambda one: is_logged_in(one) and one["named"])
        self.assertEqual((target["port"], target["luns"]), (PORT, 1))
        self.storage.rescan()  # finds it once more
        self.assertEqual([one["number"] for one in self.storage.targets() if one["vmhba"] == "vmhba32"], [target["number"]])
        self.assertEqual(self.storage.states(), {f"vmhba32:C0:T{target['number']}:L0": "active"})
        self.rig.cli("infiniband", "target", "remove", "vmhba32", str(target["number"]))
        target = self.storage.wait_target("the login of what was found", is_logged_in)
        self.assertEqual((target["named"], target["port"]), (False, None))

    def test_4_M4_4_3_after_its_port_was_down_it_is_logged_in_again(self):
        before = self.logins()
        self.rig.cli("infiniband", "restart")
        self.storage.wait_target("the login", is_logged_in)
        self.assertGreater(self.logins(), before)
        self.assertEqual([one["Status"] for one in self.storage.devices()], ["on"])

    def test_5_M4_4_3_a_login_needs_no_subnet_manager_once_the_port_is_active(self):
        self.storage.end()
        before = self.logins()
        self.rig.shell(1, in_target(f"echo 0 >{port_folder()}/enable"))
        self.storage.wait_target("the end of the login", lambda one: not is_logged_in(one))
        self.assertEqual([one["Status"] for one in self.storage.devices()], ["dead"])
        self.rig.shell(1, in_target(f"echo 1 >{port_folder()}/enable"))
        self.storage.rescan()
        self.storage.wait_target("the login", is_logged_in)
        self.assertGreater(self.logins(), before)


class SrpLuns(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.rig = SrpRig()
        cls.addClassCleanup(cls.rig.close)
        cls.storage = cls.rig.storage
        cls.luns = [Lun(0, SERIALS[0], mib=16), Lun(1, SERIALS[1], mib=32, read_only=True), Lun(2, SERIALS[2], mib=48), Lun(3, mib=8)]
        cls.rig.shell(1, serve(*cls.luns, initiators=[cls.storage.initiator()]))
        cls.storage.rescan()
        cls.storage.wait_target("the login", is_logged_in)

    def test_M4_4_3_adapters(self):
        uid = self.storage.initiator()[-16:]
        row = self.storage.json("storage", "core", "adapter", "list")[0]
        self.assertEqual([row[key] for key in ("HBAName", "Driver", "LinkState", "UID")], ["vmhba32", "ib_srp", "link-up", f"srp.{uid}"])
        self.assertIn("MT26428", row["Description"])
        self.assertRegex(self.storage.type("esxcfg-scsidevs -a"), rf"(?m)^vmhba32 +ib_srp +link-up +srp\.{uid} ")
        self.assertRegex(self.storage.type("ibstat -vmhba"), rf"(?m)^vmhba32 .*0x{uid} +Active$")

    def test_M4_4_3_each_lun_has_its_size_and_what_it_permits(self):
        devices = self.storage.devices()
        self.assertEqual([(one["Device"], one["Size"], one["IsReadOnly"], one["Status"]) for one in devices],
                         [(naa(lun.serial), lun.mib, lun.read_only, "on") for lun in self.luns[:3]])
        listed = self.storage.type("esxcfg-scsidevs -l")
        self.assertEqual(re.findall(r"(?m)^(naa\.\S+)$", listed), [naa(serial) for serial in SERIALS[:3]])
        self.assertEqual(re.findall(r"Size: (\d+) MB", listed), ["16", "32", "48"])

    def test_M4_4_3_one_that_is_read_only_cannot_be_written_to(self):
        for lun in self.luns[:2]:
            socket = self.storage.device(naa(lun.serial))["DevfsPath"]
            done = subprocess.run(["qemu-io", "-f", "raw", *(["-r"] if lun.read_only else []), "-c", "write -P 7 0 64k",
                                   "-c", "read 0 64k", f"nbd+unix:///{naa(lun.serial)}?socket={socket}"],
                                  capture_output=True, text=True, timeout=PATIENCE_S, check=False)
            self.assertIn("read 65536/65536", done.stdout, done.stderr)
            self.assertEqual("wrote 65536/65536" in done.stdout, not lun.read_only, done.stdout + done.stderr)

    def test_M4_4_3_one_without_a_name_of_its_own_is_not_offered_and_the_reason_is_told(self):
        path = next(one for one in self.storage.paths() if one["LUN"] == 3)
        self.assertEqual((path["State"], path["Device"]), ("dead", "No associated device"))
        self.assertIn("no name", path["Problem"])
        self.assertTrue(path["AdapterIdentifier"] and path["TargetIdentifier"], path)

    def test_M4_4_3_paths(self):
        number = NUMBER[2:]
        text = self.storage.type("esxcfg-mpath -l")
        target = next(one["number"] for one in self.storage.targets() if is_logged_in(one))
        for lun in self.luns[:3]:
            place = f"vmhba32:C0:T{target}:L{lun.number}"
            self.assertRegex(text, rf"(?m)^vmhba32-fe80::\S+-{number}-{re.escape(naa(lun.serial))}$\n   Runtime Name: {place}$")
            device = next(one for one in self.storage.json("storage", "nmp", "device", "list") if one["Device"] == naa(lun.serial))
            self.assertEqual((device["WorkingPaths"], device["Paths"]), (place, "total 1, broken 0, disabled 0"))
            self.assertIn(f"{place} state:active {naa(lun.serial)} ", self.storage.type("esxcfg-mpath -L"))

    def test_M4_4_3_a_rescan_finds_a_new_lun_and_forgets_one_that_is_gone(self):
        initiator = self.storage.initiator()
        new = Lun(4, SERIALS[3], mib=24)
        self.rig.shell(1, in_target(new.make() + new.offer(port_folder()) + new.permit(port_folder(), initiator)))
        self.storage.type("esxcfg-rescan vmhba32")
        self.assertEqual(self.storage.device(naa(new.serial))["Size"], new.mib)
        self.rig.shell(1, in_target(new.forbid(port_folder(), initiator) + new.withdraw(port_folder())))
        self.storage.type("esxcfg-rescan vmhba32")
        self.assertIsNone(self.storage.device(naa(new.serial)))

    def test_M4_4_3_2_a_port_has_as_many_adapters_as_max_vmhbas_says(self):
        self.addCleanup(self.restart_with, "")
        self.restart_with("max_vmhbas=2")
        vmhbas = self.storage.vmhbas()
        self.assertEqual([(one["name"], one["port"]) for one in vmhbas], [("vmhba32", 1), ("vmhba33", 2), ("vmhba34", 1), ("vmhba35", 2)])
        self.assertEqual(len({one["initiator"] for one in vmhbas}), 4)

    def restart_with(self, options):
        self.storage.restart_with(options)
        self.storage.wait_target("the login", is_logged_in)


class SrpDisk(unittest.TestCase):
    """vm2, which paravane runs, has a LUN of vm1 as its disk: a RAM disk there."""

    @classmethod
    def setUpClass(cls):
        cls.rig = SrpPowerRig()
        cls.addClassCleanup(cls.rig.close)
        cls.storage = cls.rig.storage
        cls.lun = Lun(0, SERIAL, file="/dev/ram0")
        cls.name = naa(SERIAL)
        cls.rig.shell(1, serve(cls.lun, initiators=[cls.storage.initiator()]))
        cls.storage.rescan()
        cls.storage.wait_target("the login", is_logged_in)
        cls.rig.start_with(2, cls.name)

    def test_1_a_file_system_is_written_unmounted_and_checked_at_both_ends(self):
        self.assertEqual((self.storage.device(self.name)["VM"], self.storage.device(self.name)["InUse"]), ("vm2", True))
        self.rig.shell_of("vm2", f"mkfs.ext4 -q {DISK} && mkdir -p /mnt && mount -t ext4 {DISK} /mnt && for i in $(seq 40); do head -c 100000 "
                                 "/dev/urandom >/mnt/$i; done && (cd /mnt && sha256sum [0-9]*) >/tmp/sums && umount /mnt")
        self.rig.shell_of("vm2", f"e2fsck -f -n {DISK} && mount -t ext4 {DISK} /mnt && (cd /mnt && sha256sum -c /tmp/sums >/dev/null) && umount /mnt")
        self.rig.shell(1, "echo 3 >/proc/sys/vm/drop_caches && e2fsck -f -n /dev/ram0")

    def test_2_fio_finds_what_it_wrote_and_goes_on_while_the_engine_is_replaced(self):
        upgrades = Upgrades(self.rig)
        self.rig.begin_in("vm2", FIO + "15")
        upgrades.next()
        self.assertTrue(self.rig.goes_on_in("vm2"))
        said = self.rig.end_in("vm2")
        upgrades.tell()
        self.assertRegex(said, r"err= 0")
        self.assertIn("ENDED-0", said)
        self.assertNotIn("verify: bad", said)

    def test_3_the_bytes_are_the_targets(self):
        here = self.rig.shell_of("vm2", SUM_OF_DISK).split()[0]
        self.assertEqual(self.rig.shell(1, SUM_OF_RAM).split()[0], here)

    def test_4_a_second_vm_is_refused_it_and_one_that_is_not_there_keeps_a_vm_from_starting(self):
        refused = self.rig.run("vm", "add", "other", "--memory", "64M", "--accelerator", "tcg", "--disk", f"lun:{self.name}", status=1)
        self.assertIn("vm2", refused)
        self.rig.run("vm", "add", "other", "--memory", "64M", "--accelerator", "tcg", "--disk", f"lun:{naa(SERIALS[1])}")
        self.addCleanup(self.rig.run, "vm", "remove", "other", "--force")
        self.assertIn(naa(SERIALS[1]), self.rig.run("vm", "start", "other", status=1))


class SrpDiskOfAnotherHost(unittest.TestCase):
    """vm1 on h1 has a LUN of vm2 on h2 as its disk, whose adapters outlive what happens to h1's daemon."""

    @classmethod
    def setUpClass(cls):
        cls.rig = SrpHostsRig()
        cls.addClassCleanup(cls.rig.close)
        cls.storage = cls.rig.storage
        cls.name = naa(SERIAL)
        cls.rig.shell(2, serve(Lun(0, SERIAL, file="/dev/ram0"), initiators=[cls.storage.initiator()], vm=2))
        cls.storage.rescan()
        cls.storage.wait_target("the login", is_logged_in)
        cls.rig.start_with(cls.name)

    def setUp(self):
        """fio has begun to write."""
        self.fio = self.rig.spawn(1, "sh", "-c", FIO + "20", timeout=150)
        self.addCleanup(self.fio.end)
        before = self.written()
        wait_for("fio to write", lambda: self.written() > before, PATIENCE_S)

    def written(self):
        return int(self.rig.shell(1, "cat /sys/block/vda/stat").split()[6])

    def check_it_goes_on(self):
        before = self.written()
        wait_for("the disk to go on", lambda: self.written() > before, PATIENCE_S)
        self.assertIsNone(self.fio.process.poll())
        self.assertIn("err= 0", self.fio.expect_success(150))
        self.assertEqual(self.rig.shell(1, "dmesg | grep -i 'I/O error' || true"), "")
        here = self.rig.shell(1, SUM_OF_DISK).split()[0]
        self.assertEqual(self.rig.shell(2, SUM_OF_RAM).split()[0], here)

    def test_1_the_engine_is_replaced(self):
        Upgrades(self.rig.hosts[0]).next()
        self.check_it_goes_on()

    def test_2_the_engine_is_killed(self):
        daemon = processes.recall(self.rig.lab.hosts[0].pid_file())
        before = engine_of(daemon)
        os.kill(int(before.name), signal.SIGKILL)
        wait_for("another engine", lambda: self.engine_if_any(daemon) not in (None, before), 20)
        self.check_it_goes_on()

    def test_3_the_daemon_is_started_again(self):
        host = self.rig.lab.hosts[0]
        host.paravane("daemon", "stop", "--force")
        wait_for("the daemon's end", lambda: processes.recall(host.pid_file()) is None, 30)
        self.storage.end()
        host.start()
        self.storage.begin_manager()
        self.check_it_goes_on()

    @staticmethod
    def engine_if_any(daemon):
        try:
            return engine_of(daemon)
        except (StopIteration, FileNotFoundError, ProcessLookupError):
            return None


# Blocks of a disk written in turn, each with the next number, and one of them read: what was written last, once that was
# acknowledged, has to be there, and not what was before. $1: the first block.
COUNT = f"""first=$1; i=0
while [ ! -e /tmp/enough ]; do
  i=$((i+1)); block=$((i%16)); printf '%-512d' $i >/tmp/w$first
  dd if=/tmp/w$first of={DISK} bs=512 count=1 seek=$((first+block)) oflag=direct conv=notrunc 2>/dev/null || {{ echo failed at $i; exit 1; }}
  eval last$block=$i; block=$((i*7%16)); eval wanted=\\${{last$block:-}}
  [ -n "$wanted" ] || continue
  found=$(dd if={DISK} bs=512 count=1 skip=$((first+block)) iflag=direct 2>/dev/null); set -- $found; found=$1
  [ $found = $wanted ] || {{ echo "block $block: $found, not $wanted"; exit 1; }}
  echo $i >/tmp/at$first
done
echo counted to $i"""
COUNT_ALL = "for first in $*; do sh /count $first & done; wait"


class SrpFailover(unittest.TestCase):
    """vm2 has a LUN that vm1 offers at two ports."""

    @classmethod
    def setUpClass(cls):
        cls.rig = SrpPowerRig(adapters=2, files={"count": COUNT, "count-all": COUNT_ALL})
        cls.addClassCleanup(cls.rig.close)
        cls.storage = cls.rig.storage
        cls.name = naa(SERIAL)
        cls.rig.shell(1, serve(Lun(0, SERIAL, file="/dev/ram0"), initiators=[cls.storage.initiator()], adapters=(1, 2)))
        cls.storage.rescan()
        wait_for("two logins", lambda: sum(map(is_logged_in, cls.storage.targets())) == 2, PATIENCE_S)
        cls.rig.start_with(2, cls.name)

    def by_gid(self):
        """GID of a target's port -> the path by it."""
        numbers = {one["number"]: one["address"] for one in self.storage.targets() if one["vmhba"] == "vmhba32"}
        return {numbers[one["Target"]]: one for one in self.storage.paths()}

    def device(self):
        return self.storage.json("storage", "nmp", "device", "list")[0]

    def test_1_M4_4_5_there_are_two_paths_and_one_is_active(self):
        self.assertEqual(sorted(self.storage.states().values()), ["active", "standby"])
        states = re.findall(r"(?m)^   State: (\w+)$", self.storage.type(f"esxcfg-mpath -l -d {self.name}"))
        self.assertEqual(sorted(states), ["active", "standby"])
        self.assertEqual(self.device()["Paths"], "total 2, broken 0, disabled 0")

    def test_2_M4_4_5_the_disk_goes_on_by_the_other_path_and_then_by_the_preferred_one_again(self):
        working = self.device()["WorkingPaths"]
        gid = next(gid for gid, path in self.by_gid().items() if path["RuntimeName"] == working)
        adapter = "1" if gid == target_gid(1) else "2"
        self.rig.begin_in("vm2", FIO + "25")
        self.rig.cli("vm", "adapter", "disconnect", "vm1", adapter)
        self.addCleanup(self.rig.cli, "vm", "adapter", "connect", "vm1", adapter)
        wait_for("the path to be dead", lambda: self.storage.states()[working] == "dead", PATIENCE_S)
        device = self.device()
        self.assertEqual(device["Paths"], "total 2, broken 1, disabled 0")
        self.assertNotIn(device["WorkingPaths"], ("", working))
        self.assertEqual(self.storage.device(self.name)["Status"], "degraded")
        self.rig.cli("vm", "adapter", "connect", "vm1", adapter)
        wait_for("the preferred path", lambda: self.device()["WorkingPaths"] == working, PATIENCE_S)
        self.assertEqual(self.device()["Paths"], "total 2, broken 0, disabled 0")
        said = self.rig.end_in("vm2")
        self.assertIn("ENDED-0", said)
        self.assertIn("err= 0", said)

    def test_3_M4_4_5_a_target_that_stands_still_brings_no_older_block_back(self):
        firsts = [70000, 80000, 90000, 100000]
        self.rig.shell_of("vm2", "rm -f /tmp/enough")
        self.rig.begin_in("vm2", f"sh /count-all {' '.join(map(str, firsts))}")
        qemu = self.rig.qemu_of_target()
        wait_for("them to count", lambda: self.count(firsts) > 8, PATIENCE_S)
        os.kill(qemu, signal.SIGSTOP)
        try:
            time.sleep(20)
        finally:
            os.kill(qemu, signal.SIGCONT)
        before = self.count(firsts)
        wait_for("them to go on counting", lambda: self.count(firsts) > before + 20, PATIENCE_S)
        self.rig.shell_of("vm2", "touch /tmp/enough")
        said = self.rig.end_in("vm2")
        self.assertEqual(said.count("counted to"), len(firsts), said)
        wait_for("both paths", lambda: sorted(self.storage.states().values()) == ["active", "standby"], PATIENCE_S)

    def test_4_M4_4_3_1_an_adapter_has_as_many_targets_as_max_srp_targets_says(self):
        self.addCleanup(wait_for, "two logins", lambda: sum(map(is_logged_in, self.storage.targets())) == 2, PATIENCE_S)
        self.addCleanup(self.storage.restart_with, "")
        self.storage.restart_with("max_srp_targets=1")
        wait_for("what is left out to be told", lambda: "max_srp_targets=1" in self.storage.vmhbas()[0]["problem"], PATIENCE_S)
        self.assertEqual(sum(one["vmhba"] == "vmhba32" for one in self.storage.targets()), 1)
        self.storage.wait_target("the login", is_logged_in)
        self.rig.shell_of("vm2", f"dd if={DISK} of=/dev/null bs=64k count=16 iflag=direct")

    def count(self, firsts):
        """How far the slowest has come."""
        said = self.rig.shell_of("vm2", "cat " + " ".join(f"/tmp/at{first}" for first in firsts) + " 2>/dev/null || true").split()
        return min(map(int, said)) if len(said) == len(firsts) else 0


if __name__ == "__main__":
    unittest.main()
