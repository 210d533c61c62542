"""Kills at any moment: the engine or the keeper dies in the middle of adding, changing and
removing VMs. What was acknowledged is there afterwards, nothing is half made, and every name
can be used."""

import http.client
import json
import os
import random
import signal
import threading

from rig import DaemonTest, children_of, connect, is_alive, kill_daemon, wait_for

NAMES = [f"vm{number}" for number in range(8)]
ROUNDS = int(os.environ.get("PARAVANE_KILLS", "40"))
LONGEST_LIFE_S = 0.15


class Connection(http.client.HTTPConnection):
    """To a socket file."""

    def __init__(self, path):
        super().__init__("paravane")
        self.path = path

    def connect(self):
        self.sock = connect(self.path)


class Kills(DaemonTest):
    def call(self, method, path, value=None):
        """Returns (status, value)."""
        connection = Connection(self.api)
        try:
            connection.request(method, path, json.dumps(value) if value is not None else None,
                               {"Content-Type": "application/json"})
            answer = connection.getresponse()
            text = answer.read()
            return answer.status, json.loads(text) if text else None
        finally:
            connection.close()

    def memories(self):
        """Of each VM there is, its memory."""
        status, answer = self.call("GET", "/v1/vms")
        self.assertEqual(status, 200, answer)
        return {vm["name"]: vm["machine"]["memory_mib"] for vm in answer["vms"]}

    def change_until_killed(self, known, chance, killer):
        """Changes VMs one after the other. Returns the name whose change has no answer and
        what it would be (None: removed); `known` has all others as they were acknowledged.
        A change that comes while there is no engine is answered by the next one."""
        while killer.is_alive():
            name = chance.choice(NAMES)
            after = chance.randrange(64, 1024)
            if known.get(name) is None:
                words = ("POST", "/v1/vms", {"name": name, "machine": {"memory_mib": after}})
            elif chance.random() < 0.4:
                words, after = ("DELETE", f"/v1/vms/{name}"), None
            else:
                words = ("PATCH", f"/v1/vms/{name}", {"machine": {"memory_mib": after}})
            try:
                status, answer = self.call(*words)
            except (OSError, http.client.HTTPException):
                return name, after
            self.assertLess(status, 300, f"{words}: {answer}\n{self.log_text()[-2000:]}")
            known[name] = after
        return None, None

    def test_what_was_acknowledged_is_there_and_every_name_can_be_used(self):
        chance = random.Random(7)
        known = {}
        unanswered = (None, None)
        for number in range(ROUNDS):
            daemon = self.start()
            found = self.memories()
            name, after = unanswered
            for one in NAMES:
                expected = [known.get(one)] + ([after] if one == name else [])
                self.assertIn(found.get(one), expected, f"{one} after {number} kills")
            self.assertLessEqual(set(found), set(NAMES))
            known = found
            self.assertEqual(sorted(path.stem for path in self.vms.glob("*.sock")), sorted(found))
            engine = self.engine(daemon)
            victim = chance.choice([engine, daemon.pid])
            killer = threading.Timer(chance.uniform(0, LONGEST_LIFE_S), os.kill, (victim, signal.SIGKILL))
            killer.start()
            unanswered = self.change_until_killed(known, chance, killer)
            killer.join()
            if victim == engine:  # another one goes on
                wait_for(lambda engine=engine, daemon=daemon: [pid for pid in children_of(daemon.pid) if pid != engine], "another engine")
                kill_daemon(daemon)
            daemon.wait(60)
            wait_for(lambda engine=engine: not is_alive(engine), "the engine to end")
        self.start()
        for name in self.memories():
            self.assertEqual(self.call("DELETE", f"/v1/vms/{name}")[0], 200)
        for name in NAMES:
            self.assertEqual(self.call("POST", "/v1/vms", {"name": name})[0], 201)
