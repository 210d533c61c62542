"""Chaos of an InfiniBand subnet: stations of several hosts, and what happens to managers, cables, ports, daemons and doors."""
import json
import time

import page
import subnet_figures
from book import WENT_WELL, Book
from loop import NOT_RECOVERED, let_things_happen
from subnet_ends import Ends
from subnet_scene import Subnet
from subnet_traffic import ASKED, ASKING, CUT, HEARD, Echo, Questions, Streams, Talks

HOSTS = 3, 2, 4, 5  # that there can be, the usual number first
MARK = "subnet"  # of its figures in a page
GROUPS_S = 150  # a host whose engine is new asks its stations for their groups within 125 s


def chaos(options, book, mishaps):
    """Returns the version of the daemons."""
    scene = scene_of(options)
    rig = scene.start()
    traffic = []
    try:
        rig.streams = Streams(book, rig, scene)
        traffic = [rig.streams, Echo(book, rig), Talks(book, rig, scene, options.seed), Questions(book, rig, scene, options.seed)]
        for one in traffic:
            one.start()
        # So that hosts hold what they hold for one another.
        rig.streams.wait_alive(time.monotonic(), scene.things(), groups=True)
        ends = Ends(rig)
        let_things_happen(rig, scene, book, options, mishaps)
        if not book.failures:
            all_is_well(rig, scene, book, ends)
        book.over.set()
        for one in traffic:
            one.join()
        for kind in (WENT_WELL, HEARD, ASKED):
            if not book.counts.get(kind):
                book.fail(f"no {kind} while things happened: this run shows nothing")
        if book.failures:
            show(rig)
        return json.loads(rig.hosts[0].cli("status", "--formatter=json").stdout)["version"]
    finally:
        book.over.set()
        rig.close()


def all_is_well(rig, scene, book, ends):
    """When nothing happens any more."""
    try:
        rig.wait_well()
        rig.streams.wait_alive(time.monotonic(), scene.things(), groups=True, seconds=GROUPS_S)
    except NOT_RECOVERED as failed:
        book.fail(f"at the end: {failed!r}")
    for complaint in ends.found():
        book.fail(complaint)


def show(rig):
    """What tells of a failure."""
    for host in rig.hosts:
        print(f"--- host {host.number}\n{host.log_text()[-12000:]}\n{host.cli('infiniband', 'fabric', 'list', check=False).stdout}"
              f"{host.cli('infiniband', 'adapter', 'list', check=False).stdout}{host.cli('infiniband', 'uplink', 'list', check=False).stdout}")
        print(f"--- opensm of host {host.number}\n{host.opensm_log()[-12000:]}")


def scene_of(options):
    return Subnet(options.hosts)


def words_of(options):
    return f"an InfiniBand subnet of {options.hosts} hosts, {options.hosts * len(Subnet.vlans)} stations"


def figures_of(options, book, version):
    """Lines for a page."""
    return page.table(book, f"--subnet --hosts {options.hosts} --seconds {options.seconds} --seed {options.seed}", words_of(options), version,
                      subnet_figures.promises(book))


def longest_of(book):
    return [f"longest {name}: {book.longest.get(name, 0):.2f} s" for name in (CUT, ASKING)]
