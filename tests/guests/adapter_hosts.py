"""AdapterHosts: guests that play hosts of a cluster. Each has an RDMA adapter, which is Linux's rdma_rxe on its NIC, and a
paravaned with a VM that is none: a program plays its driver (programs/fake_endpoint.cc). What they run is of this machine
(host_programs.py); h1 has the cluster's authority and its etcd."""
import json
import pathlib
import re
import shutil
import tempfile

import host_programs
from cable_capture import CableCapture
from guests import BUILD, Failed, Guests, make_overlay, wait_for
from host_programs import FOLDER

DEVICE, IWARP = "rxe0", "siw0"
NOBODY = 65534
CONFIG = "/etc/paravane/paravaned.toml"
LOG = "/var/log/paravaned.log"
SOCKETS = "/run/paravane/vm"
SWITCH, PORT_GROUP = "lan", "rdma"
NO_RESPONSE = 3  # paravane's
TRIES = 3  # where a machine that has no time for its guests may be too slow
REQUEST_FAILED = 3  # paravane-tally's

# `tcpdump -ddd udp dst port 4791`, of IPv4: code, jumps if true and false, constant.
ROCE_PACKETS = ("9,40 0 0 12,21 0 6 2048,48 0 0 23,21 0 4 17,177 0 0 14,72 0 0 16,21 0 1 4791,"
                "6 0 0 4294967295,6 0 0 0")

REMOVE_ADAPTER = f"rdma link delete {DEVICE} >/dev/null 2>&1 &"
WAIT_REMOVED = "i=0; while [ -e /dev/infiniband/uverbs0 ]; do i=$((i+1)); [ $i -lt 1000 ] || exit 1; sleep 0.02; done"

SETTINGS = """[host]
name = "{name}"
[sandbox]
user = "nobody"
[cluster]
address = "{address}"
etcd_program = "{folder}/etcd"
[channel]
encryption = "{encryption}"
{channel}
{more}
"""
FOLDERS = f"for one in /run/paravane {SOCKETS} /var/lib/paravane; do mkdir -p $one; chown {NOBODY}:{NOBODY} $one; done\n"
START = f"""mkdir -p /var/log
{FOLDER}/paravaned --config {CONFIG} >>{LOG} 2>&1 </dev/null & echo $! >/run/paravaned.pid
i=0; until {FOLDER}/paravane status >/dev/null 2>&1; do i=$((i+1)); [ $i -lt 150 ] || {{ cat {LOG}; exit 1; }}; sleep 0.2; done
"""
STOP = f"""kill $(cat /run/paravaned.pid)
i=0; while kill -0 $(cat /run/paravaned.pid) 2>/dev/null; do i=$((i+1)); [ $i -lt 150 ] || {{ cat {LOG}; exit 1; }}; sleep 0.2; done
"""


