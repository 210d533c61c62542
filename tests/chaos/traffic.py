"""Traffic between VMs, each kind in a thread of its own until the book says that it is over."""
import dataclasses
import random
import re
import threading
import traceback

from rig import Exchange, Failed

TALK_S = 90  # at most
PINGS = "pings of 5000"
# What paravane-verify says of what arrived and should not have, as opposed to what did not arrive.
WRONG = re.compile(r"wrong (bytes|byte_len|immediate|source)|bytes outside were written")


@dataclasses.dataclass
class Outcome:
    name: str
    good: bool
    wrong_bytes: bool
    text: str


def talk(rig, server, client, port):
    """Every operation once from `client` to `server`, each byte compared at both ends."""
    name = f"vm{client} to vm{server}"
    try:
        texts = Exchange(rig, server, client).run(["paravane-verify", str(port)], ["paravane-verify", str(port), f"10.77.0.{server}"],
                                                  port=port, timeout=TALK_S)
        text, good = "\n".join(texts), True
    except Failed as failed:
        text, good = str(failed), False
    wrong = WRONG.search(text) is not None
    return Outcome(name, good and not wrong, wrong, text)


class Busy(threading.Thread):
    """A thread that cannot end unnoticed."""

    def __init__(self, book):
        super().__init__(daemon=True)
        self.book = book

    def run(self):
        try:
            self.work()
        except Exception:  # pylint: disable=broad-except
            self.book.fail(f"{type(self).__name__} broke off:\n{traceback.format_exc()}")

    def work(self):
        raise NotImplementedError


class Traffic(Busy):
    """One talk after the other, between two VMs that chance picks."""

    def __init__(self, rig, book, options, number):
        super().__init__(book)
        self.rig, self.vms, self.number = rig, options.vms, number
        self.chance = random.Random(f"{options.seed} {number}")

    def work(self):
        talks = 0
        while not self.book.over.is_set():
            server, client = self.chance.sample(range(1, self.vms + 1), 2)
            before = self.book.state(server, client)
            if not self.book.calm(before):
                self.book.over.wait(0.2)
                continue
            talks += 1
            outcome = talk(self.rig, server, client, 20000 + 1000 * self.number + talks % 1000)
            self.book.judge(outcome, undisturbed=self.book.state(server, client) == before)


class PeacefulPing(Busy):
    """vm1 and vm2 send to and fro; ib_send_lat says how long the longest took."""

    def __init__(self, rig, book):
        super().__init__(book)
        self.exchange = Exchange(rig, server=1, client=2)

    def work(self):
        words = ["ib_send_lat", "-d", "vmw_pvrdma0", "-F", "-n", "5000", "-p", "18800"]
        while not self.book.over.is_set():
            try:
                _, text = self.exchange.run(words, [*words, self.exchange.address], port=18800, timeout=TALK_S)
            except Failed as failed:
                self.book.fail(f"vm1 and vm2, to which nothing happened: {failed}")
                return
            row = re.search(r"^ +\d+ +5000 +\S+ +(\S+)", text, re.MULTILINE)
            self.book.waited(float(row.group(1)))
            self.book.count(PINGS)
