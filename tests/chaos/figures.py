"""What a run of VMs showed, as rows of a page's table."""
from book import WENT_WELL
from changes import MADE, REFUSED, UNANSWERED
from cluster_mishaps import OF_THE_CLUSTER
from host_mishaps import cut_cable, fill_disk, kill_daemon, kill_engine, kill_keeper, step_clock
from link_mishaps import OF_LINKS
from page import times_of
from traffic import PINGS
from vm_mishaps import OF_VMS

MISHAPS_OF = [
    ("What happens to a VM costs itself alone, and is over when it is", OF_VMS),
    ("What a cable does not carry comes back with it", [cut_cable]),
    ("A daemon of which a half or all is killed has what it had when it is started again", [kill_daemon, kill_engine, kill_keeper]),
    ("A full disk costs nothing that was acknowledged; the answer says why, and all goes on when there is room", [fill_disk]),
    ("A clock that is wrong by minutes or by 200 days costs nothing that stands; the cluster is whole once it is set", [step_clock]),
    ("An etcd that ends, or comes back older, changes nothing on any host", OF_THE_CLUSTER),
    ("What others do to the interfaces of a switch is mended", OF_LINKS),
]


def promises(book):
    """Rows: promise, how it is tested, figures."""
    count = book.counts.get
    yield ("Between VMs that nothing happens to nothing is lost, no byte is wrong, and those left in peace never wait a second",
           "talks of every operation, each byte compared; pings of those left in peace without a pause",
           f"{count(WENT_WELL, 0)} talks, {count(PINGS, 0)} series of pings, the longest wait {book.longest_wait_us / 1000:.1f} ms")
    yield ("A change that was acknowledged is there afterwards, and one that was refused is not",
           "VMs, switches and port groups are added, changed and removed all the while",
           f"{count(MADE, 0)} acknowledged, {count(REFUSED, 0)} refused, {count(UNANSWERED, 0)} without an answer")
    for promise, mishaps in MISHAPS_OF:
        yield promise, "these mishaps: how often, and the longest until all was back", "; ".join(times_of(book, one) for one in mishaps)
    yield ("At the end nothing has leaked, all hosts have one configuration, no VM is without its ports and no port without a VM",
           "descriptors, memory, objects, generations, sockets, taps and what the worker counts",
           f"{len(book.failures)} complaints, of this and all above")
