"""librdmacm's own programs between two stock guests. Not here: mckey (multicast) and
rdma_xserver, rdma_xclient (XRC), which the guest's driver cannot do; udpong, whose
address handle has no GRH, which the guest's provider refuses."""
import unittest

from rig import Exchange, Rig


class ConnectionManager(unittest.TestCase):
    """Server in one guest, client in the other."""

    @classmethod
    def setUpClass(cls):
        cls.rig = Rig()
        cls.addClassCleanup(cls.rig.close)
        cls.rig.up(2)
        cls.exchange = Exchange(cls.rig, server=1, client=2)

    def run_both(self, server, client, cm_port, **more):
        return self.exchange.run(server, client, cm_port=cm_port, **more)

    def against_server(self, server, client, cm_port):
        """For a server that never ends by itself."""
        running = self.rig.spawn(1, *server)
        try:
            self.rig.wait_cm_listening(1, cm_port)
            return self.rig.guest(2, *client, timeout=120)
        finally:
            running.process.kill()
            running.process.communicate()

    def test_udaddy(self):
        _, text = self.run_both(["udaddy", "-C", "20"], ["udaddy", "-s", self.exchange.address, "-C", "20"], 7174)
        self.assertIn("return status 0", text)

    def test_rdma_server_and_client(self):
        server, client = self.run_both(["rdma_server"], ["rdma_client", "-s", self.exchange.address], 7471)
        self.assertIn("end 0", server)
        self.assertIn("end 0", client)

    def test_rstream(self):
        for size, count in (64, 1000), (65536, 200), (1000000, 20):
            words = ["rstream", "-S", str(size), "-C", str(count)]
            _, text = self.run_both(words, [*words, "-s", self.exchange.address], 7471)
            self.assertIn("Gb/sec", text)

    def test_rstream_verified_and_without_blocking(self):
        words = ["rstream", "-S", "4096", "-C", "200", "-T", "v", "-T", "n"]
        self.run_both(words, [*words, "-s", self.exchange.address], 7471)

    def test_riostream(self):
        for size, count in (64, 1000), (65536, 200):
            words = ["riostream", "-S", str(size), "-C", str(count)]
            _, text = self.run_both(words, [*words, "-s", self.exchange.address], 7471)
            self.assertIn("Gb/sec", text)

    def test_rcopy(self):
        self.rig.shell(2, "head -c 20000000 /dev/urandom >/tmp/source")
        self.against_server(["sh", "-c", "cd /tmp && exec rcopy"],
                            ["rcopy", "/tmp/source", f"{self.exchange.address}:/tmp/target"], 7427)
        sums = [self.rig.shell(vm, f"sha256sum /tmp/{name}").split()[0] for vm, name in ((1, "target"), (2, "source"))]
        self.assertEqual(sums[0], sums[1])

    def test_cmtime(self):
        text = self.against_server(["cmtime"], ["cmtime", "-s", self.exchange.address, "-c", "100"], 7471)
        self.assertIn("connect", text)


if __name__ == "__main__":
    unittest.main()
