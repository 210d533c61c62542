"""What stations say to one another: datagrams that name their VLAN, sender and receiver and are compared byte by byte, at a
steady pace to one station each and to a group of each VLAN; talks over TCP; and questions for an address by broadcast."""
import collections
import random
import selectors
import socket
import struct
import threading
import time

from busy import Busy, Outcome

PACE_S = 0.1          # between two datagrams of a flow
GROUP_EVERY = 5       # of a flow to a group, each fifth time
CUT_S = 5             # what nothing happened to is not cut for longer
CUT_DATAGRAMS = 10    # and a flow is cut that has sent so many in vain
ALIVE_S = 120         # what something happened to is back afterwards
ASKED_S = 20          # a question by broadcast is answered, what else may happen: managers write the groups' tables anew
LATELY_S = 2          # what was heard once and is cut again is not back
SLOW_S = 3            # is told
TALK_S = 60
TALK_BYTES = 1 << 18
PORT, TCP_PORT = 7000, 7001
HEAD = struct.Struct(">8sHBBII")  # mark, VLAN, from, to, number of the flow, of the datagram
MARK = b"paravane"
MOST = 1400
BROADCAST = {socket.AF_INET: "192.0.2.255", socket.AF_INET6: "ff02::1"}  # IPv6's of all nodes
GROUPS = {socket.AF_INET: "239.1.2.3", socket.AF_INET6: "ff15::1:2:3"}  # of both VLANs
REMEMBERED = 4096     # datagrams of a flow that would be known again
HEARD, ASKED = "datagrams that arrived", "questions by broadcast that were answered"
CUT, ASKING = "cut of a pair that nothing happened to", "answer to a question by broadcast"


def body(flow, number):
    chance = random.Random(flow << 32 | number)
    return chance.randbytes(chance.randrange(MOST))


class Flow:
    """From a station to another, or to a group of which all are members."""

    def __init__(self, number, family, sender, to, group=None):
        self.number, self.family, self.sender, self.to, self.group, self.vlan = number, family, sender, to, group, sender.vlan
        address = group or to.addresses[family == socket.AF_INET6]
        self.target = (address, PORT) if family == socket.AF_INET else (address, PORT, 0, sender.index if group else 0)
        self.is_for_all = group == BROADCAST[family]
        self.sent, self.sent_at = 0, collections.deque(maxlen=REMEMBERED)

    def datagram(self):
        head = HEAD.pack(MARK, self.vlan, self.sender.host.number, self.to.host.number if self.to else 0, self.number, self.sent)
        self.sent_at.append(time.monotonic())
        self.sent += 1
        return head + body(self.number, self.sent - 1)

    def when(self, number):
        """It was sent; None: long ago."""
        behind = self.sent - number
        return self.sent_at[-behind] if 0 < behind <= len(self.sent_at) else None


class Hearing:
    """Of a flow by a station."""

    def __init__(self, flow, station, things):
        self.flow, self.station, self.things = flow, station, things
        self.name = f"{flow.sender.network.name.rpartition('-')[2]} to {station.network.name.rpartition('-')[2]}" \
                    f" by {flow.target[0]}"
        self.known, self.newest = collections.OrderedDict(), -1
        self.state, self.since, self.missed_from, self.told = None, None, 0, False

    def is_repeated(self, number):
        if number in self.known:
            return True
        self.known[number] = True
        if len(self.known) > REMEMBERED:
            self.known.popitem(last=False)
        return False


