"""rdma-core's own test suite with its two players on two devices: the suite makes both on one, and asks that device for the GID that
each sends to, which is its own. Here each context that a player opens is one of the two devices in turn, and a player that asks
for a GID is told that of the other device. What the suite asserts stays as it is.

Both devices are in one guest, and their GIDs are the link-local ones of their NICs: Linux looks for such an address beyond the NIC that
is asked, also where the address is its own."""

FIRST_GID = 0  # of a NIC's link-local address

# What comes before the suite, with the names of the first player's device and of the second's.
PRELUDE = """
import random, runpy, sys, unittest
sys.path.insert(0, "tests")  # as for a program that is run by its name
from pyverbs.device import Context
import tests.base

devices = "{first}", "{second}"
gids = [Context(name=device).query_gid(1, {gid}) for device in devices]

class Player(Context):
    opened = 0

    def __init__(self, name):
        self.number = Player.opened % 2
        Player.opened += 1
        super().__init__(name=devices[self.number])

    def query_gid(self, port, index):
        return gids[1 - self.number]

tests.base.Context = Player

run = unittest.TestCase.run
def seeded(self, result=None):
    random.seed(self.id())
    Player.opened = 0
    return run(self, result)
unittest.TestCase.run = seeded
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""

# Its tests of traffic that both devices can do, each of which must pass. Others it skips, because one of the two has not what they are
# about: the newer calls to post requests, memory windows, paging on demand, XRC. Those of rdma_cm know one IP address for both ends.
PATTERNS = ("test_atomic.AtomicTest", "test_cq_events", "test_relaxed_ordering")
TRAFFIC = {"test_atomic_cmp_and_swap", "test_atomic_fetch_and_add", "test_atomic_invalid_lkey", "test_atomic_invalid_mr_access",
           "test_atomic_invalid_qp_access", "test_atomic_invalid_rkey", "test_atomic_non_aligned_addr", "test_cq_events_rc",
           "test_cq_events_ud", "test_ro_rc_traffic", "test_ro_ud_traffic"}


def prelude(first, second):
    return PRELUDE.format(first=first, second=second, gid=FIRST_GID)