class AdapterHosts(Guests):
    """Hosts h1, h2, ... at 10.77.0.1, 10.77.0.2, ...; host I has the VM vmI. `nic`: the adapter's; eth1 is one of its own, so
    that it may fail alone, at 10.77.1.I. `detour`: the adapter is on eth0, which has the host's address, and all but RoCE goes
    over eth1, so that eth0 may fail while TCP works."""

    def __init__(self, count=2, nic="eth0", detour=False):
        self.numbers, self.nic, self.detour = range(1, count + 1), nic, detour
        folder = pathlib.Path(tempfile.mkdtemp(prefix="paravane-test-"))
        super().__init__(folder, make_overlay(folder))
        (self.folder / "paravaned.log").touch()  # this machine has no daemon
        programs = host_programs.folder_in(self.overlay)
        for program in (*(BUILD / "guest" / "host").iterdir(), BUILD / "bin" / "paravaned", BUILD / "bin" / "paravane",
                        pathlib.Path("/usr/bin/etcd")):
            host_programs.put_program(program, programs)
        host_programs.put_providers(self.overlay, "rxe", "siw")
        host_programs.put_users(self.overlay, nobody=NOBODY)

    def boot(self, *options):
        """With the rules for files that the engine's sandbox has, which guests are without otherwise."""
        self.up(len(self.numbers), "--no-rdma", "--adapters", "2" if self.detour or self.nic != "eth0" else "1", "--memory", "1024",
                "--layer", "switch", "--layer", "traffic", "--append", "lsm=landlock", *options)
        for host in self.numbers:
            self.shell(host, "modprobe -a rdma_rxe bridge tun 8021q")
            if self.detour:
                self.lead_around(host)
            self.add_adapter(host)

    def lead_around(self, host):
        """To the other hosts over eth1. The adapter's packets keep to its NIC (rxe_find_route4() of Linux's rdma_rxe)."""
        self.keep_address(host)
        self.shell(host, "".join(f"ip route add {self.address_of(peer)}/32 via 10.77.1.{peer} dev eth1\n"
                                 for peer in self.numbers if peer != host))

    def keep_address(self, host):
        """A NIC that goes takes its addresses along, so another interface has the host's too. It has been made after the NIC:
        the daemon takes an address for that of the interface which Linux lists first, which is the oldest."""
        self.shell(host, f"ip link delete keep 2>/dev/null; ip link add keep type bridge && ip link set keep up && "
                         f"ip address add {self.address_of(host)}/32 dev keep")

    def program(self, host, name, *words, timeout=120):
        """Runs one of this machine's in a host; returns what it says, and fails unless it succeeds."""
        return self.guest(host, str(FOLDER / name), *words, timeout=timeout)

    # ---- adapters ----

    def add_adapter(self, host):
        """When the one that was removed is gone."""
        self.shell(host, f"i=0; until rdma link add {DEVICE} type rxe netdev {self.nic}; do i=$((i+1)); [ $i -lt 100 ] || exit 1; "
                         "sleep 0.2; done")

    def remove_adapter(self, host):
        """Nobody finds it any more. It goes on for whoever has it open, and is gone when nobody has."""
        self.shell(host, REMOVE_ADAPTER)
        wait_for("the adapter is not listed", lambda: DEVICE not in self.guest(host, "rdma", "link", "show"))

    def add_iwarp(self, host):
        """Beside the other, or in its place: Linux's siw, whose queue pairs only rdma_cm connects."""
        self.shell(host, f"modprobe siw && rdma link add {IWARP} type siw netdev {self.nic}")

    def driver_of(self, host):
        """(the place of the adapter's NIC on PCI, the folder of its driver)"""
        device = f"/sys/class/net/{self.nic}/device"
        return self.shell(host, f"basename $(readlink -f {device}); readlink -f {device}/driver").split()

    def bind(self, host, place, driver):
        """A NIC that has no driver. It gets the address and the adapter that it had."""
        self.shell(host, f"echo {place} >{driver}/bind && ip address add {self.address_of(host)}/24 dev {self.nic} && "
                         f"ip link set {self.nic} up")
        self.keep_address(host)
        self.add_adapter(host)

    def set_link(self, host, up):
        """Of the adapter's NIC: its port is active or not."""
        self.guest(host, "ip", "link", "set", self.nic, "up" if up else "down")

    def cut_adapter(self, host):
        """RoCE's packets do not reach it any more: they go to an interface that is down."""
        self.shell(host, "modprobe -a sch_ingress cls_bpf act_mirred veth; ip link add sink type veth peer name nowhere; "
                         f"tc qdisc add dev {self.nic} clsact && tc filter add dev {self.nic} ingress protocol ip bpf "
                         f"bytecode '{ROCE_PACKETS}' action mirred egress redirect dev sink")

    def mend_adapter(self, host):
        self.shell(host, f"tc qdisc del dev {self.nic} clsact; ip link del sink")

    def captured(self, host):
        """(what passes from now on between a host's eth0 and the cable, the MAC address of that NIC)"""
        cable = CableCapture(self.lab("netns").strip(), f"tap{host}")
        return cable, self.guest(host, "cat", "/sys/class/net/eth0/address").strip()

    def packets(self, host):
        """That its adapter has received."""
        return int(self.guest(host, "cat", f"/sys/class/infiniband/{DEVICE}/ports/1/hw_counters/rcvd_pkts"))

    def resources(self, host, kind):
        """Of all adapters, as root sees them: `rdma resource show`, of "mr" or "qp", with every detail."""
        return json.loads(self.guest(host, "rdma", "-j", "-d", "-d", "resource", "show", kind))

    def keys(self, host):
        """(remote, local) keys of all memory that is registered, as root sees them. 0 is none."""
        regions = self.resources(host, "mr")
        return tuple(sorted({int(region[kind], 16) for region in regions}) for kind in ("rkey", "lkey"))

    def used_by(self, host):
        """What the daemon says its adapter is used for."""
        return next(row["UsedBy"] for row in self.ask(host, "rdma", "device", "list") if row["Description"] == DEVICE)

    # ---- daemons ----

    def configure(self, host, encryption="on", channel="", more=""):
        """The daemon's file, which it reads when it starts. `channel`: more of this section; `more`: other sections."""
        text = SETTINGS.format(name=f"h{host}", address=self.address_of(host), folder=FOLDER, encryption=encryption, channel=channel,
                               more=more)
        self.shell(host, f"mkdir -p $(dirname {CONFIG}); cat >{CONFIG} <<'END'\n{text}END\n")

    def start_daemon(self, host, locked_kib="unlimited"):
        """`locked_kib`: the memory that it may lock."""
        self.shell(host, f"{FOLDERS}ulimit -l {locked_kib}\n{START}")

    def stop_daemon(self, host):
        self.shell(host, STOP)

    def freeze_thread(self, host, name):
        """A thread of the daemon gets no processor until thaw_thread()."""
        self.shell(host, "mkdir -p /run/cgroup; mountpoint -q /run/cgroup || mount -t cgroup2 none /run/cgroup; cd /run/cgroup\n"
                         "mkdir -p frozen; [ \"$(cat frozen/cgroup.type)\" = threaded ] || echo threaded >frozen/cgroup.type\n"
                         "thread=$(grep -lx " + name + " /proc/[0-9]*/task/[0-9]*/comm | head -1 | cut -d/ -f5)\n"
                         "echo $thread >frozen/cgroup.threads && echo 1 >frozen/cgroup.freeze\n"
                         "i=0; until grep -q 'frozen 1' frozen/cgroup.events; do i=$((i+1)); [ $i -lt 50 ] || exit 1; sleep 0.1; done")

    def thaw_thread(self, host):
        self.shell(host, "echo 0 >/run/cgroup/frozen/cgroup.freeze")

    def start_again(self, host, locked_kib="unlimited", **settings):
        """With other settings, of configure(). A VM that was there ends, as QEMU would."""
        self.stop_daemon(host)
        self.configure(host, **settings)
        self.start_daemon(host, locked_kib)

    def log_of(self, host):
        return self.guest(host, "cat", LOG)

    def paravane(self, host, *words):
        return self.program(host, "paravane", *words)

    def ask(self, host, *words):
        return json.loads(self.paravane(host, "--formatter=json", *words))

    # ---- the cluster ----

    def make_cluster(self, **settings):
        """With a port group that all hosts have, and a VM on each host. `settings`: of configure()."""
        for host in self.numbers:
            self.configure(host, **settings)
            self.start_daemon(host)
            # As an operator opens the channel: at the management network's interface.
            self.paravane(host, "system", "settings", "advanced", "set", "-o", "/Net/PVRDMAVmknic", "-s", "vmk0")
            self.paravane(host, "network", "firewall", "ruleset", "set", "-e", "true", "-r", "pvrdma")
        self.init_cluster()
        for host in self.numbers[1:]:
            self.join_cluster(host)
        self.paravane(1, "vds", "create", SWITCH)
        for host in self.numbers:
            self.paravane(1, "vds", "add-host", SWITCH, f"h{host}")
        self.paravane(1, "portgroup", "create", PORT_GROUP, "--vds", SWITCH)
        for host in self.numbers:
            wait_for(f"h{host} has heard of the port group", lambda host=host: PORT_GROUP in self.paravane(host, "portgroup", "list"), 60)
            self.add_vm(host, host)
        self.wait_known()

    def add_vm(self, host, number):
        self.paravane(host, "vm", "add", f"vm{number}", "--mac", mac_of(number), "--port-group", PORT_GROUP)

    def init_cluster(self):
        """Where etcd may take longer than the command has patience, or the daemon: then there is no cluster."""
        for tries_left in reversed(range(TRIES)):
            code, said = self.spawn(1, str(FOLDER / "paravane"), "cluster", "init", "--name", "h1").finish(90)
            if code in (0, NO_RESPONSE):
                break
            if "Timeout was reached" not in said or tries_left == 0:
                raise Failed(f"cluster init: exit status {code}\n{said}\n{self.log_of(1)}")
        wait_for("h1 has a cluster", lambda: self.ask(1, "cluster", "status").get("cluster"), 90, 0.5)

    def join_cluster(self, host):
        """Once more where the authority took longer than the host has patience, and may have accepted it."""
        for tries_left in reversed(range(TRIES)):
            token = self.paravane(1, "cluster", "token", f"h{host}").strip()
            code, said = self.spawn(host, "sh", "-c", f"umask 077; echo '{token}' >/run/token; "
                                    f"{FOLDER}/paravane cluster join --token-file /run/token").finish(90)
            if code == 0:
                return
            if "too slow" not in said or tries_left == 0:
                raise Failed(f"cluster join: exit status {code}\n{said}\n{self.log_of(host)}")
            self.spawn(1, str(FOLDER / "paravane"), "cluster", "remove", f"h{host}").finish(90)

    def channels(self, host):
        """To the others: their state, and why there is none."""
        return {one["name"]: (one["channel"], one["channel_problem"])
                for one in self.ask(host, "cluster", "status").get("hosts", []) if one["name"] != f"h{host}"}

    def wait_known(self):
        """Until each host has its channels, and what etcd knows: an etcd that was started again takes its time."""
        def is_whole(host):
            channels = self.channels(host).values()
            return (self.ask(host, "cluster", "status")["connected"] and len(channels) == len(self.numbers) - 1
                    and all(state != "none" for state, _ in channels))
        for host in self.numbers:
            wait_for(f"h{host} has its channels and the inventory", lambda host=host: is_whole(host), 90, 0.5)

    def paths(self, host):
        """Of the connections of a host's VM: (path, why)."""
        return [(row["path"], row["why"]) for row in self.ask(host, "path", "list")]

    def wait_path(self, host, path, timeout=30):
        """Until all of them have this path; returns why."""
        paths = []

        def is_it():
            paths[:] = self.paths(host)
            return paths and all(one == path for one, _ in paths)
        try:
            wait_for(f"vm{host} has the path {path}", is_it, timeout, 0.2)
        except Failed as late:
            raise Failed(f"{late}, but {paths}\n{self.told()}") from None
        return [why for _, why in paths]

    def seconds_to_tcp(self, host, act):
        """Does that in a host, by its shell, while its VM's connections go over adapters; returns how long Linux takes for it,
        and after how long from then on they go over TCP. A look takes a tenth of a second, and a second on a machine that has
        no time."""
        said = self.shell(host, f"""began=$(cut -d' ' -f1 /proc/uptime)
{act}
gone=$(cut -d' ' -f1 /proc/uptime)
i=0; until {FOLDER}/paravane --formatter=json path list | tr -d ' \\n' | grep -q '"path":"tcp"'; do
i=$((i+1)); [ $i -lt 300 ] || exit 1; done
echo $began $gone $(cut -d' ' -f1 /proc/uptime)""")
        began, gone, ended = (float(time) for time in said.split()[-3:])
        return round(gone - began, 2), round(ended - gone, 2)

    def wait_why(self, host, why, timeout=30):
        """Until all connections of a host's VM have their path for this reason."""
        try:
            wait_for(f"vm{host} has a path: {why}", lambda: {one for _, one in self.paths(host)} == {why}, timeout, 0.2)
        except Failed as late:
            raise Failed(f"{late}, but {self.paths(host)}") from None

    def trunk_events(self, host):
        """(type, peer, adapter, reason)"""
        return [(one["type"], *(one["fields"].get(key, "") for key in ("host", "adapter", "reason")))
                for one in self.ask(host, "events") if one["type"].startswith("hca.trunk.")]

    def trunk_counters(self, host, peer):
        """Of the channel over adapters to that host."""
        groups = self.ask(host, "stats")["daemon"]
        return {one["name"]: one["value"] for group in groups if group["name"] == f"trunk_{peer}" for one in group["counters"]}

    def trunk_growth(self, host, peer):
        """Returns a function that says by how much each of these counters has grown since. They begin at 0 again with a new
        channel, which is made when an adapter's peer is silent for half a second: any machine may be, that others keep busy."""
        last, grown = self.trunk_counters(host, peer), {}

        def look():
            now = self.trunk_counters(host, peer)
            for name, value in now.items():
                grown[name] = grown.get(name, 0) + (value - last.get(name, 0) if value >= last.get(name, 0) else value)
            last.update(now)
            return dict(grown)
        return look

    def told(self):
        """What the daemons said last, for a test that failed."""
        return "".join(f"h{host}:\n{self.paravane(host, 'events')[-1500:]}\n{self.log_of(host)[-1500:]}" for host in self.numbers)

    # ---- VMs ----

    def check_vm(self, host):
        """What `vm check` says of a host's VM, by the check: (verdict, found, cure). It has no QEMU, and so fails."""
        _, said = self.spawn(host, str(FOLDER / "paravane"), "--formatter=json", "vm", "check", f"vm{host}").finish(120)
        return {row["check"]: (row["verdict"], row["found"], row["cure"]) for row in json.loads(said)}

    def spawn_vm(self, host, name, *words, timeout=300, number=None):
        """Starts a program that is the VM of a host, or the one with that number."""
        number = number or host
        return self.spawn(host, "env", f"PARAVANE_VM_SOCKET={SOCKETS}/vm{number}.sock", f"PARAVANE_VM_MAC={mac_of(number)}",
                          str(FOLDER / name), *words, timeout=timeout)

    def exchange(self, server, client, name, *words, port=19000, timeout=300):
        """A program in both hosts, which is the VMs if it has any. Both must succeed; returns what they said."""
        one = self.spawn_vm(server, name, *words, str(port), timeout=timeout)
        other = self.spawn_vm(client, name, *words, str(port), self.address_of(server), timeout=timeout)
        try:
            code, said = other.finish(timeout + 10, peer=one)
            if code != 0:
                raise Failed(f"{other.words}: exit status {code}\n{said}\n{self.told()}")
            return one.expect_success(60), said
        finally:
            other.end()
            one.end()

    def close(self):
        self.lab("down")
        shutil.rmtree(self.folder, ignore_errors=True)


