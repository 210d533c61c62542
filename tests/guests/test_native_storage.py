"""NVMe over Fabrics between a VM and a machine with Linux's rdma_rxe, in both roles: all is the kernels' own at both ends."""
import unittest

from native_rig import NativeRig
from test_kernel_storage import LAYER, NVME_CONNECT, NVME_SERVE, BlockStorage


class NativeBlockStorage(BlockStorage):
    """The target is guest 1, the initiator guest 2."""

    serve, connect, disk = NVME_SERVE, NVME_CONNECT, "/dev/nvme0n1"
    vm = None  # which of them is the VM
    test_4_target_killed_in_mid_write_is_reported_and_used_again_when_it_returns = None  # the target's kernel is not at stake

    @classmethod
    def setUpClass(cls):
        cls.rig = NativeRig(vm=cls.vm, machine=3 - cls.vm)
        cls.addClassCleanup(cls.rig.close)
        cls.rig.up(*LAYER)
        cls.rig.shell(1, cls.serve)

    def test_5_all_of_it_went_natively(self):
        self.assertEqual({path for path, _ in self.rig.paths()}, {"roce"})


class NvmeOverFabricsOfANativeTarget(NativeBlockStorage, unittest.TestCase):
    vm = 2


class NvmeOverFabricsToANativeInitiator(NativeBlockStorage, unittest.TestCase):
    vm = 1


if __name__ == "__main__":
    unittest.main()
