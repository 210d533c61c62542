"""Traffic between VMs, each kind in a thread of its own until the book says that it is over."""
import math
import random
import re

from busy import Busy, Outcome
from rig import Exchange, Failed

TALK_S = 240  # at most, on a machine that has others to serve
PINGS = "series of pings"
UNMEASURED = "series of pings whose program could not tell its processor's clock rate"
# What paravane-verify says of what arrived and should not have, as opposed to what did not arrive.
WRONG = re.compile(r"wrong (bytes|byte_len|immediate|source)|bytes outside were written")


def talk(rig, server, client, port, largest=None):
    """Every operation from `client` to `server`, each byte compared at both ends; no message
    longer than `largest`."""
    name = f"vm{client} to vm{server}"
    words = ["paravane-verify", *(["--up-to", str(largest)] if largest else []), str(port)]
    try:
        texts = Exchange(rig, server, client).run(words, [*words, f"10.77.0.{server}"], port=port, timeout=TALK_S)
        text, good = "\n".join(texts), True
    except Failed as failed:
        text, good = str(failed), False
    wrong = WRONG.search(text) is not None
    return Outcome(name, good and not wrong, wrong, text)


class Traffic(Busy):
    """One talk after the other, between two VMs that chance picks."""

    def __init__(self, rig, book, scene, seed, number):
        super().__init__(book)
        self.rig, self.scene, self.number = rig, scene, number
        self.chance = random.Random(f"{seed} {number}")

    def work(self):
        talks = 0
        while not self.book.over.is_set():
            server, client = self.chance.sample(self.scene.vms, 2)
            things = self.scene.stands_on(server, client)
            before = self.book.state(*things)
            if not self.book.calm(before):
                self.book.over.wait(0.2)
                continue
            talks += 1
            outcome = talk(self.rig, server, client, 20000 + 1000 * self.number + talks % 1000, self.scene.largest)
            self.book.judge(outcome, undisturbed=self.book.state(*things) == before)


def longest_of(text, pings):
    """Microseconds, of what ib_send_lat printed. None: where its sample of the processor's clock has too much noise, it
    divides by a rate of 0, and every time that it prints is infinite."""
    shortest, longest = re.search(rf"^ +\d+ +{pings} +(\S+) +(\S+)", text, re.MULTILINE).groups()
    return None if math.isinf(float(shortest)) else float(longest)


class PeacefulPing(Busy):
    """Those left in peace send to and fro; ib_send_lat says how long the longest took."""

    def __init__(self, rig, book, scene):
        super().__init__(book)
        self.exchange, self.pings = Exchange(rig, *scene.in_peace), scene.pings

    def work(self):
        words = ["ib_send_lat", "-d", "vmw_pvrdma0", "-F", "-n", str(self.pings), "-p", "18800"]
        while not self.book.over.is_set():
            try:
                _, text = self.exchange.run(words, [*words, self.exchange.address], port=18800, timeout=TALK_S)
            except Failed as failed:
                self.book.fail(f"those left in peace: {failed}")
                return
            longest = longest_of(text, self.pings)
            if longest is None:
                self.book.count(UNMEASURED)
                continue
            self.book.waited(longest)
            self.book.count(PINGS)
