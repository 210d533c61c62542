"""Middleware between two stock guests: UCX, Open MPI, and rsockets under programs that
speak TCP. Which settings they need here and why: docs/programs.md."""
import unittest

from rig import Exchange, Rig

UCX_PORT = 13337
RSOCKETS = ["env", "LD_PRELOAD=/usr/lib/x86_64-linux-gnu/rsocket/librspreload.so"]
MPIRUN = ["mpirun.openmpi", "--allow-run-as-root", "--mca", "plm_rsh_agent", "lab-rsh", "-H", "vm1,vm2", "-np", "2"]
# As VMware's KB 2147694 has them, but for "sm", which Open MPI 4 calls vader.
KB_2147694 = """--mca btl openib,self,vader --mca btl_openib_verbose 1
--mca btl_openib_receive_queues P,65536,512,256,256 --mca btl_openib_use_eager_rdma 1
--mca btl_openib_eager_rdma_threshold 1 --mca btl_openib_cpc_include rdmacm --mca orte_base_help_aggregate 0
--mca btl_openib_max_inline_data 0""".split()


class Middleware(unittest.TestCase):
    """Server, or rank 0, in one guest; client, or rank 1, in the other."""

    @classmethod
    def setUpClass(cls):
        cls.rig = Rig()
        cls.addClassCleanup(cls.rig.close)
        cls.rig.up(2, "--layer", "middleware", "--memory", "768")
        cls.exchange = Exchange(cls.rig, server=1, client=2)
        cls.rig.shell(2, "nc -ll -p 514 -e sh </dev/null >/dev/null 2>&1 &")

    def moved(self):
        """Payload bytes that the device has moved out of both guests."""
        stats = [self.rig.stats(vm) for vm in ("vm1", "vm2")]
        return sum(s["sent_bytes"] + s["read_bytes"] for s in stats)

    def ucx(self, words, environment=(), bytes_at_least=0):
        before, command = self.moved(), ["env", *environment, "ucx_perftest"]
        _, text = self.exchange.run([*command, *words], [*command, self.exchange.address, *words], port=UCX_PORT)
        self.assertIn("Final:", text)
        self.assertGreaterEqual(self.moved() - before, bytes_at_least)

    def mpi(self, *words):
        before = self.moved()
        text = self.rig.guest(1, *MPIRUN, *words, "mpi_exchange", "3", timeout=120)
        for rank in 0, 1:
            self.assertIn(f"rank {rank} of 2 on vm{rank + 1}: all right", text)
        # Three times there and back, and a sum, of 2 MiB and less.
        self.assertGreater(self.moved() - before, 7 * 2 << 20)

    def test_ucx_rc_verbs(self):
        for test, layout, size in (("am_lat", "bcopy", 4096), ("am_bw", "zcopy", 4096), ("put_bw", "zcopy", 65536),
                                   ("get", "zcopy", 65536), ("fadd", "short", 8), ("cswap", "short", 8)):
            with self.subTest(test=test):
                self.ucx(["-x", "rc_verbs", "-d", "vmw_pvrdma0:1", "-t", test, "-D", layout, "-s", str(size), "-n", "300"],
                         bytes_at_least=300 * size if size > 8 else 0)

    def test_ucx_tag_matching_over_rc_verbs(self):
        self.ucx(["-t", "tag_bw", "-s", "65536", "-n", "100"], ["UCX_TLS=rc_verbs,ud_verbs", "UCX_IB_GID_INDEX=0"], 100 * 65536)

    def test_ucx_tag_matching_over_ud_verbs(self):
        for test in "tag_lat", "tag_bw":
            with self.subTest(test=test):
                self.ucx(["-t", test, "-s", "4096", "-n", "100"], ["UCX_TLS=ud_verbs", "UCX_IB_GID_INDEX=0"], 100 * 4096)

    def test_open_mpi_over_ucx(self):
        for transports in "rc_verbs,ud_verbs,self", "ud_verbs,self":
            with self.subTest(transports=transports):
                self.mpi("--mca", "pml", "ucx", "-x", f"UCX_TLS={transports}", "-x", "UCX_IB_GID_INDEX=0")

    def test_open_mpi_over_openib_as_vmware_says(self):
        self.mpi("--mca", "pml", "ob1", *KB_2147694)

    def test_netcat_over_rsockets(self):
        before = self.rig.stats("vm2")["sent_bytes"]
        self.rig.shell(2, "head -c 20000000 /dev/urandom >/tmp/data")
        server = self.rig.spawn(1, *RSOCKETS, "sh", "-c", "exec nc.traditional -l -p 5001 >/tmp/data")
        self.rig.wait_cm_listening(1, 5001)
        self.rig.guest(2, *RSOCKETS, "sh", "-c", "exec nc.traditional -q 1 10.77.0.1 5001 </tmp/data")
        server.expect_success()
        sums = [self.rig.shell(vm, "sha256sum /tmp/data").split()[0] for vm in (1, 2)]
        self.assertEqual(sums[0], sums[1])
        self.assertGreaterEqual(self.rig.stats("vm2")["sent_bytes"] - before, 20000000)

    def test_iperf_over_rsockets(self):
        before = self.rig.stats("vm2")["sent_bytes"]
        server = self.rig.spawn(1, *RSOCKETS, "iperf", "-s", "-P", "1")
        self.rig.wait_cm_listening(1, 5001)
        self.rig.guest(2, *RSOCKETS, "iperf", "-c", "10.77.0.1", "-n", "20M")
        self.assertIn("20.0 MBytes", server.expect_success())
        self.assertGreaterEqual(self.rig.stats("vm2")["sent_bytes"] - before, 20 << 20)


if __name__ == "__main__":
    unittest.main()
