"""The guest's kernel as a user of the device: a RAM disk of one guest, used by the
other over NVMe over Fabrics and over SRP, on one host and between two. Queue pairs,
regions and invalidations are the kernel's own."""
import time
import unittest

from hosts_rig import HostsRig
from rig import Rig

LAYER = ("--layer", "storage", "--memory", "768")

NVME_SERVE = """
set -e
modprobe brd rd_nr=1 rd_size=131072
modprobe nvmet-rdma
mount -t configfs none /sys/kernel/config 2>/dev/null || true
cd /sys/kernel/config/nvmet
mkdir subsystems/disk && echo 1 >subsystems/disk/attr_allow_any_host
mkdir subsystems/disk/namespaces/1
echo /dev/ram0 >subsystems/disk/namespaces/1/device_path
echo 6c0b9a4e-2f5d-4d8e-9a53-000000000001 >subsystems/disk/namespaces/1/device_uuid
echo 1 >subsystems/disk/attr_serial
echo 1 >subsystems/disk/namespaces/1/enable
mkdir ports/1
echo rdma >ports/1/addr_trtype; echo ipv4 >ports/1/addr_adrfam
echo 10.77.0.1 >ports/1/addr_traddr; echo 4420 >ports/1/addr_trsvcid
ln -s /sys/kernel/config/nvmet/subsystems/disk ports/1/subsystems/disk
"""
NVME_ASK = "modprobe nvme-rdma && echo transport=rdma,traddr=10.77.0.1,trsvcid=4420,nqn=disk,hostnqn=guest2,hostid=6c0b9a4e-2f5d-4d8e-9a53-000000000002,nr_io_queues=1,fast_io_fail_tmo=5,reconnect_delay=2 >/dev/nvme-fabrics"
NVME_CONNECT = NVME_ASK + """
i=0; until [ -b /dev/nvme0n1 ]; do i=$((i+1)); [ $i -lt 100 ] || { dmesg | tail -20; exit 1; }; sleep 0.1; done
"""
# One that is lost tries to connect again and again, and Linux cannot remove a device by which one does at that moment.
NVME_FORGET = "for controller in /sys/class/nvme/nvme*; do echo 1 >$controller/delete_controller; done"

# The target names itself and the initiator by their GIDs.
SRP_SERVE = """
set -e
modprobe brd rd_nr=1 rd_size=131072
modprobe -a ib_srpt target_core_iblock
mount -t configfs none /sys/kernel/config 2>/dev/null || true
cd /sys/kernel/config/target
mkdir -p core/iblock_0/disk
echo udev_path=/dev/ram0 >core/iblock_0/disk/control && echo 1 >core/iblock_0/disk/enable
target=srpt/0xfe80000000000000505400fffe770001/tpg
mkdir -p $target $target/lun/lun_0
ln -s /sys/kernel/config/target/core/iblock_0/disk $target/lun/lun_0/disk
initiator=$target/acls/0x0000000000000000505400fffe770002
mkdir -p $initiator/lun_0
ln -s /sys/kernel/config/target/$target/lun/lun_0 $initiator/lun_0/lun
echo 5555 >srpt/discovery_auth/rdma_cm_port
echo 1 >$target/enable
"""
SRP_CONNECT = """
# A try to connect to a dead target takes two minutes, and holds the failure back.
modprobe sd_mod && modprobe ib_srp fast_io_fail_tmo=2 reconnect_delay=6
echo id_ext=5254000000770001,ioc_guid=5254000000770001,dest=10.77.0.1:5555,tl_retry_count=2 >/sys/class/infiniband_srp/srp-vmw_pvrdma0-1/add_target
i=0; until [ -b /dev/sda ]; do i=$((i+1)); [ $i -lt 100 ] || { dmesg | tail -20; exit 1; }; sleep 0.1; done
"""


