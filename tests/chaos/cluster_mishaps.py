"""What can happen to the cluster's etcd, on the first host."""
import os
import pathlib
import shutil
import signal
import subprocess
import time

from agreement import wait_whole
from mishap import mishap
from rig import wait_for
from runner import processes

ENDED_S = 20


def etcd_of(host):
    found = processes.children(processes.recall(host.pid_file()), "etcd")
    return found[0] if found else None


def running_etcd(host):
    return wait_for("etcd runs", lambda: etcd_of(host), ENDED_S)


def data_of(host):
    return pathlib.Path(host.state) / "cluster" / "etcd"


def copy_of(host):
    return pathlib.Path(host.folder) / "etcd.copy"


def copy(source, target):
    subprocess.run(["cp", "-a", "--sparse=always", source, target], check=True, timeout=60)


def keep_copy(host):
    """As a backup of a running machine's disk has it, instead of the one before."""
    pid = running_etcd(host)
    shutil.rmtree(copy_of(host), ignore_errors=True)
    os.kill(pid, signal.SIGSTOP)
    try:
        copy(data_of(host), copy_of(host))
    finally:
        os.kill(pid, signal.SIGCONT)


def kill(host):
    """Returns when it has ended, and when that was; it is started again a second after its start at the earliest."""
    pid = running_etcd(host)
    ended = time.monotonic()
    os.kill(pid, signal.SIGKILL)
    wait_for("etcd to end", lambda: processes.start_time(pid) is None, ENDED_S, 0.01)
    return ended


@mishap(weight=0.7)
def kill_etcd(rig, number, _chance):
    """the cluster's etcd is killed"""
    return wait_whole(rig, kill(rig.lab.hosts[number - 1]))


@mishap(weight=1.5)
def put_back_etcd(rig, number, chance):
    """the cluster's etcd comes back from an older copy"""
    host = rig.lab.hosts[number - 1]
    ready, gone = (pathlib.Path(host.state) / name for name in ("etcd.ready", "etcd.gone"))
    copy(copy_of(host), ready)
    ended = kill(host)
    data_of(host).rename(gone)
    ready.rename(data_of(host))
    shutil.rmtree(gone)
    took = wait_whole(rig, ended)
    # Sometimes the next is as old as this one, sometimes as young as now.
    if chance.random() < 0.5:
        keep_copy(host)
    return took


OF_THE_CLUSTER = [kill_etcd, put_back_etcd]
