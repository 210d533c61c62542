"""What can happen to a VM. Each takes (rig, vm, chance) and returns when the VM has
recovered; its docstring is what the log says."""

# Small enough that a guest comes to the end of each within a second.
QUOTAS = ["queue_pairs=64", "completion_queues=96", "memory_regions=256", "protection_domains=32"]

MEMORY_MIB = "320"  # of each VM
FUNCTION = "0000:00:10.1"


def kill_programs(rig, vm, _chance):
    """its programs are killed"""
    rig.shell(vm, "killall -9 paravane-verify 2>/dev/null; true")


def reload_driver(rig, vm, _chance):
    """its driver is taken off the device and put back"""
    rig.shell(vm, f"cd /sys/bus/pci/drivers/vmw_pvrdma && echo {FUNCTION} > unbind && echo {FUNCTION} > bind")
    wait_ready(rig, vm)


def kill_vm(rig, vm, _chance):
    """it is killed, and started again"""
    rig.lab("kill", str(vm))
    rig.up(1, "--first", str(vm), "--memory", MEMORY_MIB)


def reset_vm(rig, vm, _chance):
    """its reset button is pressed"""
    rig.lab("reboot", "--hard", str(vm))


def pull_plug(rig, vm, chance):
    """it is pulled out of the switch for a moment"""
    rig.cli("vm", "adapter", "disconnect", f"vm{vm}")
    rig.shell(vm, f"sleep {chance.uniform(0.1, 2):.1f}")
    rig.cli("vm", "adapter", "connect", f"vm{vm}")


def exhaust_quotas(rig, vm, _chance):
    """a program of its takes all that its quotas give"""
    rig.guest(vm, "paravane-hoard", timeout=60)


def wait_ready(rig, vm):
    rig.shell(vm, "i=0; until ibv_devinfo -v 2>/dev/null | grep -q 'PORT_ACTIVE' && "
                  "cat /sys/class/infiniband/*/ports/1/gids/0 | grep -qv '0000:0000:0000:0000$'; do "
                  "i=$((i+1)); [ $i -lt 100 ] || exit 1; sleep 0.2; done")


MISHAPS = [kill_programs, reload_driver, kill_vm, reset_vm, pull_plug, exhaust_quotas]
