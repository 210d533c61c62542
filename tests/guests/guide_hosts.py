"""Hosts as an administrator finds them who begins with a guide: Paravane is installed and runs, and nothing is
configured. What a guide says to type is typed to the letter, with the paths that it names.

A host is a namespace of networks, of mounts and of the host name (tests/daemon/installation.py). eth0 is its own, 10.78.0.N;
eth1 is for its VMs and has no address. The rest is the lab's:
`systemctl start paravaned` and `ssh` are scripts that stand in for the real ones; in place of the disk that a
guide gives a VM the lab's kernel is booted; and its guest begins with no driver and no address.
"""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile

from guests import BUILD, ROOT, Failed, Guests, make_overlay, wait_for
from power_rig import copy_tree, make_images

sys.path.insert(0, str(ROOT / "lab"))
sys.path.append(str(ROOT / "tests" / "daemon"))
from installation import INSTALL, SYSTEMCTL, VM_USER  # noqa: E402  (the lines above make it importable)
from runner import places, processes, qemu_command  # noqa: E402
from runner.bridge import Bridge  # noqa: E402

PORTS = 4  # of the agent in a guest: so many commands at once

SSH = """#!/bin/sh
host=$1
shift
exec nsenter --target "$(cat "$GUIDE_FOLDER/$host.pid")" --net --mount --uts sh -c "$*"
"""


class GuideHost:
    """One of them; its root shell is run()."""

    def __init__(self, rig, number):
        self.rig, self.number, self.name = rig, number, f"h{number}"
        self.space = f"{rig.prefix}-{self.name}"
        self.log = rig.folder / f"{self.name}.log"
        self.holder = None  # a process that keeps its namespaces

    def add(self):
        processes.run("ip", "netns", "add", self.space)
        processes.run("ip", "-n", self.space, "link", "set", "lo", "up")
        self.rig.wire.join(self.name, self.space, "eth0")
        processes.run("ip", "-n", self.space, "address", "add", f"10.78.0.{self.number}/24", "dev", "eth0")
        self.rig.ethernet.join(self.name, self.space, "eth1")
        installed = self.rig.folder / f"{self.name}.installed"
        self.holder = subprocess.Popen(["ip", "netns", "exec", self.space, "unshare", "--mount", "--uts",
                                        "sh", "-c", INSTALL, "sh", self.name, installed, BUILD / "bin"], stdin=subprocess.DEVNULL)
        wait_for(f"{self.name} is installed", installed.exists, 20)
        (self.rig.folder / f"{self.name}.pid").write_text(str(self.holder.pid))
        self.must("systemctl start paravaned")

    def run(self, script, timeout=120):
        """Returns the exit status, and what was written to both of its streams."""
        env = {**os.environ, "PATH": f"{self.rig.folder}/bin:{BUILD}/bin:{os.environ['PATH']}", "HOST_LOG": str(self.log),
               "GUIDE_FOLDER": str(self.rig.folder), "PARAVANE_QEMU": str(self.rig.folder / "qemu" / "qemu-system-x86_64")}
        done = subprocess.run(["nsenter", "--target", str(self.holder.pid), "--net", "--mount", "--uts",
                               "bash", "-c", f"cd /srv; {script}"], env=env, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=timeout, check=False)
        return done.returncode, done.stdout

    def must(self, script):
        status, text = self.run(script)
        if status != 0:
            raise Failed(f"{self.name}: {script}: exit status {status}\n{text}{self.rig.daemon_log()[-3000:]}")
        return text

    def rows(self, *words):
        """The rows of a list, as JSON has them."""
        return json.loads(self.must(" ".join(["paravane --formatter=json", *words])))

    def write(self, path, text):
        subprocess.run(["nsenter", "--target", str(self.holder.pid), "--mount", "tee", path], input=text, text=True,
                       stdout=subprocess.DEVNULL, check=True, timeout=20)

    def close(self):
        for pid in (processes.run("ip", "netns", "pids", self.space, check=False) or "").split():
            try:
                os.kill(int(pid), signal.SIGKILL)
            except ProcessLookupError:
                pass
        if self.holder:
            self.holder.wait(20)
        processes.run("ip", "netns", "delete", self.space, check=False)


