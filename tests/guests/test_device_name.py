"""The name of the adapter in a guest that has udev with rdma-core's rules, and each way of
docs/guest.md to keep it vmw_pvrdma0."""
import unittest

from rig import Rig

RULE = "60-rdma-persistent-naming.rules"
# The adapter is at function 1 of slot 10 (hexadecimal) of bus 0.
RENAMED = "rocep0s16f1"
# In place of rdma-core's file of that name.
EXCEPTED = 'ACTION=="add", SUBSYSTEM=="infiniband", KERNEL!="vmw_pvrdma*", PROGRAM="rdma_rename %k NAME_FALLBACK"'


class DeviceName(unittest.TestCase):

    def setUp(self):
        self.rig = Rig()
        self.addCleanup(self.rig.close)
        self.rig.up(1, "--layer", "udev")
        self.shell("/usr/lib/systemd/systemd-udevd --daemon")

    def shell(self, script):
        return self.rig.shell(1, script)

    def plug(self):
        """The driver finds the adapter as it does when the guest boots; the name it has then."""
        self.shell("rmmod vmw_pvrdma && modprobe vmw_pvrdma && udevadm settle --timeout=30")
        return self.shell("ls /sys/class/infiniband").strip()

    def test_kept_as_documented(self):
        with self.subTest("as rdma-core has it"):
            self.assertEqual(self.plug(), RENAMED)
        with self.subTest("rdma dev set"):
            self.shell(f"rdma dev set {RENAMED} name vmw_pvrdma0")
            self.assertIn("vmw_pvrdma0", self.shell("ibv_devinfo -l"))
        with self.subTest("rdma-core's rule with an exception"):
            self.shell(f"mkdir -p /etc/udev/rules.d && echo '{EXCEPTED}' >/etc/udev/rules.d/{RULE} && udevadm control --reload")
            self.assertEqual(self.plug(), "vmw_pvrdma0")
        with self.subTest("as before without it"):
            self.shell(f"rm /etc/udev/rules.d/{RULE} && udevadm control --reload")
            self.assertEqual(self.plug(), RENAMED)
        with self.subTest("the rule masked"):
            self.shell(f"ln -sf /dev/null /etc/udev/rules.d/{RULE} && udevadm control --reload")
            self.assertEqual(self.plug(), "vmw_pvrdma0")


if __name__ == "__main__":
    unittest.main()
