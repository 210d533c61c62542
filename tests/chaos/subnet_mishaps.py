"""What can happen to a subnet: to its managers, its cables and ports, the daemons of its hosts, and at its doors.

Each takes (scene of hosts, number of the host, chance), and is over when all that it happened to is as before."""
import os
import random
import signal
import socket
import ssl
import struct
import subprocess
import threading
import time

from mishap import mishap

PATIENCE_S = 60
TAKEN_OVER_S = 60  # something else may happen at the same time
VLAN_20 = "vlan20=0x8014,ipoib,mtu=5 : ALL=full;\n"
CLUSTER_PORT = 28250
TRIES = 20


# ---- Managers ----

def wait_master(rig, number=None):
    """Until that host's manager is the master, or any."""
    rig.wait_for(lambda: (master := rig.master()) is not None and number in (None, master), f"h{number}'s manager to be the master", PATIENCE_S)


def manager_of(rig, chance):
    """A host that has one."""
    return rig.hosts[chance.choice(rig.managers) - 1]


@mishap(weight=3)
def kill_manager(rig, _number, chance):
    """a subnet manager is killed, and started again when another is the master"""
    host = manager_of(rig, chance)
    host.end_manager(signal.SIGKILL)
    rig.wait_for(lambda: rig.master() not in (None, host.number), "the other manager to be the master", TAKEN_OVER_S)
    host.start_manager()
    wait_master(rig, rig.managers[0])


@mishap(weight=2)
def stop_manager(rig, _number, chance):
    """a subnet manager is stopped, and started again at once"""
    host = manager_of(rig, chance)
    host.end_manager(signal.SIGTERM)
    time.sleep(chance.uniform(0, 2))
    host.start_manager()
    wait_master(rig, rig.managers[0])


@mishap(weight=2)
def hold_manager(rig, _number, chance):
    """a subnet manager is held for a while, and goes on as if it had not been"""
    host = manager_of(rig, chance)
    host.manager.send_signal(signal.SIGSTOP)
    try:
        time.sleep(chance.uniform(0.5, 10))
    finally:
        host.manager.send_signal(signal.SIGCONT)
    began = time.monotonic()
    wait_master(rig)
    rig.wait_well()
    return time.monotonic() - began


@mishap(weight=0.5)
def kill_both_managers(rig, _number, chance):
    """both subnet managers are killed, and started again after a while without any"""
    for number in rig.managers:
        rig.hosts[number - 1].end_manager(signal.SIGKILL)
    time.sleep(chance.uniform(0, 10))
    began = time.monotonic()
    for number in rig.managers:
        rig.hosts[number - 1].start_manager()
    wait_master(rig, rig.managers[0])
    return time.monotonic() - began


def set_partitions(rig, text):
    """Of all managers, which read them again."""
    for number in rig.managers:
        host = rig.hosts[number - 1]
        host.set_partitions(text)
        host.manager.send_signal(signal.SIGHUP)


@mishap(weight=1)
def add_partition(rig, _number, chance):
    """a partition is added to the managers' files, and taken out again"""
    set_partitions(rig, rig.partitions + VLAN_20)
    time.sleep(chance.uniform(1, 5))
    set_partitions(rig, rig.partitions)


@mishap(weight=1)
def take_partition(rig, _vlan, chance):
    """its partition is taken out of the managers' files, and put in again"""
    set_partitions(rig, "".join(line + "\n" for line in rig.partitions.splitlines() if not line.startswith("vlan10")))
    time.sleep(chance.uniform(1, 6))
    began = time.monotonic()
    set_partitions(rig, rig.partitions)
    rig.wait_well()
    return time.monotonic() - began


@mishap(weight=1)
def unname_manager(rig, number, chance):
    """it takes no subnet management from another host for a while"""
    host = rig.hosts[number - 1]
    other = f"h{chance.choice([one for one in rig.managers if one != number])}"
    host.cli("infiniband", "sm", "remove", other)
    time.sleep(chance.uniform(1, 8))
    began = time.monotonic()
    host.cli("infiniband", "sm", "add", other)
    wait_master(rig)
    return time.monotonic() - began


# ---- Cables and ports ----

@mishap(weight=3)
def cut_cable(rig, number, chance):
    """its cables are out for a while"""
    rig.wire.cut(f"h{number}")
    time.sleep(chance.choice([chance.uniform(0.1, 2), chance.uniform(3, 10)]))
    rig.wire.mend(f"h{number}")
    began = time.monotonic()
    rig.wait_well()
    return time.monotonic() - began


def set_port(rig, host, port, what, asker):
    """Of its switch, by one of its own ports. It may be a moment in which the subnet has no LIDs or keys yet."""
    def is_done():
        lid = host.fabric()["switch_lid"]
        return lid and host.tool("ibportstate", "-C", "mlx4_0", "-P", asker, lid, port, what, check=False).returncode == 0
    rig.wait_for(is_done, f"port {port} of {host.name} to be {what}d", PATIENCE_S)


