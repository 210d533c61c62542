"""Guests of other shapes than the other tests': four processors (one and two are theirs),
memory in huge pages, memory on both sides of the hole below 4 GiB, an IOMMU. The same
programs in each."""
import contextlib
import pathlib
import unittest

import pyverbs_suite
from rig import Exchange, Rig
from test_traffic import RUNS

GUESTS = 2
HUGE_PAGE_MIB = 2
# What lab/vm up is told, and a question to the guest that is answered only by one of that shape.
SHAPES = {
    "four_processors": (["--smp", "4"], "[ $(nproc) = 4 ]"),
    "huge_pages": (["--hugepages"], "true"),
    "eight_gib": (["--memory", "8192"], "grep -q '^1[0-9a-f]*-2[0-9a-f]* : System RAM' /proc/iomem"),
    "intel_iommu": (["--iommu"], "ls /sys/kernel/iommu_groups/*/devices/ | grep 0000:00:10.1 && dmesg | grep 'DMAR: IOMMU enabled'"),
}
MEMORY_MIB = 1024
PROGRAMS = ("rc_pingpong", "C78_rping", "C78_ib_write_bw_1_qp", "ib_send_bw_events", "every_operation_byte_by_byte")
PYVERBS = ("test_pd", "test_cq.CQTest", "test_cq_events", "test_mr.MRTest", "test_addr", "test_atomic")


@contextlib.contextmanager
def huge_pages(count):
    """That many of the host's, taken for a while; how many there are beside others' use."""
    setting = pathlib.Path("/proc/sys/vm/nr_hugepages")
    before = int(setting.read_text())
    try:
        setting.write_text(str(before + count))
        yield int(setting.read_text()) - before
    finally:
        setting.write_text(str(before))


def huge_pages_of(process):
    """MiB of huge pages that a process, named by its files in /proc, has in use."""
    lines = (process / "smaps").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith(("Shared_Hugetlb:", "Private_Hugetlb:"))) // 1024


class Shapes(unittest.TestCase):

    def run_shape(self, options, question):
        rig = Rig()
        self.addCleanup(rig.close)
        rig.up(GUESTS, "--layer", "python", "--memory", str(MEMORY_MIB), *options)
        for vm in range(1, GUESTS + 1):
            rig.shell(vm, question)
        exchange = Exchange(rig)
        for name in PROGRAMS:
            with self.subTest(program=name):
                RUNS[name](exchange)
        verdicts = pyverbs_suite.run(rig, 1, patterns=PYVERBS)
        self.assertNotIn("failed", verdicts.values(), verdicts)
        self.assertGreater(sum(verdict == "ok" for verdict in verdicts.values()), 12, verdicts)
        return rig

    def run_huge_pages(self, options, question):
        pages = GUESTS * MEMORY_MIB // HUGE_PAGE_MIB
        with contextlib.ExitStack() as stack:
            try:
                there = stack.enter_context(huge_pages(pages))
            except OSError as error:
                self.skipTest(f"this machine does not let us have huge pages: {error}")
            if there < pages:
                self.skipTest(f"this machine gave {there} of {pages} huge pages")
            # They come back when the guests are gone, which is before the end of this.
            self.addCleanup(stack.pop_all().close)
            rig = self.run_shape(options, question)
            self.assertGreater(huge_pages_of(rig.engine()), 0)


def add_shapes():
    for name, (options, question) in SHAPES.items():
        def run(self, name=name, options=options, question=question):
            (self.run_huge_pages if name == "huge_pages" else self.run_shape)(options, question)
        setattr(Shapes, f"test_{name}", run)


add_shapes()

if __name__ == "__main__":
    unittest.main()
