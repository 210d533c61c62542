"""NFS over RDMA: a file system of one guest, mounted in the other. The server listens
on nothing but RDMA."""
import time
import unittest

from rig import Rig

SERVE = """
set -e
modprobe brd rd_nr=1 rd_size=65536 && modprobe -a ext4 nfsd rpcrdma
mkfs.ext4 -q /dev/ram0 && mkdir -p /srv && mount -t ext4 /dev/ram0 /srv
mkdir -p /var/lib/nfs/rpc_pipefs /var/lib/nfs/v4recovery && touch /var/lib/nfs/etab /var/lib/nfs/rmtab
echo '/srv *(rw,no_root_squash,insecure,fsid=0,sync,no_subtree_check)' >/etc/exports
mount -t nfsd nfsd /proc/fs/nfsd
exportfs -a && rpc.mountd -N 3 -V 4
# Version 3 would want a port mapper.
echo '-3 +4' >/proc/fs/nfsd/versions
echo 'rdma 20049' >/proc/fs/nfsd/portlist && echo 2 >/proc/fs/nfsd/threads
echo Y >/proc/fs/nfsd/v4_end_grace
[ "$(sort -u /proc/fs/nfsd/portlist)" = 'rdma 20049' ]
"""
MOUNT = """
modprobe -a nfsv4 rpcrdma && mkdir -p /mnt
mount -t nfs4 -o proto=rdma,port=20049,vers=4.2,soft,timeo=30,retrans=1,addr=10.77.0.1,clientaddr=10.77.0.2 10.77.0.1:/ /mnt
"""
VERIFY = ("fio --name=verify --filename=/mnt/verify --size=8M --rw=randwrite --bsrange=4k-128k --direct=1 --ioengine=io_uring "
          "--iodepth=8 --verify=crc32c --verify_fatal=1")


class NfsOverRdma(unittest.TestCase):
    """Server in one guest, client in the other."""

    @classmethod
    def setUpClass(cls):
        cls.rig = Rig()
        cls.addClassCleanup(cls.rig.close)
        cls.rig.up(2, "--layer", "storage", "--memory", "768")
        cls.rig.shell(1, SERVE)
        cls.rig.shell(2, MOUNT)

    def test_1_files_written_are_the_servers_and_are_read_back(self):
        self.rig.shell(2, "head -c 8388608 /dev/urandom >/tmp/data && cp /tmp/data /mnt/data && "
                          "for i in $(seq 20); do head -c 10000 /dev/urandom >/mnt/$i; done && sync && "
                          "(cd /mnt && sha256sum data [0-9]*) >/tmp/sums")
        sums = self.rig.shell(2, "cat /tmp/sums")
        self.assertEqual(self.rig.shell(1, "cd /srv && sha256sum data [0-9]*"), sums)
        self.rig.shell(2, "echo 3 >/proc/sys/vm/drop_caches && cmp /tmp/data /mnt/data && cd /mnt && sha256sum -c /tmp/sums")
        stats = self.rig.stats("vm2")
        self.assertGreater(stats["read_bytes"] + stats["sent_bytes"], 8 << 20)
        self.assertGreater(stats["received_bytes"], 8 << 20)

    def test_2_fio_finds_what_it_wrote(self):
        self.rig.shell(2, VERIFY, timeout=120)

    def test_3_server_killed_in_mid_write_is_reported_and_used_again_when_it_returns(self):
        writer = self.rig.spawn(2, "sh", "-c", "while dd if=/tmp/data of=/mnt/data bs=64k oflag=direct; do :; done", timeout=200)
        time.sleep(1)
        self.rig.lab("kill", "1")
        _, output = writer.finish(200)
        self.assertRegex(output, "Input/output error|timed out")
        self.rig.lab("down", "1")
        self.rig.up(1, "--layer", "storage", "--memory", "768")
        self.rig.shell(1, SERVE)
        self.rig.shell(2, "until dd if=/tmp/data of=/mnt/again bs=64k oflag=direct 2>/dev/null; do sleep 1; done", timeout=120)
        sums = [self.rig.shell(vm, f"sha256sum {path}").split()[0] for vm, path in ((1, "/srv/again"), (2, "/tmp/data"))]
        self.assertEqual(sums[0], sums[1])


if __name__ == "__main__":
    unittest.main()
