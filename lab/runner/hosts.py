"""Hosts of a cluster on one machine, joined by veth through a bridge, and a distributed switch whose
uplinks are joined by another. lab/cluster uses them by hand, tests by their rig.

With K VMs to a host, VM 1 to K are on h1, the next K on h2, and so on.
"""

import contextlib
import hashlib
import json
import os
import shutil
import sys
import time
from concurrent.futures import ThreadPoolExecutor

from . import processes
from .bridge import Bridge
from .errors import LabError
from .host import PORT_GROUP, UPLINK, Host
from .places import tail

SWITCH = "lan"
KNOWN_SECONDS = 30
LAST_HOST = 8


class Hosts:
    """All of them. What is running is remembered in the folder."""

    def __init__(self, folder, paravane, others=None, channel=None):
        """`others`: by a host's number, its own command line tool; paravaned is beside it. `channel`: likewise, more of [channel]."""
        self.folder = os.path.realpath(folder)
        self.paravane_path, self.others, self.channel = paravane, others or {}, channel or {}
        self.digest = "pvc-" + hashlib.sha256(self.folder.encode()).hexdigest()[:6]
        self.wire, self.ethernet = Bridge(f"{self.digest}-wire"), Bridge(f"{self.digest}-lan")
        self.vms_per_host, self.encryption, self.disk_mib, self.hosts = 1, "on", 0, []

    def program(self, name, host):
        return os.path.join(os.path.dirname(self.others.get(host, self.paravane_path)), name)

    def memory(self):
        return os.path.join(self.folder, "cluster.json")

    def remembered(self):
        """True: there is a cluster here, and we are it now."""
        try:
            with open(self.memory(), encoding="utf-8") as file:
                kept = json.load(file)
        except OSError:
            return False
        self.vms_per_host, self.encryption, self.disk_mib = kept["vms_per_host"], kept["encryption"], kept.get("disk_mib", 0)
        self.hosts = [Host(self, number) for number in range(1, kept["hosts"] + 1)]
        return True

    def require(self):
        if not self.remembered():
            raise LabError("lab/cluster", "nothing runs here", "lab/cluster up 2")
        return self

    def refuse_second(self):
        """Before anything is made: what runs there is not to be ended for it."""
        if self.remembered():
            raise LabError(self.folder, "a cluster runs there already", "lab/cluster down")

    def add(self, count, vms_per_host=1, encryption="on", disk_mib=0, prepare=None, plug=None, uplink=UPLINK, mtu=1500):
        """Namespaces, daemons, the cluster and its switch; no VMs yet. `disk_mib`: of a disk of its own for each
        daemon's state; `prepare`: is called with each host before its daemon starts; `plug`: with all of them once they are a
        cluster, before the switch is made, whose `uplink` and `mtu` may be others than the lab's."""
        self.refuse_second()
        self.vms_per_host, self.encryption, self.disk_mib = vms_per_host, encryption, disk_mib
        self.hosts = [Host(self, number) for number in range(1, count + 1)]
        os.makedirs(self.folder, exist_ok=True)
        os.chmod(self.folder, 0o755)
        with open(self.memory(), "w", encoding="utf-8") as file:
            json.dump({"hosts": count, "vms_per_host": vms_per_host, "encryption": encryption, "disk_mib": disk_mib}, file)
        self.wire.add()
        self.ethernet.add()
        for host in self.hosts:
            host.add()
            if prepare:
                prepare(host)
            host.start()
            host.open_channel()
        self.join_all()
        if plug:
            plug(self.hosts)
        self.make_switch(uplink, mtu)

    def join_all(self):
        first = self.hosts[0]
        first.paravane("cluster", "init", "--name", first.name)
        for host in self.hosts[1:]:
            token = os.path.join(host.folder, "token")
            with open(token, "w", encoding="ascii", opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
                file.write(first.paravane("cluster", "token", host.name).stdout)
            host.paravane("cluster", "join", "--token-file", token)
            os.unlink(token)

    def make_switch(self, uplink, mtu):
        """The cluster's: all hosts have it from here on."""
        first = self.hosts[0]
        first.paravane("vds", "create", SWITCH, "--mtu", str(mtu))
        for host in self.hosts:
            first.paravane("vds", "add-host", SWITCH, host.name, "--uplink", uplink)
        first.paravane("portgroup", "create", PORT_GROUP, "--vds", SWITCH)
        for host in self.hosts[1:]:
            self.wait_for_port_group(host)

    @staticmethod
    def wait_for_port_group(host):
        limit = time.monotonic() + KNOWN_SECONDS
        while PORT_GROUP not in host.paravane("portgroup", "list", check=False).stdout:
            if time.monotonic() > limit:
                raise LabError(host.name, f"has not heard of the port group after {KNOWN_SECONDS} s",
                               f"see {host.log()}", tail(host.log()))
            time.sleep(0.1)

    def up(self, options=(), adapters=None):
        """The VMs. Returns when every host knows where all of them are. `options`: lab/vm up's;
        `adapters`: by a VM's number what `paravane vm add` is told beside its name."""
        with ThreadPoolExecutor() as each:
            for _ in each.map(lambda host: host.up(options, adapters or {}), self.hosts):
                pass
        self.wait_known()

    def wait_known(self):
        """Until every host knows where all VMs are, by their MAC and their IPv4 address."""
        limit = time.monotonic() + KNOWN_SECONDS
        while any(min(host.known_gids().values(), default=0) < 2 * self.vms_per_host for host in self.hosts):
            if time.monotonic() > limit:
                raise LabError("the cluster", f"does not know all VMs after {KNOWN_SECONDS} s",
                               "see the daemons' logs", tail(self.hosts[0].log()))
            time.sleep(0.2)

    def host_of(self, vm):
        for host in self.hosts:
            if vm in host.vms():
                return host
        raise LabError(f"vm{vm}", "there is none", f"VMs are 1 to {len(self.hosts) * self.vms_per_host}")

    def remove(self, keep_logs=False):
        with ThreadPoolExecutor() as each:
            for _ in each.map(lambda host: host.remove(), self.hosts):
                pass
        self.ethernet.remove()
        self.wire.remove()
        if not keep_logs:
            shutil.rmtree(self.folder, ignore_errors=True)
            return
        for host in self.hosts:
            host.keep_log_alone()
        with contextlib.suppress(OSError):
            os.unlink(self.memory())

    def show(self):
        for host in self.hosts:
            state = "runs" if processes.recall(host.pid_file()) else "ended"
            print(f"{host.name}  {host.address}  daemon {state}  VMs {', '.join(f'vm{vm}' for vm in host.vms())}  "
                  f"api {host.api}")
        sys.stdout.flush()
