"""Two VMs that are none count their requests (tests/guests/programs/tally.cc) while the engine under them is replaced:
each is done once, in order, and each completion comes, with its event where the queue was armed.

With PARAVANE_OTHER_PROGRAM, the paravaned of another release, every other upgrade is to that: down, up, and down again."""

import itertools
import json
import os
import re
import signal
import subprocess
import unittest

from rig import BIN, PATIENCE_S, wait_for
from test_upgrade import Upgrade

TALLY = BIN.parent / "guest" / "host" / "paravane-vm-tally"
FIRST_PORT = 19000  # in a network of their own
OTHER = os.environ.get("PARAVANE_OTHER_PROGRAM")
UPGRADES = int(os.environ.get("PARAVANE_UPGRADES", "3"))
PATIENCE = "--timeout", "14", "--retries", "7"  # 67 ms a try


class ExactlyOnce(Upgrade):
    def setUp(self):
        super().setUp()
        self.daemon = self.start()
        self.programs = itertools.cycle([OTHER or BIN / "paravaned", BIN / "paravaned"])
        self.network = self.spawn("unshare", "--net", "--", "sh", "-c", "ip link set lo up && echo up && exec sleep 1000")
        wait_for(lambda: "up\n" in self.log_text(), "the network of all")

    def tally(self, number, *words):
        """Of the VM with that number, which is added. Odd ones are acted upon by the next."""
        name, mac = f"db{number}", f"02:50:56:00:00:{number:02x}"
        self.cli("vm", "add", name, "--mac", mac)
        where = [str(FIRST_PORT + (number - 1) // 2)] + (["127.0.0.1"] if number % 2 == 0 else [])
        said = self.folder / name  # a pipe would hold one that complains of each message
        with said.open("w") as out:
            process = subprocess.Popen(["nsenter", f"--net=/proc/{self.network.pid}/ns/net", "--", str(TALLY), *PATIENCE, *words, *where],
                                       stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT,
                                       env={**os.environ, "PARAVANE_VM_SOCKET": str(self.vms / f"{name}.sock"), "PARAVANE_VM_MAC": mac})
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        process.said = said
        return process

    def upgrade_engine(self):
        before = self.engine(self.daemon)
        self.install(next(self.programs))
        done = self.upgrade()
        self.assertEqual(done["state"], "done", done)
        self.assertNotEqual(self.engine(self.daemon), before)

    def sends(self, number):
        done = self.cli("stats", "--vm", f"db{number}", "--formatter=json", check=False)
        vms = json.loads(done.stdout)["vms"] if done.returncode == 0 else []
        return sum(one["value"] for vm in vms for group in vm["groups"] for one in group["counters"] if one["name"] == "sends")

    def wait_for_more(self, pairs, acting):
        """Requests of each pair, unless one has ended, which the end tells."""
        before = {number: self.sends(number) for number in pairs}
        wait_for(lambda: any(one.poll() is not None for one in acting) or
                 all(self.sends(number) > sent + 20 for number, sent in before.items()), "more requests")

    def count(self, impairment=(), target=(), actor=(), pairs=1):
        """Upgrades while all count. An impairment ends with its engine, and is set again."""
        numbers = range(2, 2 * pairs + 1, 2)
        served = [self.tally(number - 1, *target) for number in numbers]
        acting = [self.tally(number, "--seconds", "200", *actor) for number in numbers]
        for _ in range(UPGRADES):
            for number in numbers if impairment else ():
                self.cli("impair", "set", "--vm", f"db{number}", "--peer", f"db{number - 1}", *impairment)
            self.wait_for_more(numbers, acting)
            if any(one.poll() is not None for one in acting):
                break
            self.upgrade_engine()
        self.wait_for_more(numbers, acting)
        for one in acting:
            one.send_signal(signal.SIGINT)
        for one, other in zip(acting, served):
            ended = one.wait(2 * PATIENCE_S), other.wait(PATIENCE_S)
            said, heard = one.said.read_text(), other.said.read_text()
            self.assertEqual(ended, (0, 0), said[:2000] + heard[:2000])
            rounds = int(re.search(r"rounds: (\d+)", said)[1])
            self.assertIn(f"additions: {4 * rounds}, swaps: {rounds}, messages: {rounds}\n", heard)
            print(f"{self.id()}: {rounds} rounds across {UPGRADES} upgrades", flush=True)

    def test_nothing_is_lost_or_done_twice(self):
        self.count()

    def test_nothing_whose_answer_is_lost_is_done_twice(self):
        """The peer has done it before the engine is replaced, and the next one asks for it again. Of six pairs, some wait for an answer."""
        self.count(("--loss", "10%"), pairs=6)

    def test_each_completion_that_was_held_back_comes(self):
        """More than fit into their queue are left there."""
        self.count(actor=("--leave", "300"))

    def test_each_arm_has_its_event(self):
        """Both sleep until they are told, with requests under way that take 20 ms."""
        self.count(("--delay", "20ms"), target=("--events",), actor=("--events",))


if __name__ == "__main__":
    unittest.main()
