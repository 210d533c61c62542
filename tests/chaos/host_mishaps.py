"""What can happen to a host: to its cable, its processes, its disk and its clock."""
import os
import re
import signal
import time

from agreement import wait_whole
from clock import DAY_S
from mishap import mishap
from rig import Failed, wait_for
from runner import processes
from traffic import talk
from vm_mishaps import end_vm, start_vm

MENDED_PORT = 18901
# Hosts that hold a lease keep it for 15 s without a word to etcd (inventory/member.h); a clock may be wrong for longer.
CLOCK_STEPS_S = [200 * DAY_S, -200 * DAY_S, 70 * DAY_S, -DAY_S, 3600, -3600, 360, -360]
WRONG_FOR_S = 1, 20
FULL_FOR_S = 0.5, 6
NO_ROOM = re.compile("no free disk space")
NO_ETCD = re.compile("the cluster's inventory cannot be reached")  # etcd has its data on that disk too
TRIES = 50


@mishap(weight=2)
def cut_cable(rig, number, chance):
    """its cable is pulled for a moment"""
    rig.set_link(number, up=False)
    time.sleep(chance.uniform(0.1, 3))
    rig.set_link(number, up=True)
    began = time.monotonic()
    mine = rig.lab.hosts[number - 1].vms()[0]
    for other in rig.lab.hosts:
        if other.number != number:
            wait_for(f"h{number} and {other.name} talk again", lambda vm=other.vms()[-1]: talk(rig, vm, mine, MENDED_PORT, 8).good)
    return time.monotonic() - began


@mishap(weight=1, ends_daemon=True)
def kill_daemon(rig, number, _chance):
    """both processes of its daemon are killed, and it is started again, and then its VMs"""
    host = rig.lab.hosts[number - 1]
    host.kill()
    start_again(rig, host)


@mishap(weight=0.7, ends_daemon=True)
def kill_engine(rig, number, _chance):
    """its engine alone is killed, and another one serves; the VMs are started again, since they have lost their objects"""
    host = rig.lab.hosts[number - 1]
    keeper = processes.recall(host.pid_file())
    killed = processes.children(keeper, "paravaned")
    for engine in killed:
        os.kill(engine, signal.SIGKILL)
    wait_for(f"another engine of {host.name}", lambda: set(processes.children(keeper, "paravaned")) - set(killed), 20)
    wait_for(f"{host.name} to serve", lambda: host.paravane("status", check=False).returncode == 0, 20)
    processes.kill(host.pid_file())
    start_again(rig, host)


@mishap(weight=0.7, ends_daemon=True)
def kill_keeper(rig, number, _chance):
    """its keeper alone is killed; the daemon is started again, and then its VMs"""
    host = rig.lab.hosts[number - 1]
    engines = processes.children(processes.recall(host.pid_file()), "paravaned")
    processes.kill(host.pid_file())
    wait_for(f"the engine of {host.name} ends", lambda: not any(processes.start_time(pid) for pid in engines), 20)
    start_again(rig, host)


def start_again(rig, host):
    """As an operator would: the VMs' devices ended with the daemon."""
    host.start()
    for vm in host.vms():
        end_vm(rig, vm)
    start_vm(rig, host.vms()[0], len(host.vms()))


@mishap(weight=2)
def fill_disk(rig, number, chance):
    """its disk is full for a while"""
    host = rig.lab.hosts[number - 1]
    names = [f"full{one}" for one in range(TRIES)]
    added = []
    try:
        refusal = refused_for_room(host, names, added)
        time.sleep(chance.uniform(*FULL_FOR_S))
    finally:
        host.disk.free()
    began = time.monotonic()
    known = NO_ROOM, NO_ETCD
    if not any(cause.search(refusal) for cause in (known if number == 1 else known[:1])):
        raise Failed(f"{host.name} says of a full disk: {refusal}")
    wait_for(f"{host.name} takes a VM again", lambda: host.paravane("vm", "add", "room", check=False).returncode == 0, 60, 0.3)
    wait_whole(rig)
    took = time.monotonic() - began
    there = [row for row in names if host.paravane("vm", "show", row, check=False).returncode == 0]
    if there != added:
        raise Failed(f"{host.name} has {there} of what was added while its disk was full: {added}")
    for name in [*added, "room"]:
        host.paravane("vm", "remove", name)
    return took


def refused_for_room(host, names, added):
    """Adds VMs until one is refused, and returns what is said of it. Something else may have freed a block meanwhile."""
    for name in names:
        host.disk.fill()
        done = host.paravane("vm", "add", name, check=False)
        if done.returncode != 0:
            return done.stderr
        added.append(name)
    raise Failed(f"{host.name} added {len(names)} VMs with a full disk")


@mishap(weight=2)
def step_clock(rig, number, chance):
    """its clock is wrong for a while"""
    clock = rig.clocks[number]
    clock.set(chance.choice(CLOCK_STEPS_S))
    time.sleep(chance.uniform(*WRONG_FOR_S))
    clock.set(0)
    return wait_whole(rig)


OF_UNLUCKY_HOSTS = [cut_cable, kill_daemon, kill_engine, kill_keeper]
# Of any host, since its VMs do not hear of it.
OF_ALL_HOSTS = [fill_disk, step_clock]