class GuideHosts(Guests):
    """Hosts h1, h2, ..., and the VMs that are made on them: VM number N is the one whose name ends in N."""

    def __init__(self, count):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="paravane-test-"))
        folder.chmod(0o711)
        super().__init__(folder, make_overlay(folder))
        self.prefix = f"pvg-{os.getpid()}"
        self.wire, self.ethernet = Bridge(f"{self.prefix}-wire"), Bridge(f"{self.prefix}-lan")
        self.machines, self.booting = [], {}
        try:
            self.make_programs()
            make_images(self.folder, self.overlay)
            self.wire.add()
            self.ethernet.add()
            for number in range(1, count + 1):
                self.machines.append(GuideHost(self, number))
                self.machines[-1].add()
        except BaseException:
            self.close()
            raise

    def make_programs(self):
        programs = self.folder / "bin"
        programs.mkdir()
        for name, text in ("systemctl", SYSTEMCTL), ("ssh", SSH):
            (programs / name).write_text(text)
            (programs / name).chmod(0o755)
        for name in "esxcli", "esxcfg-nics", "esxcfg-vmknic":  # which are not in the PATH that an administrator has
            (programs / name).symlink_to(BUILD / "bin" / "paravane")
        copy_tree(pathlib.Path(places.cache()) / "qemu", self.folder / "qemu")
        (self.folder / "qemu").chmod(0o755)

    def machine(self, name):
        return next(one for one in self.machines if one.name == name)

    def daemon_log(self):
        return "\n".join(f"--- {one.name}\n{one.log.read_text()}" for one in self.machines if one.log.exists())

    # ---- VMs ----

    def prepare_vms(self, host):
        """Before VMs of a host are checked or started: what they boot in place of their disks."""
        for row in host.rows("vm", "list"):
            name = row["name"]
            if name in self.booting:
                continue
            folder = self.lab_folder(name)
            folder.mkdir(parents=True)
            os.chown(folder, VM_USER, VM_USER)
            words = {"name": name, "ports": PORTS, "rdma": 0}
            line = " ".join([qemu_command.KERNEL_LINE, *(f"lab.{key}={value}" for key, value in words.items()), "test.button"])
            agent = ["-device", "virtio-serial-pci,id=agent,addr=1c.0"]
            for port in range(1, PORTS + 1):
                agent += ["-chardev", f"socket,id=p{port},path={folder}/port{port}.sock,server=on,wait=off",
                          "-device", f"virtserialport,bus=agent.0,chardev=p{port},name=lab.{port}"]
            host.must(f"paravane vm set {name} --disk none --accelerator tcg --cpu-model {qemu_command.CPU_MODELS['tcg']} "
                      f"--kernel {self.folder}/vmlinux --initrd {self.folder}/initrd --append '{line}' "
                      + " ".join(f"--qemu-arg={word}" for word in agent))
            self.booting[name] = host

    def lab_folder(self, name):
        return self.folder / "lab" / f"vm{self.number(name)}"

    @staticmethod
    def number(name):
        return int(name.lstrip("abcdefghijklmnopqrstuvwxyz-"))

    def note_started(self):
        """lab/vm knows of the VMs that run."""
        for name, host in self.booting.items():
            for row in host.rows("vm", "list"):
                if row["name"] == name and row["power"] == "running":
                    processes.remember(str(self.lab_folder(name) / "pid"), row["pid"])

    def listeners(self, vm):
        """How many ports are listened on in a guest, by TCP and by RDMA's connection manager."""
        return int(self.shell(vm, "{ grep -h '^ *[0-9]*: [^ ]* [^ ]* 0A' /proc/net/tcp /proc/net/tcp6; "
                                  "rdma resource show cm_id 2>/dev/null | grep LISTEN; } | wc -l"))

    def close(self):
        for host in self.machines:
            host.close()
        self.ethernet.remove()
        self.wire.remove()
        shutil.rmtree(self.folder, ignore_errors=True)
