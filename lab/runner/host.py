"""A host of a cluster: a network namespace with a daemon and VMs in it. Host I is called hI and has
10.78.0.I. The VMs are a lab of their own (lab/vm --state), on the taps of the daemon's switch.
"""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import time

from . import processes
from .disk import Disk
from .errors import LabError
from .network import guest_mac
from .own_daemon import write_config
from .places import lab_folder, tail

PREFIX = "10.78.0"
UPLINK = "eth1"  # of the switch; eth0 is the host's own
PORT_GROUP = "rdma"
START_SECONDS = 20


class Host:
    """One of them: its namespace, daemon and VMs."""

    def __init__(self, hosts, number):
        self.hosts, self.number = hosts, number
        self.name = f"h{number}"
        self.folder = os.path.join(hosts.folder, self.name)
        self.space = f"{hosts.digest}-{self.name}"
        self.address = f"{PREFIX}.{number}"
        self.api = os.path.join(self.folder, "api.sock")
        self.lab_state = os.path.join(self.folder, "lab")
        self.state = os.path.join(self.folder, "state")
        self.disk = Disk(self.state, hosts.disk_mib) if hosts.disk_mib else None
        self.environment = {}  # more of the daemon's, from its next start on
        self.uplinks = [UPLINK]  # that its configuration gives, from its next start on
        self.settings = ""  # more of its configuration, likewise

    def program(self, name):
        return self.hosts.program(name, self.number)

    def vms(self):
        first = (self.number - 1) * self.hosts.vms_per_host + 1
        return range(first, first + self.hosts.vms_per_host)

    def add(self):
        shutil.rmtree(self.folder, ignore_errors=True)  # the log of one that ended badly
        processes.run("ip", "netns", "add", self.space)
        processes.run("ip", "-n", self.space, "link", "set", "lo", "up")
        self.hosts.wire.join(self.name, self.space, "eth0")
        processes.run("ip", "-n", self.space, "address", "add", f"{self.address}/24", "dev", "eth0")
        self.hosts.ethernet.join(self.name, self.space, UPLINK)
        if self.disk:
            self.disk.mount()

    def log(self):
        return os.path.join(self.folder, "paravaned.log")

    def pid_file(self):
        return os.path.join(self.folder, "pid")

    def start(self):
        """The daemon; returns when it answers."""
        config = write_config(self.folder, f'[host]\nname = "{self.name}"\n[cluster]\naddress = "{self.address}"\n'
                                           f'[channel]\nencryption = "{self.hosts.encryption}"\n'
                                           f'{self.hosts.channel.get(self.number, "")}'
                                           f'[network]\nuplinks = {json.dumps(self.uplinks)}\n{self.settings}')
        with open(self.log(), "ab") as log:
            environment = [f"{name}={value}" for name, value in self.environment.items()]
            processes.start(self.pid_file(), ["ip", "netns", "exec", self.space, "env", *environment,
                                              self.program("paravaned"), "--config", config], stdout=log)
        limit = time.monotonic() + START_SECONDS
        while self.paravane("status", check=False).returncode != 0:
            if processes.recall(self.pid_file()) is None or time.monotonic() > limit:
                raise LabError(f"the daemon of {self.name}", "does not answer", f"see {self.log()}", tail(self.log()))
            time.sleep(0.05)

    def open_channel(self):
        """As its operator does: at the management network's interface."""
        self.paravane("system", "settings", "advanced", "set", "-o", "/Net/PVRDMAVmknic", "-s", "vmk0")
        self.paravane("network", "firewall", "ruleset", "set", "-e", "true", "-r", "pvrdma")

    def stop(self):
        processes.stop(self.pid_file())

    def paravane(self, *words, check=True):
        done = subprocess.run([self.program("paravane"), "--socket", self.api, *words], capture_output=True,
                              text=True, check=False, timeout=60, stdin=subprocess.DEVNULL)
        if check and done.returncode != 0:
            raise LabError(f"{self.name}: paravane {' '.join(words)}", done.stderr.strip() or "failed",
                           f"see {self.log()}", tail(self.log()))
        return done

    def hand_over(self, *words):
        """paravane with our standard streams; its exit status."""
        return subprocess.run([self.program("paravane"), "--socket", self.api, *words], check=False).returncode

    def start_again(self):
        """The daemon, after it has ended; and its VMs, whose devices ended with it."""
        if processes.recall(self.pid_file()) is not None:
            raise LabError(f"the daemon of {self.name}", "runs", f"lab/cluster paravane {self.number} -- daemon stop --force")
        self.start()
        self.lab("down", stdout=subprocess.DEVNULL)
        self.lab_up([])

    def lab(self, *words, **options):
        """lab/vm, for this host's VMs; it reads what the command of this tree prints, also of a daemon of another release."""
        env = {**os.environ, "LAB_STATE": self.lab_state, "LAB_PARAVANE": self.hosts.paravane_path,
               "LAB_API": self.api, "LAB_NETNS": self.space}
        return subprocess.run([os.path.join(lab_folder(), "vm"), *words], env=env, check=False, **options)

    def up(self, options, adapters):
        for vm in self.vms():
            self.paravane("vm", "add", f"vm{vm}", "--mac", guest_mac(vm), "--port-group", PORT_GROUP,
                          *adapters.get(vm, ()))
        self.lab_up(options)

    def lab_up(self, options):
        done = self.lab("up", str(self.hosts.vms_per_host), "--first", str(self.vms()[0]), *options)
        if done.returncode != 0:
            raise LabError(f"{self.name}: lab/vm up", "failed", f"see {self.log()}", tail(self.log()))

    def known_gids(self):
        """How many of each host it has heard of, its own too."""
        status = json.loads(self.paravane("cluster", "status", "--formatter=json").stdout)
        return {host["name"]: host["gids"] for host in status["hosts"]}

    def keep_log_alone(self):
        """Of what is in the folder, once all has ended."""
        for name in os.listdir(self.folder) if os.path.isdir(self.folder) else ():
            path = os.path.join(self.folder, name)
            if path != self.log():
                shutil.rmtree(path) if os.path.isdir(path) else os.unlink(path)

    def kill(self):
        """The daemon, as a fault would: neither of its processes gets to say anything to anybody."""
        for pid in processes.children(processes.recall(self.pid_file()), "paravaned"):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        processes.kill(self.pid_file())

    def remove(self):
        self.lab("down", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        with contextlib.suppress(LabError):
            self.stop()
        # What somebody has started by hand.
        for pid in (processes.run("ip", "netns", "pids", self.space, check=False) or "").split():
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(pid), signal.SIGKILL)
        processes.run("ip", "netns", "delete", self.space, check=False)
        if self.disk:
            self.disk.unmount()
