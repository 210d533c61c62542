"""The one place that knows where QEMU's arguments for the RDMA device come from.

A VM has QEMU's vmxnet3 at function 0 and, unless asked otherwise, Paravane's
device at function 1 of the same slot: the guest's driver looks for its NIC there.
"""

import json
import os
import shlex
import subprocess

from . import network
from .errors import LabError
from .places import repository

NIC_SLOT = "10"


def nic_arguments(vm):
    tap = network.tap_name(vm.index)
    return ["-netdev", f"tap,id=net0,ifname={tap},script=no,downscript=no,vhost=off",
            "-device", f"vmxnet3,netdev=net0,mac={vm.options['mac']},"
                       f"addr={NIC_SLOT}.0,multifunction=on,romfile="]


def socket_arguments(path):
    device = {"driver": "vfio-user-pci", "id": "rdma0", "addr": NIC_SLOT + ".1",
              "socket": {"type": "unix", "path": os.path.abspath(path)}}
    return ["-device", json.dumps(device)]


def paravane(options, *words):
    """Runs our command line tool and returns what it prints."""
    program = options["paravane"] or os.path.join(repository(), "build/release/src/cli/paravane")
    command = [program]
    if options["api"]:
        command += ["--socket", options["api"]]
    try:
        done = subprocess.run([*command, *words], capture_output=True, text=True,
                              timeout=30, check=False, stdin=subprocess.DEVNULL)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise LabError(program, str(error),
                       "build it, name it with --paravane, or use --no-rdma") from error
    if done.returncode != 0:
        raise LabError(" ".join([*command, *words]), f"exit status {done.returncode}",
                       "is the daemon running? see paravane status",
                       done.stdout + done.stderr)
    return done.stdout


def for_vm(vm):
    """All arguments for network and RDMA of one VM."""
    if not vm.options["rdma"]:
        return nic_arguments(vm)
    if vm.options["socket"]:
        return nic_arguments(vm) + socket_arguments(vm.options["socket"])
    if vm.name not in paravane(vm.options, "--formatter=csv", "vm", "list"):
        paravane(vm.options, "vm", "add", vm.name, "--mac", vm.options["mac"])
    return shlex.split(paravane(vm.options, "vm", "qemu-args", vm.name,
                                "--tap", network.tap_name(vm.index)))