def port_to(rig, host, peer):
    return next(link["port"] for link in host.fabric()["links"] if link["peer"] == peer)


@mishap(weight=2)
def disable_port(rig, number, chance):
    """the switch's port to its adapter is disabled for a while"""
    host = rig.hosts[number - 1]
    port = port_to(rig, host, "mlx4_0 port 1")
    set_port(rig, host, port, "disable", 2)
    time.sleep(chance.uniform(0.1, 5))
    began = time.monotonic()
    set_port(rig, host, port, "enable", 2)
    rig.wait_well()
    return time.monotonic() - began


@mishap(weight=2)
def disable_cable_port(rig, number, chance):
    """the switch's port to one of its cables is disabled for a while"""
    host = rig.hosts[number - 1]
    other = chance.choice([one for one in rig.hosts if one is not host])
    port = port_to(rig, host, f"host {other.name}")
    set_port(rig, host, port, "disable", 2)
    time.sleep(chance.uniform(0.1, 5))
    began = time.monotonic()
    set_port(rig, host, port, "enable", 2)
    rig.wait_well()
    return time.monotonic() - began


# ---- Hosts ----

@mishap(weight=2)
def restart_infiniband(rig, number, _chance):
    """its InfiniBand adapters are restarted"""
    rig.hosts[number - 1].cli("infiniband", "restart")


@mishap(weight=1)
def take_uplink(rig, number, chance):
    """its uplinks are taken from the switch, and given again"""
    host, first = rig.hosts[number - 1], rig.hosts[0]
    before = rig.uplinks_of(host)
    first.cli("vds", "uplink", "lan", "none", "--host", host.name)
    time.sleep(chance.uniform(0.1, 3))
    began = time.monotonic()
    first.cli("vds", "uplink", "lan", *before, "--host", host.name)
    rig.wait_well()
    return time.monotonic() - began


@mishap(weight=1.5)
def add_adapter(rig, number, chance):
    """an adapter is added, and removed again"""
    host = rig.hosts[number - 1]
    host.cli("infiniband", "adapter", "add", "mlx4_1", "--device", chance.choice(["MT25204", "MT25208", "MT26428"]))
    time.sleep(chance.uniform(0, 4))
    rig.wait_for(host.are_active, f"the new ports of {host.name} to be Active", PATIENCE_S)
    host.cli("infiniband", "adapter", "remove", "mlx4_1")


@mishap(weight=0.5)
def remove_adapter_in_use(rig, number, _chance):
    """its adapter is to be removed, which is refused while a switch uses it"""
    host = rig.hosts[number - 1]
    complaint = host.refused("infiniband", "adapter", "remove", "mlx4_0")
    if "mlx4_0" not in complaint:
        raise AssertionError(complaint)


