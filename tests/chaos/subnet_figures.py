"""What a run of a subnet showed, as rows of a page's table."""
from book import WENT_WELL
from page import times_of
from subnet_mishaps import (add_adapter, add_partition, capture, cut_cable, disable_cable_port, disable_port, hold_manager, hostile_cable, hostile_program,
                            kill_both_managers, kill_daemon, kill_engine, kill_etcd, kill_manager, remove_adapter_in_use, restart_daemon,
                            restart_infiniband, stop_manager, strange_cable, take_partition, take_uplink, unname_manager, upgrade_daemon)
from subnet_traffic import ASKED, ASKING, CUT, HEARD

MISHAPS_OF = [
    ("A subnet manager that goes, comes, or sleeps and wakes does not cut a pair that stays",
     [kill_manager, stop_manager, hold_manager, kill_both_managers, add_partition, unname_manager]),
    ("What a cable or a port does not carry comes back with it", [cut_cable, disable_port, disable_cable_port]),
    ("A host that begins anew, or goes on after an upgrade, costs itself alone",
     [kill_daemon, kill_engine, upgrade_daemon, restart_daemon, restart_infiniband, kill_etcd]),
    ("What an administrator removes and restores affects only what depends on it",
     [take_partition, take_uplink, add_adapter, remove_adapter_in_use, capture]),
    ("What speaks nonsense at a door costs itself alone", [strange_cable, hostile_cable, hostile_program]),
]


def promises(book):
    """Rows: promise, how it is tested, figures."""
    count, longest = book.counts.get, book.longest.get
    yield ("No frame comes to another VLAN, none twice, and no byte is wrong; stations of hosts, a cable and a VLAN that nothing happens to are not cut for "
           "long",
           "datagrams ten times a second between every two stations by IPv4 and IPv6, groups, TCP, questions by broadcast",
           f"{count(HEARD, 0)} datagrams, {count(WENT_WELL, 0)} talks, the longest cut {longest(CUT, 0):.1f} s; {count(ASKED, 0)} questions, "
           f"the longest {longest(ASKING, 0):.1f} s")
    for promise, mishaps in MISHAPS_OF:
        yield promise, "these mishaps: how often, and the longest until all was back", "; ".join(times_of(book, one) for one in mishaps)
    yield ("At the end all ports are Active, all stations reach one another, nothing has leaked, and no log has an error that a mishap does not explain",
           "states, datagrams and groups, descriptors and memory of the engines, LIDs, logs", f"{len(book.failures)} complaints, of this and all above")
