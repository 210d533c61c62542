"""What each word of lab/vm does."""

import os
import signal
import sys
import time

from . import accelerator, console as serial, network, overlay, own_daemon
from .errors import LabError
from .guest_command import GuestCommand
from .machine import Machine
from .places import FIRST_INDEX, LAST_INDEX, State, guest_layer


def say(text):
    print("lab: " + text, file=sys.stderr, flush=True)


def machine(args, index):
    vm = Machine(State(args.state), index)
    vm.require_running()
    return vm


def options_of(args, index):
    return {"memory": args.memory, "hugepages": args.hugepages, "smp": args.smp, "iommu": args.iommu,
            "adapters": args.adapters, "mtu": args.mtu, "netns": args.netns,
            "mac": args.mac or network.guest_mac(index), "mac_chosen": bool(args.mac),
            "rdma": not args.no_rdma,
            "socket": args.socket.replace("%d", str(index)) if args.socket else None,
            "paravane": args.paravane, "api": args.api, "append": args.append,
            "overlay": args.overlay, "qemu": args.qemu}


def check_range(args):
    last = args.first + args.count - 1
    if args.count < 1 or args.first < FIRST_INDEX or last > LAST_INDEX:
        raise LabError(f"guests {args.first} to {last}", "out of range",
                       f"numbers are {FIRST_INDEX} to {LAST_INDEX}")
    return range(args.first, last + 1)


def up(args):
    """Starts what is not running; on any failure ends what it started itself."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    indices = check_range(args)
    if os.geteuid() != 0:
        raise LabError("lab/vm up", "not running as root", "it makes a network namespace and taps")
    state = State(args.state)
    start = time.monotonic()
    kind = accelerator.choose(say) if args.accel == "auto" else args.accel
    machines = [Machine(state, index) for index in indices]
    missing = [vm for vm in machines if vm.pid() is None]
    started = []
    try:
        os.makedirs(state.folder, exist_ok=True)
        args.overlay = [guest_layer(name) for name in args.layer] + overlay.archives(args.overlay, state)
        if not args.netns:
            network.ensure(state.namespace, args.mtu, args.adapters)
        if missing and not (args.no_rdma or args.socket or args.api):
            args.api = own_daemon.ensure(state, args.paravane)
        for vm in missing:
            started.append(vm)
            vm.start(options_of(args, vm.index), kind)
        for vm in missing:
            vm.wait_ready(seconds=args.boot_timeout)
            say(f"{vm.name} ready after {time.monotonic() - start:.1f} s ({kind}, "
                f"{network.guest_address(vm.index)})")
    except BaseException:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)  # nothing may stop the cleaning
        for vm in started:
            vm.down()
        clean(state)
        raise
    return 0


def clean(state):
    """The last VM's end takes everything else with it."""
    if not state.indices():
        network.remove(state.namespace)
        own_daemon.remove(state)
        overlay.remove(state)
        try:
            os.rmdir(state.folder)
        except OSError:
            pass  # it holds somebody else's files, or never was


def run(args):
    words = args.command[1:] if args.command[:1] == ["--"] else args.command
    if not words:
        raise LabError("lab/vm run", "no command", "lab/vm run 1 -- COMMAND...")
    stdin = sys.stdin.fileno() if args.stdin else None
    return GuestCommand(machine(args, args.vm), words, args.timeout, stdin).run()


def down(args):
    state = State(args.state)
    for index in args.vms or state.indices():
        Machine(state, index).down()
    clean(state)
    return 0


def kill(args):
    for index in args.vms:
        machine(args, index).kill()
    return 0


def reboot(args):
    for index in args.vms:
        vm = machine(args, index)
        boots = vm.boots_seen()
        if args.hard:
            vm.monitor("system_reset")
        else:
            # It cannot answer: the guest is gone before the command is done.
            GuestCommand(vm, ["sh", "-c", "sync; (sleep 0.2; reboot -f) >/dev/null 2>&1 &"]).run()
        vm.wait_ready(boots + 1, args.boot_timeout)
        say(f"{vm.name} ready again")
    return 0


def console(args):
    state = State(args.state)
    vm = Machine(state, args.vm)
    if args.log:
        return serial.print_log(vm)
    vm.require_running()
    return serial.attach(vm)


def show(args):
    state = State(args.state)
    print(f"{'VM':<6}{'PID':<9}{'Address':<17}{'MAC':<19}{'RDMA':<6}{'Boots':<6}Folder")
    for index in state.indices():
        vm = Machine(state, index)
        rdma = "yes" if vm.options.get("rdma") else "no"
        print(f"{vm.name:<6}{vm.pid() or 'dead':<9}{network.guest_address(index):<17}"
              f"{vm.options.get('mac', '?'):<19}{rdma:<6}{vm.boots_seen():<6}{vm.folder}")
    return 0


def namespace(args):
    print(State(args.state).namespace)
    return 0


def show_accelerator(_):
    print(accelerator.choose(say))
    return 0