class Streams(Busy):
    """All flows. wait_alive() is any thread's."""

    def __init__(self, book, rig, scene):
        super().__init__(book)
        self.rig, self.scene = rig, scene
        self.flows, self.hearings, self.ends, self.chance = [], [], {}, random.Random(1)
        self.selector = selectors.DefaultSelector()
        self.by_flow = {}
        self.heard_at = {}  # of each hearing, when the newest that it heard was sent
        for station in rig.stations.values():
            self.open(station)
        for (here, vlan), sender in rig.stations.items():
            others = [receiver for (there, other_vlan), receiver in rig.stations.items() if there != here and vlan == other_vlan]
            for family in GROUPS:
                for receiver in others:
                    self.add(Flow(len(self.flows) + 1, family, sender, receiver), [receiver])
                for group in GROUPS[family], BROADCAST[family]:
                    self.add(Flow(len(self.flows) + 1, family, sender, None, group), others)

    def add(self, flow, receivers):
        self.flows.append(flow)
        for receiver in receivers:
            hearing = Hearing(flow, receiver, self.scene.stands_on(flow.sender.host.number, receiver.host.number, flow.vlan))
            self.hearings.append(hearing)
            self.by_flow[flow.number, receiver.host.number] = hearing

    def open(self, station):
        with station.network.entered():
            for family, group in GROUPS.items():
                end = socket.socket(family, socket.SOCK_DGRAM)
                if family == socket.AF_INET6:
                    end.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
                end.setblocking(False)
                end.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
                end.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
                end.bind(("", PORT))
                station.index = socket.if_nametoindex("eth0")
                self.join_group(end, family, group, station.index)
                self.ends[station, family] = end
                self.selector.register(end, selectors.EVENT_READ, (station, family))

    @staticmethod
    def join_group(end, family, group, index):
        address = socket.inet_pton(family, group)
        if family == socket.AF_INET:
            end.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, struct.pack("@4s4si", address, bytes(4), index))
            end.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, struct.pack("@4s4si", bytes(4), bytes(4), index))
            end.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_LOOP, 0)
        else:
            end.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_JOIN_GROUP, struct.pack("@16si", address, index))
            end.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_IF, index)
            end.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_LOOP, 0)

    def work(self):
        turn, due = 0, time.monotonic()
        while not self.book.over.is_set():
            self.send(turn)
            turn, due = turn + 1, max(due + PACE_S, time.monotonic() - PACE_S)
            while (left := due - time.monotonic()) > 0:
                self.hear(left)
            self.hear(0)
            for hearing in self.hearings:
                self.look(hearing)
        for end in self.ends.values():
            end.close()

    def send(self, turn):
        for number, flow in enumerate(self.flows):
            if flow.group and (turn + number) % GROUP_EVERY:
                continue
            try:
                self.ends[flow.sender, flow.family].sendto(flow.datagram(), flow.target)
            except OSError:
                continue  # no answer to its question for the address: it is lost, as others

    def hear(self, seconds):
        for key, _ in self.selector.select(seconds):
            for _ in range(64):
                try:
                    data, source = key.fileobj.recvfrom(65536)
                except BlockingIOError:
                    break
                except OSError:
                    continue
                self.judge(*key.data, data, source)

    def judge(self, station, family, data, source):
        """Of what arrives each byte is known."""
        where = f"{station.network.name}: {len(data)} bytes from {source[0]}: {data[:HEAD.size].hex()}"
        if len(data) < HEAD.size or not data.startswith(MARK):
            return self.book.fail(f"wrong bytes: {where}")
        _, vlan, sender, to, number, datagram = HEAD.unpack_from(data)
        if vlan != station.vlan:
            return self.book.fail(f"a datagram of VLAN {vlan} in VLAN {station.vlan}: {where}")
        if to == 0 and sender == station.host.number:
            return None  # Linux gives a station its own broadcasts
        hearing = self.by_flow.get((number, station.host.number))
        if hearing is None or hearing.flow.vlan != vlan or hearing.flow.sender.host.number != sender or hearing.flow.family != family:
            return self.book.fail(f"a datagram that is not this station's: {where}")
        if to not in (0, station.host.number) or data[HEAD.size:] != body(number, datagram):
            return self.book.fail(f"wrong bytes: {where}")
        if hearing.is_repeated(datagram):
            return self.book.fail(f"{hearing.name}: datagram {datagram} arrived twice, the newest is {hearing.newest}")
        self.book.count(HEARD)
        when = hearing.flow.when(datagram)
        if datagram > hearing.newest and when is not None:
            self.heard(hearing, datagram, when)
        return None

    def heard(self, hearing, datagram, when):
        hearing.newest, self.heard_at[hearing] = datagram, when
        if hearing.since is not None and hearing.state == self.book.state(*hearing.things):
            lost = datagram - hearing.missed_from
            if lost > 0 and not hearing.flow.group:
                self.book.lasted(CUT, when - hearing.since)
            self.cut(hearing, when - hearing.since, lost)
            hearing.since, hearing.missed_from = max(when, hearing.since), datagram + 1

    def look(self, hearing):
        """Whether something happens to what it stands on, and whether it is cut."""
        state, now = self.book.state(*hearing.things), time.monotonic()
        if not self.book.calm(state):
            hearing.state, hearing.since = state, None
        elif state != hearing.state or hearing.since is None:
            hearing.state, hearing.since, hearing.missed_from, hearing.told = state, now, hearing.flow.sent, False
        else:
            self.cut(hearing, now - hearing.since, hearing.flow.sent - hearing.missed_from)

    def cut(self, hearing, seconds, datagrams):
        """A flow to a group is not judged: a manager that is new learns its members one by one."""
        if hearing.flow.group or datagrams < CUT_DATAGRAMS:
            return
        seconds = min(seconds, 2 * PACE_S * datagrams)  # this thread may have had to wait for a processor
        if seconds > CUT_S and not hearing.told:
            hearing.told = True
            self.book.fail(f"{hearing.name}: cut for {seconds:.1f} s, {datagrams} datagrams, though nothing happened to what it stands on")
            if len(self.book.failures) == 1:
                self.tell()

    def tell(self):
        """Before it is over."""
        try:
            for text in self.rig.witness():
                print(text, flush=True)
        except (AssertionError, ValueError, OSError) as error:
            print(f"no more: {error!r}")

    def dead(self, since, things, groups=False):
        """Names of those that stand on one of these things and have heard nothing that was sent after `since`, or lately."""
        since = max(since, time.monotonic() - LATELY_S)
        return [one.name for one in self.hearings if (groups or one.flow.is_for_all or not one.flow.group) and set(things) & set(one.things) and
                self.heard_at.get(one, 0) < since]

    def wait_alive(self, since, things, groups=False, seconds=ALIVE_S):
        end = time.monotonic() + seconds
        while dead := self.dead(since, things, groups):
            if time.monotonic() > end or self.book.over.is_set():
                raise AssertionError(f"waited {seconds} s for datagrams from {', '.join(dead)}")
            time.sleep(0.05)