@mishap(weight=1.5)
def capture(rig, number, chance):
    """a capture of its uplink's port begins, and ends or is killed"""
    host = rig.hosts[number - 1]
    process = subprocess.Popen([host.programs / "paravane", "--socket", host.api, "sniff", "--uplink", "vmnic32", "-w", host.folder / "chaos.pcapng",
                                "--seconds", "2"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        if chance.random() < 0.5:
            process.wait(PATIENCE_S)
        else:
            time.sleep(chance.uniform(0, 1))
    finally:
        process.kill()
        process.wait(PATIENCE_S)


# ---- Daemons ----

@mishap(weight=2, ends_daemon=True)
def kill_daemon(rig, number, chance):
    """all processes of its daemon are killed, and it is started again"""
    host = rig.hosts[number - 1]
    host.end(kill=True)
    time.sleep(chance.uniform(0, 3))
    host.start()


@mishap(weight=2, ends_daemon=True)
def kill_engine(rig, number, _chance):
    """its engine alone is killed, and another one serves"""
    host = rig.hosts[number - 1]
    killed = host.engine_pid()
    os.kill(killed, signal.SIGKILL)
    rig.wait_for(lambda: (now := host.children().get("paravaned")) and now != killed, f"another engine of {host.name}", PATIENCE_S)


@mishap(weight=2, ends_daemon=True)
def upgrade_daemon(rig, number, _chance):
    """its engine is replaced by a new one"""
    rig.hosts[number - 1].cli("daemon", "upgrade")


@mishap(weight=1, ends_daemon=True)
def restart_daemon(rig, number, _chance):
    """its daemon is stopped and started again, as its unit does"""
    host = rig.hosts[number - 1]
    host.end()
    host.start()


@mishap(weight=0.5)
def kill_etcd(rig, _number, _chance):
    """the cluster's etcd is killed"""
    killed = rig.hosts[0].children().get("etcd")
    if killed:
        os.kill(killed, signal.SIGKILL)
    rig.wait_for(lambda: rig.is_connected() and rig.hosts[0].children().get("etcd") not in (None, killed),
                 "the cluster to be whole", PATIENCE_S)


# ---- Doors ----

def hello(chance):
    return struct.pack(">HBB", 16, 1, 0) + struct.pack(">HHIQ", 1, chance.randrange(40), 0, chance.getrandbits(64))


def manners(chance):
    """What a hostile end of a cable says."""
    packet = chance.randbytes(chance.randrange(4168))
    return [chance.randbytes(65536),
            hello(chance) + chance.randbytes(65536),
            hello(chance) + b"".join(struct.pack(">HBB", len(packet), 0, chance.randrange(8)) + packet for _ in range(200)),
            hello(chance) + b"".join(struct.pack(">HBBB", 1, 3, 0, chance.randrange(4)) for _ in range(2000)),
            hello(chance) + hello(chance),
            struct.pack(">HBB", 65535, 0, 0),
            hello(chance)[:-3],
            b""]


def speak(host, server, member, says, seconds):
    """At the cable port of `server`, out of the namespace of `host`; with its certificate if it is to be a member."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.set_alpn_protocols(["paravane-cable/1"])
    if member:
        context.load_cert_chain(host.file("host.pem"))
    try:
        with host.entered():
            plain = socket.create_connection((server.address, CLUSTER_PORT), timeout=5)
        with context.wrap_socket(plain) as line:
            line.settimeout(0.2)
            line.sendall(says)
            end = time.monotonic() + seconds
            while time.monotonic() < end:
                try:
                    if not line.recv(65536):
                        break
                except TimeoutError:
                    continue
    except (OSError, ssl.SSLError):
        pass  # it is to be refused


@mishap(weight=1.5)
def strange_cable(rig, number, chance):
    """strangers without a certificate speak at its cable port"""
    host, server = rig.hosts[number % len(rig.hosts)], rig.hosts[number - 1]
    says = manners(random.Random(chance.random()))
    together([lambda text=text: speak(host, server, False, text, 0.5) for text in says * 4])


@mishap(weight=1.5)
def hostile_cable(rig, number, chance):
    """another host's line speaks nonsense at its cable port"""
    server, others = rig.hosts[number - 1], [one for one in rig.hosts if one is not rig.hosts[number - 1]]
    host = chance.choice(others)
    for says in chance.sample(manners(random.Random(chance.random())), 4):
        speak(host, server, True, says, chance.uniform(0.1, 2))


def question(chance):
    """For the umad door; often nearly right."""
    if chance.random() < 0.3:
        return chance.randbytes(chance.randrange(1, 300))
    name = chance.choice([b"mlx4_0", chance.randbytes(20)]).ljust(20, b"\0")[:20]
    return struct.pack("<II", 1, chance.randrange(12)) + name + struct.pack("<III", chance.randrange(5), chance.randrange(70), chance.randrange(40)) + \
        chance.randbytes(24)


def knock(path, chance):
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as line:
        line.settimeout(0.2)
        try:
            line.connect(str(path))
            for _ in range(chance.randrange(1, 60)):
                line.sendall(question(chance))
                _, descriptors, *_ = socket.recv_fds(line, 65536, 4)
                for descriptor in descriptors:
                    speak_mads(descriptor, chance)
        except OSError:
            pass


def speak_mads(descriptor, chance):
    """At a port that the door has opened: bytes without sense, that are no management which its switch would take."""
    with socket.socket(fileno=descriptor) as line:
        line.settimeout(0.05)
        for _ in range(20):
            mad = chance.randbytes(chance.choice([0, 24, 256, 256, 4096]))
            line.sendall((struct.pack("<IIIIII", chance.randrange(40), 0, chance.randrange(2000), chance.randrange(4), len(mad), 0) + chance.randbytes(44) +
                          mad)[:chance.choice([10, 68, 1 << 20])])


@mishap(weight=1.5)
def hostile_program(rig, number, chance):
    """programs speak nonsense at its umad door"""
    door = rig.hosts[number - 1].door
    together([lambda own=random.Random(chance.random()): knock(door, own) for _ in range(80)], at_a_time=20)


def together(acts, at_a_time=8):
    waiting = list(reversed(acts))

    def work():
        while True:
            try:
                act = waiting.pop()
            except IndexError:
                return
            act()
    threads = [threading.Thread(target=work, daemon=True) for _ in range(at_a_time)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_S)


OF_THE_SUBNET = [kill_manager, stop_manager, hold_manager, kill_both_managers, add_partition, kill_etcd]
OF_THE_VLAN = [take_partition]
OF_CABLES = [cut_cable, disable_cable_port, hostile_cable]
OF_HOSTS = [disable_port, restart_infiniband, take_uplink]
OF_DAEMONS = [kill_daemon, kill_engine, upgrade_daemon, restart_daemon]
# Nothing is touched by these.
OF_PEACE = [unname_manager, add_adapter, remove_adapter_in_use, capture, strange_cable, hostile_program]
MISHAPS = OF_THE_SUBNET + OF_THE_VLAN + OF_CABLES + OF_HOSTS + OF_DAEMONS + OF_PEACE
