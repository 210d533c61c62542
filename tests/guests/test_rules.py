"""Settings with vSphere's values, where Paravane does more: what a guest then has, and when."""
import json
import re
import unittest

from rig import Rig, wait_for

SET = "system", "settings", "advanced", "set", "-o"
EFAULT = 14  # what the guest's driver makes of any refusal

# Makes UD queue pairs, and beside them one RC queue pair.
PROGRAM = """
import json
from pyverbs.cq import CQ
from pyverbs.device import Context
from pyverbs.enums import *
from pyverbs.pd import PD
from pyverbs.pyverbs_error import PyverbsRDMAError
from pyverbs.qp import QP, QPCap, QPInitAttr

context = Context(name="vmw_pvrdma0")
pd = PD(context)
cq = CQ(context, 16)
capacity = QPCap(max_send_wr=4, max_recv_wr=4, max_send_sge=1, max_recv_sge=1)
def make(kind):
    return QP(pd, QPInitAttr(qp_type=kind, scq=cq, rcq=cq, cap=capacity))
made, errno = [], 0
try:
    while len(made) < 20:
        made.append(make(IBV_QPT_UD))
except PyverbsRDMAError as error:
    errno = error.error_code
made.append(make(IBV_QPT_RC))
print(json.dumps([len(made) - 1, errno]))
"""


class RulesOfVsphere(unittest.TestCase):
    """The first test's rules are set while the guest runs with none; the second's are there from its start."""

    def rig(self, *rules):
        rig = Rig()
        self.addCleanup(rig.close)
        for path, value in rules:
            rig.cli(*SET, path, "-i", value)
        rig.up(1, "--layer", "python", "--memory", "1024")
        return rig

    def datagram_queue_pairs(self, rig):
        return json.loads(rig.guest(1, "python3", "-c", PROGRAM).splitlines()[-1])

    def atomics(self, rig):
        return re.search(r"atomic_cap:\s+(\w+)", rig.guest(1, "ibv_devinfo", "-v"))[1]

    def test_a_vm_that_runs_keeps_what_it_has_until_its_next_start(self):
        rig = self.rig()
        rig.cli(*SET, "/Net/PVRDMAMaxUDQueuePairs", "-i", "3")
        rig.cli(*SET, "/Net/PVRDMAAtomics", "-i", "0")
        self.assertEqual(self.datagram_queue_pairs(rig), [20, 0])
        self.assertEqual(self.atomics(rig), "ATOMIC_HCA")
        rig.lab("down")
        wait_for("the daemon saw it", lambda: not rig.attached("vm1"))
        rig.up(1, "--layer", "python", "--memory", "1024")
        self.assertEqual(self.datagram_queue_pairs(rig), [3, EFAULT])
        self.assertEqual(self.atomics(rig), "ATOMIC_NONE")

    def test_they_are_there_after_the_daemon_was_started_again(self):
        rig = Rig()
        self.addCleanup(rig.close)
        for path, value in ("/Net/PVRDMAMaxUDQueuePairs", "3"), ("/Net/PVRDMAAtomics", "0"):
            rig.cli(*SET, path, "-i", value)
        rig.daemon.terminate()
        rig.daemon.wait(20)
        rig.start_daemon()
        rig.up(2, "--layer", "python", "--memory", "1024")
        self.assertEqual(self.datagram_queue_pairs(rig), [3, EFAULT])
        self.assertIn("vm1: CREATE_QP refused: too many UD queue pairs: the limit per adapter is 3", rig.daemon_log())
        self.assertEqual(self.atomics(rig), "ATOMIC_NONE")
        server = rig.spawn(1, "rping", "-s", "-C", "10")  # rdma_cm asks for the right to atomics always
        rig.wait_cm_listening(1, 7174)
        rig.guest(2, "rping", "-c", "-a", "10.77.0.1", "-C", "10", "-V")
        server.expect_success()


if __name__ == "__main__":
    unittest.main()
