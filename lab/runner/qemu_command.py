"""The QEMU command line of one guest.

Tuned for a guest without KVM: plain ELF kernel (PVH), uncompressed initramfs, no
needless devices or probes, and a CPU model whose memcpy is not emulated byte by
byte. Paths are relative to the VM's folder, QEMU's working directory, because a
socket path may be only 107 bytes long.
"""

import os

from . import network
from .places import guest_image, qemu_binary

AGENT_PORTS = 16

KERNEL_LINE = (
    "console=ttyS0 quiet loglevel=3 nokaslr mitigations=off panic=-1 cryptomgr.notests "
    "init_on_alloc=0 rodata=off noreplace-smp audit=0 lsm= 8250.nr_uarts=2 tsc=reliable "
    "no_timer_check i8042.noaux i8042.nokbd random.trust_cpu=on")

CPU_MODELS = {"tcg": "Nehalem-v1,+rdrand,+pclmulqdq", "kvm": "host"}


def guest_line(vm):
    addresses = [network.guest_address(vm.index, k + 1) for k in range(vm.options["adapters"])]
    words = {"name": f"vm{vm.index}", "addresses": ",".join(addresses),
             "mtu": vm.options["mtu"], "ports": AGENT_PORTS,
             "rdma": int(vm.options["rdma"])}
    line = " ".join(f"lab.{name}={value}" for name, value in words.items())
    iommu = "intel_iommu=on" if vm.options["iommu"] else ""
    return " ".join(filter(None, [KERNEL_LINE, line, iommu, vm.options["append"]]))


def iommu_arguments(vm):
    """Before any other device: one that is there earlier goes past it."""
    return ["-device", "intel-iommu,caching-mode=on"] if vm.options["iommu"] else []


def agent_arguments():
    arguments = ["-device", "virtio-serial-pci,id=agent,max_ports=32"]
    for port in range(1, AGENT_PORTS + 1):
        arguments += ["-chardev", f"socket,id=p{port},path=port{port}.sock,server=on,wait=off",
                      "-device", f"virtserialport,bus=agent.0,chardev=p{port},name=lab.{port}"]
    return arguments


def command(vm, accelerator, device_arguments):
    """`device_arguments`: memory, NIC and RDMA device, see device_arguments.py."""
    initrd = os.path.join(vm.folder, "initramfs.cpio")
    return [
        qemu_binary(), "-name", f"vm{vm.index}", "-nodefaults", "-no-user-config",
        "-display", "none", "-accel", accelerator, "-cpu", CPU_MODELS[accelerator],
        "-machine", "q35", "-m", str(vm.options["memory"]), "-smp", str(vm.options["smp"]),
        *iommu_arguments(vm), "-kernel", guest_image("vmlinux"),
        "-initrd", initrd if os.path.exists(initrd) else guest_image("initramfs.cpio"),
        "-append", guest_line(vm),
        "-chardev", "socket,id=console,path=console.sock,server=on,wait=off,"
                    "logfile=console.log,logappend=on",
        "-serial", "chardev:console",
        "-qmp", "unix:qmp.sock,server=on,wait=off",
        *agent_arguments(), *device_arguments, *vm.options["qemu"],
    ]
