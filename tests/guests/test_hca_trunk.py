"""RDMA adapters as uplinks: hosts that are guests, whose adapter is Linux's rdma_rxe."""
import json
import unittest

from adapter_hosts import DEVICE, AdapterHosts

MIB = 32  # each way


class HcaTrunk(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.rig = AdapterHosts()
        cls.addClassCleanup(cls.rig.close)
        cls.rig.boot()

    def trunk(self, *words):
        """Both ends of a trunk in one process of host 1."""
        said = json.loads(self.rig.program(1, "paravane-trunk", *words, DEVICE, str(MIB)))
        print(f"HcaTrunk: {' '.join(words)} {said}", flush=True)
        self.assertEqual((said["bytes"], said["wrong"]), (2 * MIB << 20, 0))
        return said

    def test_1_a_trunk_carries_every_byte_both_ways(self):
        self.trunk()

    def test_2_the_engines_sandbox_lets_an_adapter_be_used(self):
        self.assertTrue(self.trunk("--sandboxed")["confined"])


if __name__ == "__main__":
    unittest.main()
