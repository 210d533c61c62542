"""What can happen to a VM."""
from mishap import mishap
from rig import Failed

# Small enough that a guest comes to the end of each within a second.
QUOTAS = ["queue_pairs=64", "completion_queues=96", "memory_regions=256", "protection_domains=32"]

MEMORY_MIB = "320"  # of each VM
FUNCTION = "0000:00:10.1"


@mishap(weight=1)
def kill_programs(rig, vm, _chance):
    """its programs are killed"""
    rig.shell(vm, "killall -9 paravane-verify 2>/dev/null; true")


@mishap(weight=1)
def reload_driver(rig, vm, _chance):
    """its driver is taken off the device and put back"""
    rig.shell(vm, f"cd /sys/bus/pci/drivers/vmw_pvrdma && echo {FUNCTION} > unbind && echo {FUNCTION} > bind")
    wait_ready(rig, vm)


@mishap(weight=1)
def kill_vm(rig, vm, _chance):
    """it is killed, and started again"""
    rig.host_of(vm).lab("kill", str(vm))
    start_vm(rig, vm)


@mishap(weight=1)
def reset_vm(rig, vm, _chance):
    """its reset button is pressed"""
    rig.host_of(vm).lab("reboot", "--hard", str(vm))
    rig.wait_known()


@mishap(weight=1)
def pull_plug(rig, vm, chance):
    """it is pulled out of the switch for a moment"""
    host = rig.host_of(vm)
    host.cli("vm", "adapter", "disconnect", f"vm{vm}")
    rig.shell(vm, f"sleep {chance.uniform(0.1, 2):.1f}")
    host.cli("vm", "adapter", "connect", f"vm{vm}")
    rig.wait_known()


@mishap(weight=1)
def exhaust_quotas(rig, vm, _chance):
    """a program of its takes all that its quotas give"""
    rig.guest(vm, "paravane-hoard", timeout=60)


def end_vm(rig, vm):
    """QEMU may have ended: it aborts if the daemon goes while it tells its device something."""
    try:
        rig.host_of(vm).lab("kill", str(vm))
    except Failed as failed:
        if "not running" not in str(failed):
            raise


def start_vm(rig, vm, count=1):
    rig.host_of(vm).up(count, "--first", str(vm), "--memory", MEMORY_MIB)
    rig.wait_known()


def wait_ready(rig, vm):
    rig.shell(vm, "i=0; until ibv_devinfo -v 2>/dev/null | grep -q 'PORT_ACTIVE' && "
                  "cat /sys/class/infiniband/*/ports/1/gids/0 | grep -qv '0000:0000:0000:0000$'; do "
                  "i=$((i+1)); [ $i -lt 100 ] || exit 1; sleep 0.2; done")
    rig.wait_known()


OF_VMS = [kill_programs, reload_driver, kill_vm, reset_vm, pull_plug, exhaust_quotas]