class BlockStorage:
    """Target in one guest, initiator in the other, where the disk is `disk`."""

    serve = connect = disk = None

    @classmethod
    def setUpClass(cls):
        cls.rig = Rig()
        cls.addClassCleanup(cls.rig.close)
        cls.rig.up(2, *LAYER)
        cls.rig.shell(1, cls.serve)

    def initiator(self, script, timeout=180):
        self.rig.shell(2, f"disk={self.disk}; {script}", timeout=timeout)

    def test_1_blocks_written_are_read_back_and_are_the_targets(self):
        self.rig.shell(2, self.connect)
        self.initiator("head -c 8388608 /dev/urandom >/tmp/data && dd if=/tmp/data of=$disk bs=1M oflag=direct")
        self.initiator("dd if=$disk bs=64k count=128 iflag=direct 2>/dev/null | cmp - /tmp/data")
        sums = [self.rig.shell(vm, command).split()[0] for vm, command in
                ((1, "head -c 8388608 /dev/ram0 | sha256sum"), (2, "sha256sum /tmp/data"))]
        self.assertEqual(sums[0], sums[1])

    def test_2_a_file_system_is_written_unmounted_and_checked(self):
        self.initiator("modprobe ext4 && mkfs.ext4 -q $disk && mkdir -p /mnt && mount -t ext4 $disk /mnt && "
                       "for i in $(seq 40); do head -c 100000 /dev/urandom >/mnt/$i; done && (cd /mnt && sha256sum [0-9]*) >/tmp/sums && "
                       "umount /mnt")
        self.initiator("e2fsck -f -n $disk && mount -t ext4 $disk /mnt && (cd /mnt && sha256sum -c /tmp/sums >/dev/null) && umount /mnt")
        # What was read here before lies in a cache that the target goes past.
        self.rig.shell(1, "echo 3 >/proc/sys/vm/drop_caches && e2fsck -f -n /dev/ram0")

    def test_3_fio_finds_what_it_wrote(self):
        self.initiator("fio --name=verify --filename=$disk --size=16M --rw=randwrite --bsrange=4k-128k --direct=1 "
                       "--ioengine=io_uring --iodepth=8 --verify=crc32c --verify_fatal=1", timeout=120)

    def test_4_target_killed_in_mid_write_is_reported_and_used_again_when_it_returns(self):
        # If the target has the write in hand, SRP's initiator learns of its death by the next command only.
        script = (f"while dd if={self.disk} of=/dev/null bs=4k count=1 iflag=direct; do sleep 0.2; done 2>/dev/null & "
                  f"while dd if=/tmp/data of={self.disk} bs=64k oflag=direct; do :; done")
        writer = self.rig.spawn(2, "sh", "-c", script, timeout=200)
        time.sleep(1)
        host = self.rig.host_of(1)
        host.lab("kill", "1")
        _, output = writer.finish(200)
        # The block layer's word for a path that has failed is another than for a disk that has.
        self.assertRegex(output, "Input/output error|Link has been severed")
        host.lab("down", "1")
        host.up(1, *LAYER)
        self.rig.shell(1, self.serve)
        self.initiator("until dd if=/tmp/data of=$disk bs=64k oflag=direct 2>/dev/null; do sleep 1; done; "
                       "dd if=$disk bs=64k count=128 iflag=direct 2>/dev/null | cmp - /tmp/data", timeout=300)


class NvmeOverFabrics(BlockStorage, unittest.TestCase):
    serve, connect, disk = NVME_SERVE, NVME_CONNECT, "/dev/nvme0n1"


class NvmeOverFabricsBetweenTwoHosts(BlockStorage, unittest.TestCase):
    serve, connect, disk = NVME_SERVE, NVME_CONNECT, "/dev/nvme0n1"

    @classmethod
    def setUpClass(cls):
        cls.rig = HostsRig(2)
        cls.addClassCleanup(cls.rig.close)
        cls.rig.up(*LAYER)
        cls.rig.shell(1, cls.serve)


class ScsiRdmaProtocol(BlockStorage, unittest.TestCase):
    serve, connect, disk = SRP_SERVE, SRP_CONNECT, "/dev/sda"


if __name__ == "__main__":
    unittest.main()