class Echo(Busy):
    """Sends back what comes over TCP to any station."""

    def __init__(self, book, rig):
        super().__init__(book)
        self.selector = selectors.DefaultSelector()
        for station in rig.stations.values():
            with station.network.entered():
                listener = socket.create_server(("::", TCP_PORT), family=socket.AF_INET6, dualstack_ipv6=True)
            listener.setblocking(False)
            self.selector.register(listener, selectors.EVENT_READ, None)

    def work(self):
        while not self.book.over.is_set():
            for key, events in self.selector.select(0.2):
                if key.data is None:
                    connection, _ = key.fileobj.accept()
                    connection.setblocking(False)
                    self.selector.register(connection, selectors.EVENT_READ, bytearray())
                    continue
                try:
                    self.turn(key, events)
                except OSError:
                    self.end(key)
        for key in list(self.selector.get_map().values()):
            key.fileobj.close()

    def end(self, key):
        self.selector.unregister(key.fileobj)
        key.fileobj.close()

    def turn(self, key, events):
        waiting = key.data
        if events & selectors.EVENT_READ:
            came = key.fileobj.recv(65536)
            if not came and not waiting:
                return self.end(key)
            waiting += came
        if waiting:
            try:
                del waiting[:key.fileobj.send(waiting)]
            except BlockingIOError:
                pass
        want = selectors.EVENT_WRITE if waiting else 0
        want |= selectors.EVENT_READ if len(waiting) < 1 << 18 else 0
        self.selector.modify(key.fileobj, want, waiting)
        return None


