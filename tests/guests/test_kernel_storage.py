"""The guest's kernel as a user of the device: a RAM disk of one guest, used by the
other over NVMe over Fabrics. Its queue pairs, regions and invalidations are the
kernel's own."""
import time
import unittest

from rig import Rig

SERVE = """
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
CONNECT = """
modprobe nvme-rdma && echo transport=rdma,traddr=10.77.0.1,trsvcid=4420,nqn=disk,hostnqn=guest2,hostid=6c0b9a4e-2f5d-4d8e-9a53-000000000002,nr_io_queues=1,fast_io_fail_tmo=5,reconnect_delay=2 >/dev/nvme-fabrics
i=0; until [ -b /dev/nvme0n1 ]; do i=$((i+1)); [ $i -lt 100 ] || { dmesg | tail -20; exit 1; }; sleep 0.1; done
"""


class NvmeOverFabrics(unittest.TestCase):
    """Target in one guest, initiator in the other."""

    @classmethod
    def setUpClass(cls):
        cls.rig = Rig()
        cls.addClassCleanup(cls.rig.close)
        cls.rig.up(2, "--layer", "storage", "--memory", "768")
        cls.rig.shell(1, SERVE)

    def test_1_blocks_written_are_read_back_and_are_the_targets(self):
        self.rig.shell(2, CONNECT)
        self.rig.shell(2, "head -c 8388608 /dev/urandom >/tmp/data && dd if=/tmp/data of=/dev/nvme0n1 bs=1M oflag=direct")
        self.rig.shell(2, "dd if=/dev/nvme0n1 bs=64k count=128 iflag=direct 2>/dev/null | cmp - /tmp/data")
        sums = [self.rig.shell(vm, command).split()[0] for vm, command in
                ((1, "head -c 8388608 /dev/ram0 | sha256sum"), (2, "sha256sum /tmp/data"))]
        self.assertEqual(sums[0], sums[1])

    def test_2_a_file_system_is_written_unmounted_and_checked(self):
        self.rig.shell(2, "modprobe ext4 && mkfs.ext4 -q /dev/nvme0n1 && mkdir -p /mnt && mount -t ext4 /dev/nvme0n1 /mnt && "
                          "for i in $(seq 40); do head -c 100000 /dev/urandom >/mnt/$i; done && (cd /mnt && sha256sum [0-9]*) >/tmp/sums && "
                          "umount /mnt", timeout=180)
        self.rig.shell(2, "e2fsck -f -n /dev/nvme0n1 && mount -t ext4 /dev/nvme0n1 /mnt && (cd /mnt && sha256sum -c /tmp/sums >/dev/null) && umount /mnt",
                       timeout=180)
        # What was read here before lies in a cache that the target goes past.
        self.rig.shell(1, "echo 3 >/proc/sys/vm/drop_caches && e2fsck -f -n /dev/ram0")

    def test_3_fio_finds_what_it_wrote(self):
        self.rig.shell(2, "fio --name=verify --filename=/dev/nvme0n1 --size=16M --rw=randwrite --bsrange=4k-128k --direct=1 "
                          "--ioengine=io_uring --iodepth=8 --verify=crc32c --verify_fatal=1", timeout=120)

    def test_4_target_killed_in_mid_write_is_reported_and_used_again_when_it_returns(self):
        writer = self.rig.spawn(2, "sh", "-c", "while dd if=/tmp/data of=/dev/nvme0n1 bs=64k oflag=direct; do :; done",
                                timeout=200)
        time.sleep(1)
        self.rig.lab("kill", "1")
        _, output = writer.finish(200)
        self.assertIn("Input/output error", output)
        self.rig.lab("down", "1")
        self.rig.up(1, "--layer", "storage", "--memory", "768")
        self.rig.shell(1, SERVE)
        self.rig.shell(2, "until dd if=/tmp/data of=/dev/nvme0n1 bs=64k oflag=direct 2>/dev/null; do sleep 1; done; "
                          "dd if=/dev/nvme0n1 bs=64k count=128 iflag=direct 2>/dev/null | cmp - /tmp/data", timeout=120)


if __name__ == "__main__":
    unittest.main()
