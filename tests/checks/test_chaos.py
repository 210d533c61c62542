"""tests/chaos/run sees what it is there to see: its book of changes and its choices, without a daemon."""
import contextlib
import io
import pathlib
import random
import sys
import tempfile
import unittest
from unittest import mock

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT / folder) for folder in ("tests/chaos", "tests/guests", "lab")]

import changes  # noqa: E402
import figures  # noqa: E402
import page  # noqa: E402
import traffic  # noqa: E402
from api import Unanswered  # noqa: E402
from book import Book  # noqa: E402
from scene import ManyHosts  # noqa: E402
import subnet_figures  # noqa: E402
import subnet_mishaps  # noqa: E402
import subnet_scene  # noqa: E402
from subnet_scene import Subnet, cable  # noqa: E402

SEED = 7
STEPS = 300


def refusal(status, code):
    return status, {"error": {"code": code, "message": "it is so", "remedy": "Do something."}}


class Daemon:
    """Keeps VMs, and lies where a test wants it to."""

    def __init__(self):
        self.vms = {}
        self.lie = lambda method: None

    def call(self, _host, method, path, value=None):
        name = path.rpartition("/")[2]
        if method == "GET":
            return (200, self.vms[name]) if name in self.vms else (404, None)
        lie = self.lie(method)
        if lie == "refused":
            return refusal(507, "no_space")
        if (method == "POST") == ((value or {}).get("name", name) in self.vms):
            return refusal(409, "exists") if method == "POST" else refusal(404, "not_found")
        if lie != "forgotten":
            self.change(method, name, value)
        if lie == "unanswered":
            raise Unanswered(path)
        return (201 if method == "POST" else 200), {}

    def change(self, method, name, value):
        if method == "DELETE":
            del self.vms[name]
        elif method == "POST":
            self.vms[value["name"]] = value
        else:
            self.vms[name] |= value

    def get(self, _host, _path):
        return {"vms": [*self.vms.values()]}


class ChangesTest(unittest.TestCase):
    def failures(self, lie=None, at_the_end=None):
        """Of a run of changes, and a comparison."""
        daemon, book, chance = Daemon(), Book(), random.Random(SEED)
        kept = changes.Kept(book, None, "h1", changes.Vms(chance, ["", "rdma"]), chance)
        with mock.patch.object(changes, "call", daemon.call), mock.patch.object(changes, "get", daemon.get), \
                contextlib.redirect_stdout(io.StringIO()):
            for step in range(STEPS):
                daemon.lie = lambda method, step=step: lie(method, step) if lie else None
                with contextlib.suppress(Unanswered):
                    kept.change_one()
            if at_the_end:
                at_the_end(daemon)
            kept.compare()
        return book.failures

    def test_of_a_daemon_that_keeps_its_word_there_is_no_complaint(self):
        self.assertEqual(self.failures(), [])

    def test_a_refusal_and_no_answer_are_no_complaint(self):
        self.assertEqual(self.failures(lambda _, step: "refused" if step % 3 == 0 else "unanswered" if step % 3 == 1 else None), [])

    def test_a_change_that_was_acknowledged_and_is_not_so_is_one(self):
        for method in "POST", "PATCH", "DELETE":
            with self.subTest(method):
                self.assertNotEqual(self.failures(lambda one, _, method=method: "forgotten" if one == method else None), [])

    def test_what_goes_or_comes_without_a_change_is_one(self):
        def take(daemon):
            daemon.vms.popitem()

        def give(daemon):
            missing = next(name for name in changes.Vms.names if name not in daemon.vms)
            daemon.vms[missing] = {"name": missing, "machine": {"memory_mib": 1}, "port_group": ""}
        self.assertEqual(len(self.failures(at_the_end=take)), 1)
        self.assertEqual(len(self.failures(at_the_end=give)), 1)


class ChoicesTest(unittest.TestCase):
    def test_a_seed_brings_the_same_mishaps_and_all_kinds_come(self):
        scene = ManyHosts(3)

        def chosen():
            chance = random.Random(SEED)
            return [scene.choose(chance, scene.mishaps) for _ in range(500)]
        first = chosen()
        self.assertEqual(first, chosen())
        self.assertEqual({mishap.name for mishap, *_ in first}, {mishap.name for mishap in scene.mishaps})

    def test_those_in_peace_are_left_in_peace(self):
        scene, chance = ManyHosts(4), random.Random(SEED)
        for _ in range(500):
            _, _, _, things = scene.choose(chance, scene.mishaps)
            self.assertFalse({*scene.in_peace, "h1's cable", "h2's cable"} & {*things}, things)

    def test_each_mishap_is_of_a_promise(self):
        promised = {mishap.name for _, mishaps in figures.MISHAPS_OF for mishap in mishaps}
        self.assertEqual(promised, {mishap.name for mishap in ManyHosts(3).mishaps})