def mac_of(number):
    return f"02:50:56:00:00:{number:02x}"


class Traffic:
    """Requests between two VMs that count: what is lost or done twice shows (programs/tally.cc). They go on until end()."""

    ports = iter(range(19100, 20000))

    def __init__(self, rig, server=1, client=2, seconds=280, timeout=19, retries=7, numbers=(None, None), server_words=()):
        """`numbers`: of the VMs, if they are not those of the hosts. `timeout`, `retries`: of the queue pairs, as
        ibv_modify_qp() has them. All tries together, 17 s: so long may it take on a machine without time until a host has
        heard from etcd of the other's VM, which has just started. `server_words`: more, of the end that is acted upon."""
        port, words = str(next(Traffic.ports)), ["--timeout", str(timeout), "--retries", str(retries)]
        self.rig, self.client_host, self.client_vm = rig, client, f"vm{numbers[1] or client}"
        self.server = rig.spawn_vm(server, "paravane-vm-tally", *words, *server_words, port, number=numbers[0])
        self.client = rig.spawn_vm(client, "paravane-vm-tally", *words, "--seconds", str(seconds), port, rig.address_of(server),
                                   number=numbers[1])

    def has_done(self):
        """Requests of the acting VM so far."""
        vms = self.rig.ask(self.client_host, "stats", "--vm", self.client_vm)["vms"]
        counters = {one["name"]: one["value"] for vm in vms for group in vm["groups"] for one in group["counters"]}
        return counters["sends"]

    def goes_on(self):
        return self.client.process.poll() is None

    def end(self, timeout=120):
        """What both ends have counted. Whatever happened, nothing may be lost or done twice; `failed` says what became of
        a request that was given up, and after how many seconds."""
        if self.goes_on():
            self.rig.shell(self.client_host, "pkill -INT -f '[p]aravane-vm-tally' || true")  # it may have ended
        code, said = self.client.finish(timeout)
        other, other_said = self.server.finish(60)
        text = f"{self.client.words}:\n{said}\n{self.server.words}:\n{other_said}"
        if code not in (0, REQUEST_FAILED) or other != code:
            raise Failed(f"exit status {code} and {other}\n{text}")
        rounds, longest = re.search(r"rounds: (\d+), the longest took ([\d.]+) s", said).groups()
        additions, swaps, messages = re.search(r"additions: (\d+), swaps: (\d+), messages: (\d+)", other_said).groups()
        failed = re.search(r"failed: (.*) after ([\d.]+) s", said)
        mapped_anew = re.search(r"mapped anew: (\d+)", other_said)
        return {"rounds": int(rounds), "mapped_anew": int(mapped_anew[1]) if mapped_anew else 0, "longest_s": float(longest), "additions": int(additions), "swaps": int(swaps),
                "messages": int(messages), "failed": (failed[1], float(failed[2])) if failed else None}

    def cut_short(self):
        """What ended before, and that nobody has read, is printed."""
        for end in self.client, self.server:
            if end.process.poll() is not None and not end.process.stdout.closed:
                print(f"{end.words}: exit status {end.process.returncode}\n{end.process.stdout.read()}", flush=True)
            end.end()
