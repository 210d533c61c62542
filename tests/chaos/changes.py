"""Changes of VMs, switches and port groups that go on while things happen. What was acknowledged is so afterwards, what was
refused is not, and of what has no answer it is one or the other."""
import random

from api import NotThere, Unanswered, call, get
from busy import Busy

MADE, REFUSED, UNANSWERED = "changes that were made", "changes that were refused", "changes without an answer"
APART_S = 0.1, 1.2


class Vms:
    """On any host. What is compared: memory and port group."""

    path, key = "/v1/vms", "vms"
    names = [f"more{number}" for number in range(4)]

    def __init__(self, chance, groups):
        self.chance, self.groups = chance, groups

    def choose(self):
        return self.chance.randrange(64, 1024), self.chance.choice(self.groups)

    def fresh(self, name):
        memory, group = value = self.choose()
        return {"name": name, "machine": {"memory_mib": memory}, "port_group": group}, value

    def change(self, name, _before):
        memory, group = value = self.choose()
        return ("PATCH", f"{self.path}/{name}", {"machine": {"memory_mib": memory}, "port_group": group}), value

    @staticmethod
    def value(vm):
        return vm["machine"]["memory_mib"], vm["port_group"]


class Switches:
    """On the first host. What is compared: MTU and hosts."""

    path, key = "/v1/vds", "vds"
    names = ["sw0", "sw1"]

    def __init__(self, chance, hosts):
        self.chance, self.hosts = chance, hosts

    def fresh(self, name):
        mtu = self.chance.randrange(1280, 9000)
        return {"name": name, "mtu": mtu}, (mtu, ())

    def change(self, name, before):
        mtu, hosts = before
        if not self.hosts or self.chance.random() < 0.5:
            mtu = self.chance.randrange(1280, 9000)
            return ("PATCH", f"{self.path}/{name}", {"mtu": mtu}), (mtu, hosts)
        host = self.chance.choice(self.hosts)
        if host in hosts:
            return ("DELETE", f"{self.path}/{name}/hosts/{host}", None), (mtu, tuple(one for one in hosts if one != host))
        return ("POST", f"{self.path}/{name}/hosts", {"host": host}), (mtu, tuple(sorted([*hosts, host])))

    @staticmethod
    def value(switch):
        return switch["mtu"], tuple(sorted(one["host"] for one in switch["hosts"]))


class PortGroups:
    """On the first host, also of a switch that is not there, and of one that is deleted meanwhile."""

    path, key = "/v1/portgroups", "portgroups"
    names = [f"pg{number}" for number in range(4)]

    def __init__(self, chance, switches):
        self.chance, self.switches = chance, switches

    def fresh(self, name):
        switch, vlan = value = self.chance.choice(self.switches), self.chance.randrange(100, 200)
        return {"name": name, "vds": switch, "vlan": vlan}, value

    def change(self, _name, _before):
        return None, None

    @staticmethod
    def value(group):
        return group["vds"], group["vlan"]


class Kept:
    """What there is of one kind on a host, as far as we were told."""

    def __init__(self, book, host, name, kind, chance):
        self.book, self.host, self.name, self.kind, self.chance = book, host, name, kind, chance
        self.possible = {one: {None} for one in kind.names}  # None: it is not there

    def change_one(self):
        """Something of it, as chance has it."""
        name = self.chance.choice(self.kind.names)
        if len(self.possible[name]) > 1:
            self.look(name)
        before, = self.possible[name]
        if before is None:
            body, after = self.kind.fresh(name)
            words = "POST", self.kind.path, body
        else:
            words, after = self.kind.change(name, before)
            if not words or self.chance.random() < 0.4:
                words, after = ("DELETE", f"{self.kind.path}/{name}", None), None
        self.judge(name, words, before, after)

    def judge(self, name, words, before, after):
        try:
            status, answer = call(self.host, *words)
        except Unanswered:
            self.possible[name] = {before, after}
            self.book.count(UNANSWERED)
            raise
        if status < 300:
            self.possible[name] = {after}
            self.book.count(MADE)
            return
        error = answer["error"]
        said = f"{self.name}: {' '.join(words[:2])}: {error}"
        if "was changed, but" in error["message"]:
            self.possible[name] = {after}
            self.book.count(MADE)
            return
        if before is None and error["code"] == "exists":
            self.book.fail(f"{said}, though it was refused or deleted before")
        if before is not None and error["code"] == "not_found" and words[1].endswith(f"/{name}"):
            self.book.fail(f"{said}, though it was acknowledged as {before}")
        if not error["message"] or not error["remedy"]:
            self.book.fail(f"{said}: no cause, or no remedy")
        self.book.count(REFUSED)

    def look(self, name):
        """Of what had no answer, what has become of it."""
        status, answer = call(self.host, "GET", f"{self.kind.path}/{name}")
        if status in (200, 404):
            self.settle(name, self.kind.value(answer) if status == 200 else None)
        else:
            raise Unanswered(f"{name}: {answer}")

    def settle(self, name, found):
        if found not in self.possible[name]:
            self.book.fail(f"{self.name}: {self.kind.key} {name} is {found}, and should be one of {self.possible[name]}")
        self.possible[name] = {found}

    def compare(self):
        """At the end, with all that there is."""
        there = {one["name"]: self.kind.value(one) for one in get(self.host, self.kind.path)[self.kind.key]}
        for name in self.kind.names:
            self.settle(name, there.get(name))

    def remove(self):
        """So that the host has what it had at first."""
        for name in self.kind.names:
            if self.possible[name] != {None}:
                status, answer = call(self.host, "DELETE", f"{self.kind.path}/{name}")
                if status != 200:
                    self.book.fail(f"{self.name}: {name} cannot be removed: {answer}")
                self.possible[name] = {None}


class Changes(Busy):
    """Those of one host, one after the other."""

    def __init__(self, rig, book, scene, seed, number):
        super().__init__(book)
        host, name = rig.hosts[number - 1], f"h{number}"
        self.chance = random.Random(f"{seed} changes {number}")
        kinds = [Vms(self.chance, ["", *scene.port_groups])]
        if number == 1:
            kinds += [PortGroups(self.chance, [*scene.switches, *Switches.names]), Switches(self.chance, scene.host_names)]
        self.kept = [Kept(book, host, name, kind, self.chance) for kind in kinds]

    def work(self):
        while not self.book.over.wait(self.chance.uniform(*APART_S)):
            try:
                self.chance.choice(self.kept).change_one()
            except (NotThere, Unanswered):
                self.book.over.wait(0.5)

    def compare(self):
        for kept in self.kept:
            kept.compare()

    def remove(self):
        for kept in self.kept:
            kept.remove()