class SubnetTest(unittest.TestCase):
    """The choices of --subnet."""

    scene = Subnet(3)

    def chosen(self, count=1000):
        chance = random.Random(SEED)
        return [self.scene.choose(chance, self.scene.mishaps) for _ in range(count)]

    def test_a_seed_brings_the_same_mishaps_and_all_kinds_come(self):
        self.assertEqual(self.chosen(), self.chosen())
        self.assertEqual({mishap.name for mishap, *_ in self.chosen()}, {mishap.name for mishap in self.scene.mishaps})

    def test_each_mishap_is_of_a_promise(self):
        self.assertEqual(sorted(mishap.name for _, mishaps in subnet_figures.MISHAPS_OF for mishap in mishaps),
                         sorted(mishap.name for mishap in self.scene.mishaps))

    def test_the_first_daemon_is_left_in_peace_and_what_is_touched_has_a_pair(self):
        known = {thing for here in self.scene.hosts for there in self.scene.hosts for vlan in self.scene.vlans if here != there
                 for thing in self.scene.stands_on(here, there, vlan)}
        for mishap, number, _, things in self.chosen():
            self.assertFalse(mishap.ends_daemon and number == 1, mishap.name)
            self.assertLessEqual(set(things), known)
            # A pair is left in which nothing happens: what is not touched must not be cut.
            self.assertTrue([(here, there, vlan) for here in self.scene.hosts for there in self.scene.hosts for vlan in self.scene.vlans
                             if here != there and not set(things) & set(self.scene.stands_on(here, there, vlan))], mishap.name)

    def test_what_happens_beside_is_of_another_kind_and_somewhere_else(self):
        chance, seen = random.Random(SEED), 0
        for _ in range(500):
            first = self.scene.choose(chance, self.scene.mishaps)
            for second in self.scene.beside(chance, self.scene.mishaps, first):
                seen += 1
                self.assertNotEqual(first[1:3], second[1:3])
                self.assertFalse(any(first[0] in kind and second[0] in kind for kind in subnet_scene.KINDS))
        self.assertGreater(seen, 50)
        self.assertEqual(self.scene.beside(chance, subnet_mishaps.OF_CABLES, self.scene.choose(chance, subnet_mishaps.OF_CABLES)), [])

    def test_a_cable_has_one_name(self):
        self.assertEqual(cable(1, 3), cable(3, 1))
        self.assertEqual(self.scene.cables_of(2), ["h1-h2", "h2-h3"])

    def test_what_touches_nothing_is_named(self):
        touched = {mishap.name for mishap, *_, things in self.chosen() if things}
        self.assertFalse(touched & {mishap.name for mishap in subnet_mishaps.OF_PEACE + subnet_mishaps.OF_THE_SUBNET})


class PingsTest(unittest.TestCase):
    HEAD = " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]\n"

    def test_the_longest_is_the_one_in_its_column(self):
        self.assertEqual(traffic.longest_of(f"{self.HEAD} 2       500          22.10          953.28       31.11     \t       40.51\n", 500), 953.28)

    def test_without_a_clock_nothing_was_measured(self):
        self.assertIsNone(traffic.longest_of(f"{self.HEAD} 2       500          inf          inf       inf     \t       inf\n", 500))

    def test_one_that_took_for_ever_is_no_clock_that_is_missing(self):
        self.assertEqual(traffic.longest_of(f"{self.HEAD} 2       500          22.10          inf       31.11\n", 500), float("inf"))


class FiguresTest(unittest.TestCase):
    def test_stand_between_the_markers_and_the_rest_of_the_page_stays(self):
        begin, end = page.markers("chaos")
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "page.md"
            file.write_text(f"before\n{begin}\nold\n{end}\nafter\n")
            page.write(file, "chaos", ["new"])
            self.assertEqual(file.read_text(), f"before\n{begin}\nnew\n{end}\nafter\n")

    def test_the_page_has_a_place_for_them(self):
        for mark in "chaos", "subnet":
            page.check(ROOT / "docs" / "reliability.md", mark)


if __name__ == "__main__":
    unittest.main()
