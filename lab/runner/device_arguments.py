"""The one place that knows where QEMU's arguments for the RDMA device come from.

Each adapter of a VM is QEMU's vmxnet3 at function 0 and, unless asked otherwise,
Paravane's device at function 1 of the same slot: the guest's driver looks for its NIC
there. The next adapter has the next slot.
"""

import json
import os
import subprocess

from . import network
from .errors import LabError
from .places import repository

NIC_SLOT = 0x10
HUGE = ",hugetlb=on,hugetlbsize=2M"


def memory_arguments(megabytes):
    """Shared memory: the device reaches the guest's memory through its descriptor."""
    return ["-machine", "memory-backend=ram0",
            "-object", f"memory-backend-memfd,id=ram0,size={megabytes}M,share=on"]


def mac_address(vm, adapter):
    return vm.options["mac"] if adapter == 1 else network.guest_mac(vm.index, adapter)


def nic_arguments(vm):
    arguments = []
    for adapter in range(1, vm.options["adapters"] + 1):
        nic, tap = f"net{adapter - 1}", network.tap_name(vm.index, adapter)
        arguments += ["-netdev", f"tap,id={nic},ifname={tap},script=no,downscript=no,vhost=off",
                      "-device", f"vmxnet3,netdev={nic},mac={mac_address(vm, adapter)},"
                                 f"addr={NIC_SLOT + adapter - 1:x}.0,multifunction=on,romfile="]
    return arguments


def socket_arguments(path):
    device = {"driver": "vfio-user-pci", "id": "rdma0", "addr": f"{NIC_SLOT:x}.1",
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


def answer(options, *words):
    """The same for a command that answers in JSON, read."""
    output = require_paravane(options, *words)
    try:
        return json.loads(output)
    except ValueError as error:
        raise LabError("paravane " + " ".join(words), f"its answer is not JSON ({error})",
                       "use a paravane of this source tree") from error


def add_adapters(vm):
    """What the daemon does not know yet of the VM; what it knows stays as it is."""
    wanted = vm.options["adapters"]
    known = next((one for one in answer(vm.options, "--formatter=json", "vm", "list") if one["name"] == vm.name), None)
    rows = known["adapters"] if known else []
    if not rows:
        require_paravane(vm.options, "vm", "add", vm.name, "--mac", vm.options["mac"])
    elif vm.options["mac_chosen"] and rows[0]["mac"].lower() != vm.options["mac"].lower():
        raise LabError(f"MAC address {vm.options['mac']}", f"{vm.name} has another one already",
                       f"paravane vm remove {vm.name}, or leave --mac out")
    elif len(rows) > wanted:
        raise LabError(f"{wanted} adapters", f"{vm.name} has {len(rows)} already",
                       f"lab/vm up --adapters {len(rows)}, or paravane vm adapter remove")
    for adapter in range(max(len(rows), 1) + 1, wanted + 1):
        require_paravane(vm.options, "vm", "adapter", "add", vm.name, "--mac", mac_address(vm, adapter))


def printed_arguments(vm):
    """What `paravane vm qemu-args` says."""
    add_adapters(vm)
    # Elsewhere the taps are the daemon's, which names them itself.
    taps = [] if vm.options["netns"] else [network.tap_name(vm.index, k + 1) for k in range(vm.options["adapters"])]
    words = answer(vm.options, "vm", "qemu-args", vm.name, "--memory", f"{vm.options['memory']}M", "--json",
                   *(word for tap in taps for word in ("--tap", tap)))
    return [str(word) for word in words]


def for_vm(vm):
    """All arguments for memory, network and RDMA of one VM."""
    if vm.options["rdma"] and not vm.options["socket"]:
        arguments = printed_arguments(vm)
    else:
        arguments = memory_arguments(vm.options["memory"]) + nic_arguments(vm)
        if vm.options["socket"]:
            arguments += socket_arguments(vm.options["socket"])
    if vm.options["hugepages"]:
        arguments = [word + HUGE if word.startswith("memory-backend-memfd,") else word for word in arguments]
    return arguments
