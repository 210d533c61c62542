"""rdma-core's own test suite, as the guest's distribution ships it, between the
device's own queue pairs."""
import unittest

import pyverbs_suite
from rig import Rig

# What no device can change: what the guest's own driver and provider do. The first two may
# come out right by chance.
NOT_OURS = {
    "test_query_rc_qp": "the driver answers for a queue pair in RESET without asking the device: its limits are what was in that memory",
    "test_query_ud_qp": "the driver answers for a queue pair in RESET without asking the device: its limits are what was in that memory",
    "test_create_raw_qp_ex_with_illegal_caps_max_send_wr": "the provider rounds 2^32 - 1 requests up to 1",
    "test_create_raw_qp_ex_with_illegal_caps_max_recv_wr": "the provider rounds 2^32 - 1 requests up to 1",
}


class Pyverbs(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        cls.rig = Rig()
        cls.addClassCleanup(cls.rig.close)
        cls.rig.up(1, "--layer", "python", "--memory", "2048", "--smp", "2")

    def judge(self, name, how):
        verdicts = pyverbs_suite.run(self.rig, 1)
        failed = {case.rsplit(".", 1)[1] for case, verdict in verdicts.items() if verdict == "failed"}
        passed = sum(verdict == "ok" for verdict in verdicts.values())
        print(f"guests: pyverbs: {len(verdicts)} tests, {passed} ok, {len(failed)} that the driver or the provider fails, "
              f"{len(verdicts) - passed - len(failed)} skipped by the suite", flush=True)
        reasons = {case: NOT_OURS.get(case.rsplit(".", 1)[1]) for case in verdicts}
        told = {case: f"not the device's: {reasons[case]}" if reasons[case] else verdict for case, verdict in verdicts.items()}
        pyverbs_suite.report(name, how, told)
        self.assertEqual(failed - set(NOT_OURS), set())
        self.assertGreater(passed, 40)
        return verdicts

    def test_1_suite_as_shipped(self):
        self.judge("shipped", "as shipped")

    def test_2_suite_with_the_netdev_of_the_gid_table(self):
        if "'/sys/class/infiniband/{}/device/net/'" in self.rig.shell(1, "cat /opt/tests/base.py"):
            pyverbs_suite.take_netdev_from_gid(self.rig, 1)
        verdicts = self.judge("netdev", "with the network device of the GID table")
        self.assertEqual([case for case, verdict in verdicts.items()
                          if ".CMTestCase.test_rdmacm_" in case and "multicast" not in case and verdict != "ok"], [])


if __name__ == "__main__":
    unittest.main()
