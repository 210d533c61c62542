"""Chaos of VMs: six of them, random traffic of every operation with its bytes compared, and what happens to them and to
their hosts."""
import figures
import page
from agreement import disagreements, misfits, wait_whole
from api import NotThere, Unanswered, get
from book import WENT_WELL, Book
from changes import MADE, Changes
from crowd import ring
from leaks import Leaks
from loop import NOT_RECOVERED as NO_RECOVERY
from loop import let_things_happen
from runner.errors import LabError
from runner.hosts import LAST_HOST
from scene import HOSTS_IN_PEACE, ManyHosts, OneHost
from traffic import PINGS, PeacefulPing, Traffic, talk

HOSTS = 1, *range(HOSTS_IN_PEACE + 1, LAST_HOST + 1)  # that there can be, the usual number first
MARK = "chaos"  # of its figures in a page
NOT_RECOVERED = *NO_RECOVERY, LabError, NotThere, Unanswered


def talk_around(rig, scene, book, largest):
    """All VMs around a ring, while nothing happens."""
    for server, client in ring(scene.vms):
        book.judge(talk(rig, server, client, 18900, largest), undisturbed=True)


def compare_all(rig, book, changes):
    """What there is with what should be, while nothing happens."""
    try:
        wait_whole(rig)
        for one in changes:
            one.compare()
        for complaint in [*disagreements(rig), *misfits(rig)]:
            book.fail(complaint)
        for one in changes:
            one.remove()
    except NOT_RECOVERED as failed:
        book.fail(f"at the end: {failed!r}")


def chaos(options, book, mishaps):
    """Returns the version of the daemons."""
    scene = scene_of(options)
    rig = scene.start()
    try:
        if options.hosts > 1:
            talk_around(rig, scene, book, 1)  # so that hosts hold what they hold for one another
        leaks = Leaks(rig, scene.vms)
        changes = [Changes(rig, book, scene, options.seed, number) for number, _ in enumerate(rig.hosts, 1)]
        traffic = [Traffic(rig, book, scene, options.seed, number) for number in range(3)]
        traffic.append(PeacefulPing(rig, book, scene))
        for one in traffic + changes:
            one.start()
        started_again = let_things_happen(rig, scene, book, options, mishaps, NOT_RECOVERED)
        book.over.set()
        for one in traffic + changes:
            one.join()
        for kind in (WENT_WELL, PINGS, MADE):
            if not book.counts.get(kind):
                book.fail(f"no {kind} while things happened: this run shows nothing")
        compare_all(rig, book, changes)
        talk_around(rig, scene, book, scene.largest)
        for complaint in leaks.found(started_again):
            book.fail(complaint)
        if book.failures:
            for number, host in enumerate(rig.hosts, 1):
                print(f"--- host {number}\n{host.daemon_log()[-4000:]}")
        return get(rig.hosts[0], "/v1/status")["version"]
    finally:
        book.over.set()
        rig.close()


def scene_of(options):
    return ManyHosts(options.hosts) if options.hosts > 1 else OneHost(options.vms)


def words_of(options):
    """Hosts and VMs, in words."""
    return f"{options.hosts} hosts, {len(scene_of(options).vms)} VMs" if options.hosts > 1 else f"{options.vms} VMs"


def figures_of(options, book, version):
    """Lines for a page."""
    return page.table(book, f"--hosts {options.hosts} --seconds {options.seconds} --seed {options.seed}", words_of(options), version,
                      figures.promises(book))


def longest_of(book):
    return [f"longest wait of those left in peace: {book.longest_wait_us / 1000:.1f} ms"]
