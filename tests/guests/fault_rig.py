"""FaultRig: hosts whose faults are to order, and what guests and operators see of them. h1 to h3 have
a guest each, h4 a daemon alone; the cable of h2 is lab/wire.
"""
import collections
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

from guests import ROOT, Failed, wait_for
from hosts_rig import HostsRig
from runner import processes  # hosts_rig makes it importable
from runner.cable import Cable

sys.path.append(str(ROOT / "tests" / "cluster"))
import etcd_request  # noqa: E402  (the line above makes it importable)
from rogue import MANNERS  # noqa: E402, F401

ROGUE = ROOT / "tests" / "cluster" / "rogue.py"
CHANNEL_PORT = 28250
SILENCE_S = 3.0  # after which a host is given up (docs/tcp-channel.md)
SLACK_S = 2.0    # of this machine, whose processors all guests share
REQUEST_FAILED = 3  # paravane-tally's


def own_time(timeout, retries=7):
    """How long a queue pair tries."""
    return 4.096e-6 * 2 ** timeout * (retries + 1)


Ended = collections.namedtuple("Ended", "code rounds longest failed text")


class Tally:
    """paravane-tally in two guests, which counts what is lost or done twice."""

    ports = iter(range(19000, 20000))

    def __init__(self, rig, server, client, seconds=1000, timeout=14, retries=7):
        port, patience = str(next(Tally.ports)), ["--timeout", str(timeout), "--retries", str(retries)]
        self.interrupt = lambda: rig.shell(client, f"pkill -INT -f '[p]aravane-tally .* {port} ' || true")
        self.server = rig.spawn(server, "paravane-tally", *patience, port)
        before = rig.sends(client)
        self.client = rig.spawn(client, "paravane-tally", *patience, "--seconds", str(seconds), port, f"10.77.0.{server}")
        wait_for("the requests", lambda: rig.sends(client) > before + 20 or self.client.process.poll() is not None, 20)

    def goes_on(self):
        return self.client.process.poll() is None

    def stop(self):
        """Ends it after the round that is under way, if it goes on."""
        self.interrupt()
        return self.end()

    def end(self, timeout=120):
        """How it went at the acting end. Whatever happened, nothing may be lost or done twice."""
        code, text = self.client.finish(timeout)
        other, other_text = self.server.finish(20)
        text = f"{self.client.words}:\n{text}\n{self.server.words}:\n{other_text}"
        if code not in (0, REQUEST_FAILED) or other != code:
            raise Failed(f"exit status {code} and {other}\n{text}")
        rounds = re.search(r"rounds: (\d+), the longest took ([\d.]+) s", text)
        failed = re.search(r"failed: (.*) after ([\d.]+) s", text)
        return Ended(code, int(rounds[1]), float(rounds[2]), failed and (failed[1], float(failed[2])), text)


class Rogue:
    """tests/cluster/rogue.py, and what it has said so far."""

    def __init__(self, words, file):
        self.file = file
        with file.open("w") as output:
            self.process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT)

    def said(self):
        return self.file.read_text()

    def end(self):
        self.process.terminate()
        self.process.wait(20)


class FaultRig(HostsRig):
    GUESTS = 3

    def __init__(self):
        super().__init__(self.GUESTS + 1)
        self.cable = Cable(self.lab.wire, self.host(2))
        try:
            self.cable.insert("--seed", "20261122")
        except BaseException:
            self.close()
            raise

    def up(self, *options, adapters=None):
        with ThreadPoolExecutor() as each:
            for _ in each.map(lambda number: self.host(number).up(["--overlay", str(self.overlay), *options], adapters or {}),
                              range(1, self.GUESTS + 1)):
                pass
        self.wait_known()

    def wait_known(self):
        hosts = [self.host(number) for number in range(1, self.GUESTS + 1)]
        for host in hosts:
            wait_for(f"{host.name} knows all addresses", lambda host=host: all(
                host.known_gids().get(one.name, 0) >= 2 for one in hosts), 60)

    def host(self, number):
        """As the lab has it."""
        return self.lab.hosts[number - 1]

    def tally(self, server, client, *seconds, **more):
        return Tally(self, server, client, *seconds, **more)

    def inside(self, number, *words):
        """The words of a command in a host's namespace."""
        return ["ip", "netns", "exec", self.host(number).space, *[str(word) for word in words]]

    # ---- faults ----

    def reset_channels(self, number):
        """The TCP connections of a host's channels end, at both ends. Returns how many."""
        words = self.inside(number, "ss", "-H", "-n", "-t", "-K", "state", "established",
                            f"( dport = :{CHANNEL_PORT} or sport = :{CHANNEL_PORT} )")
        done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True, timeout=20)
        return done.stdout.count(f":{CHANNEL_PORT}")

    def child(self, number, name):
        """The process of that name which a host's daemon has started."""
        return processes.children(processes.recall(self.host(number).pid_file()), name)[0]

    def restart_guest(self, number):
        """As its operator would, whose daemon is another one now."""
        guests = self.hosts[number - 1]
        guests.lab("kill", str(number))
        guests.lab("up", "1", "--first", str(number), "--overlay", str(self.overlay))

    def stop_etcd(self):
        """It hangs. Returns what kills it, after which it is started again."""
        pid = self.child(1, "etcd")
        os.kill(pid, signal.SIGSTOP)
        return lambda: os.kill(pid, signal.SIGKILL)

    def cluster_directory(self, number):
        return pathlib.Path(self.host(number).folder) / "state" / "cluster"

    def put(self, number, key, value):
        """A host writes in etcd what its daemon would not."""
        return etcd_request.put(lambda path, body: etcd_request.ask_etcd(
            self.inside(number), self.cluster_directory(number), path, body), key, value)

    def rogue(self, number, *words):
        """On a host."""
        return Rogue(self.inside(number, sys.executable, ROGUE, *words), self.folder / f"rogue-{words[0]}")

    # ---- what an operator sees ----

    def status(self, number):
        return json.loads(self.hosts[number - 1].cli("cluster", "status", "--formatter=json").stdout)

    def present(self, number):
        return [host["name"] for host in self.status(number)["hosts"] if host["present"]]

    def paths(self, number):
        return json.loads(self.hosts[number - 1].cli("path", "list", "--formatter=json").stdout)

    def wait_channel(self, number, to):
        """Until a host's requests reach another."""
        wait_for(f"h{number} reaches {to}", lambda: self.channel_counter(number, to, "records_received") > 0, 30)

    def channel_counter(self, number, to, name):
        stats = json.loads(self.hosts[number - 1].cli("--formatter=json", "stats").stdout)
        groups = {group["name"]: group for group in stats["daemon"]}
        counters = groups.get(f"channel_{to}", {"counters": []})["counters"]
        return next((counter["value"] for counter in counters if counter["name"] == name), 0)

    def mark(self):
        """What is logged from now on."""
        return Log(self)

    def close(self):
        if hasattr(self, "cable"):
            self.cable.remove()
        super().close()


class Log:
    """What all daemons have logged since it was made."""

    def __init__(self, rig):
        self.rig = rig
        self.from_ = [len(host.daemon_log()) for host in rig.hosts]

    def lines(self, number, text=""):
        """A host's that hold that text."""
        log = self.rig.hosts[number - 1].daemon_log()[self.from_[number - 1]:]
        return [line for line in log.splitlines() if text in line]