class Talks(Busy):
    """One conversation over TCP after the other, between two stations of a VLAN that chance picks."""

    def __init__(self, book, rig, scene, seed):
        super().__init__(book)
        self.rig, self.scene, self.chance = rig, scene, random.Random(f"{seed} talks")

    def work(self):
        while not self.book.over.is_set():
            here, there = self.chance.sample(sorted({number for number, _ in self.rig.stations}), 2)
            vlan, family = self.chance.choice(self.scene.vlans), self.chance.choice(list(GROUPS))
            things = self.scene.stands_on(here, there, vlan)
            before = self.book.state(*things)
            if not self.book.calm(before):
                self.book.over.wait(0.2)
                continue
            outcome = self.talk(self.rig.stations[here, vlan], self.rig.stations[there, vlan], family)
            if self.book.over.is_set():
                return
            self.book.judge(outcome, undisturbed=self.book.state(*things) == before)
            self.book.over.wait(self.chance.uniform(0, 0.5))

    def talk(self, one, other, family):
        name, data = f"TCP, VLAN {one.vlan}, h{one.host.number} to h{other.host.number}", self.chance.randbytes(TALK_BYTES)
        with one.network.entered():
            end = socket.socket(family, socket.SOCK_STREAM)
        back = bytearray()
        sender = threading.Thread(target=self.say, args=(end, data), daemon=True)
        with end:
            end.settimeout(TALK_S)
            try:
                end.connect((other.addresses[family == socket.AF_INET6], TCP_PORT))
                sender.start()
                while len(back) < len(data) and (came := end.recv(65536)):
                    back += came
            except OSError as error:
                return Outcome(name, False, back != data[:len(back)], f"{len(back)} bytes of {len(data)}: {error!r}")
        sender.join()
        return Outcome(name, back == data, back != data[:len(back)], f"{len(back)} bytes of {len(data)}")

    @staticmethod
    def say(end, data):
        try:
            end.sendall(data)
        except OSError:
            pass  # the other thread tells


class Questions(Busy):
    """A station forgets an address of another's, one that nothing else uses, and asks all for it."""

    def __init__(self, book, rig, scene, seed):
        super().__init__(book)
        self.rig, self.scene, self.chance = rig, scene, random.Random(f"{seed} questions")

    def work(self):
        while not self.book.over.wait(self.chance.uniform(0.5, 2)):
            here, there = self.chance.sample(sorted({number for number, _ in self.rig.stations}), 2)
            vlan = self.chance.choice(self.scene.vlans)
            one, other = self.rig.stations[here, vlan], self.rig.stations[there, vlan]
            address, things = self.chance.choice(other.asked_addresses), self.scene.stands_on(here, there, vlan)
            before = self.book.state(*things)
            if not self.book.calm(before):
                continue
            began = time.monotonic()
            one.network.ip("neighbour", "flush", "to", address, "dev", "eth0", check=False)
            said = ""
            while "bytes from" not in said and time.monotonic() - began < ASKED_S and not self.book.over.is_set():
                said = one.run("ping", "-n", "-c", 1, "-W", 1, address, check=False)
            if self.book.over.is_set() or self.book.state(*things) != before:
                continue
            if "bytes from" in said:
                self.book.count(ASKED)
                self.book.lasted(ASKING, took := time.monotonic() - began)
                if took > SLOW_S:
                    self.book.say(f"{one.network.name} was answered by {address} after {took:.1f} s")
            else:
                self.book.fail(f"{one.network.name}: no answer of {address} in {ASKED_S} s, though nothing happened to what it stands on: {said}")
