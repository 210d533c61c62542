"""The one place that knows where QEMU's arguments for the RDMA device come from.

A VM has QEMU's vmxnet3 at function 0 and, unless asked otherwise, Paravane's
device at function 1 of the same slot: the guest's driver looks for its NIC there.
"""

import json
import os
import subprocess

from . import network
from .errors import LabError
from .places import repository

NIC_SLOT = "10"


def memory_arguments(megabytes):
    """Shared memory: the device reaches the guest's memory through its descriptor."""
    return ["-machine", "memory-backend=ram0",
            "-object", f"memory-backend-memfd,id=ram0,size={megabytes}M,share=on"]


def nic_arguments(vm):
    tap = network.tap_name(vm.index)
    return ["-netdev", f"tap,id=net0,ifname={tap},script=no,downscript=no,vhost=off",
            "-device", f"vmxnet3,netdev=net0,mac={vm.options['mac']},"
                       f"addr={NIC_SLOT}.0,multifunction=on,romfile="]


def socket_arguments(path):
    device = {"driver": "vfio-user-pci", "id": "rdma0", "addr": NIC_SLOT + ".1",
              "socket": {"type": "unix", "path": os.path.abspath(path)}}
    return ["-device", json.dumps(device)]


def program_path(options):
    return options["paravane"] or os.path.join(repository(), "build/release/bin/paravane")


def paravane(options, *words):
    """Runs our command line tool. Returns (exit status, standard output, complaint)."""
    program = program_path(options)
    command = [program, *(["--socket", options["api"]] if options["api"] else []), *words]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False,
                              stdin=subprocess.DEVNULL)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise LabError(program, getattr(error, "strerror", None) or str(error),
                       "build it, name it with --paravane, or use --no-rdma") from error
    return done.returncode, done.stdout, done.stderr.strip()


def require_paravane(options, *words):
    status, output, complaint = paravane(options, *words)
    if status != 0:
        raise LabError("paravane " + " ".join(words), complaint or f"exit status {status}",
                       "is the daemon running? ask paravane status")
    return output


def printed_arguments(vm):
    """What `paravane vm qemu-args` says; a VM it does not know yet is added."""
    question = ("vm", "qemu-args", vm.name, "--tap", network.tap_name(vm.index),
                "--memory", f"{vm.options['memory']}M", "--json")
    status, output, _ = paravane(vm.options, *question)
    if status != 0:
        require_paravane(vm.options, "vm", "add", vm.name, "--mac", vm.options["mac"])
        output = require_paravane(vm.options, *question)
    elif vm.options["mac_chosen"] and vm.options["mac"].lower() not in output.lower():
        raise LabError(f"MAC address {vm.options['mac']}", f"{vm.name} has another one already",
                       f"paravane vm remove {vm.name}, or leave --mac out")
    try:
        return [str(word) for word in json.loads(output)]
    except ValueError as error:
        raise LabError("paravane vm qemu-args", f"its answer is not JSON ({error})",
                       "use a paravane of this source tree") from error


def for_vm(vm):
    """All arguments for memory, network and RDMA of one VM."""
    if vm.options["rdma"] and not vm.options["socket"]:
        return printed_arguments(vm)
    arguments = memory_arguments(vm.options["memory"]) + nic_arguments(vm)
    if vm.options["socket"]:
        arguments += socket_arguments(vm.options["socket"])
    return arguments
