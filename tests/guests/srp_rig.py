"""What tests of SRP's storage adapters need: a host with an InfiniBand adapter that Debian's opensm manages, and on a VM a
target of Linux's own (LIO), whose access list names the host's storage adapters."""
import dataclasses
import json
import pathlib
import shutil
import subprocess
import tempfile

from guests import BUILD, Failed, wait_for
from hosts_rig import HostsRig
from native_rig import NativeRig
from power_rig import PowerRig, copy_modules
from rig import Rig

LAYER = ("--layer", "storage", "--memory", "768")
# A target's Linux finds the way back to a storage adapter's link-local GID with RoCE v1 alone.
PROTOCOL = ("--protocol", "v1")
NUMBER = "0x5254000000770001"  # of a target whose first adapter has the first MAC: ID extension, controller and service
PORT = 5555
NAMES = ("esxcfg-module", "esxcfg-mpath", "esxcfg-rescan", "esxcfg-scsidevs", "ibstat", "vmkload_mod")
PATIENCE_S = 60

MODULES = """
set -e
modprobe brd rd_nr=1 rd_size=65536
modprobe -a ib_srpt target_core_iblock
mount -t configfs none /sys/kernel/config 2>/dev/null || true
cd /sys/kernel/config/target
"""


def target_mac(adapter=1, vm=1):
    return f"52:54:00:77:{adapter - 1:02x}:{vm:02x}"


def target_gid(adapter=1, vm=1):
    return f"fe80::5054:ff:fe77:{(adapter - 1) << 8 | vm:x}"


def port_folder(adapter=1, vm=1):
    """Of a target's port, below /sys/kernel/config/target: it is called by its GID."""
    return f"srpt/0xfe80000000000000505400fffe77{adapter - 1:02x}{vm:02x}/tpg"


def naa(serial):
    """The name that LIO makes of a unit's serial number."""
    return f"naa.6001405{serial:0<25}"


@dataclasses.dataclass(frozen=True)
class Lun:
    """`serial`: hexadecimal, of which its name is made; none: it has no name of its own. `file`: a block device of the target's;
    none: memory of the target's, of `mib`."""
    number: int
    serial: str = ""
    mib: int = 16
    file: str = ""
    read_only: bool = False

    @property
    def folder(self):
        return f"core/{'iblock' if self.file else 'rd_mcp'}_{self.number}/disk{self.number}"

    def make(self):
        what = f"udev_path={self.file}" if self.file else f"rd_pages={self.mib << 8}"
        name = f"echo {self.serial} >{self.folder}/wwn/vpd_unit_serial\n" if self.serial else ""
        return f"mkdir -p {self.folder}\necho {what} >{self.folder}/control\n{name}echo 1 >{self.folder}/enable\n"

    def offer(self, port):
        there = f"{port}/lun/lun_{self.number}"
        return f"mkdir -p {there}\nln -s /sys/kernel/config/target/{self.folder} {there}/disk\n"

    def permit(self, port, initiator):
        there = f"{port}/acls/{initiator}/lun_{self.number}"
        protect = f"echo 1 >{there}/write_protect\n" if self.read_only else ""
        return f"mkdir -p {there}\nln -s /sys/kernel/config/target/{port}/lun/lun_{self.number} {there}/lun\n{protect}"

    def forbid(self, port, initiator):
        there = f"{port}/acls/{initiator}/lun_{self.number}"
        return f"rm {there}/lun\nrmdir {there}\n"

    def withdraw(self, port):
        there = f"{port}/lun/lun_{self.number}"
        return f"rm {there}/disk\nrmdir {there}\n"


def serve(*luns, initiators=(), adapters=(1,), vm=1):
    """A script that makes a VM a target with these LUNs, each at a port of each adapter, for these initiators."""
    ports = [port_folder(adapter, vm) for adapter in adapters]
    script = MODULES + "".join(lun.make() for lun in luns) + f"mkdir -p {' '.join(ports)}\necho {PORT} >srpt/discovery_auth/rdma_cm_port\n"
    for port in ports:
        script += "".join(lun.offer(port) for lun in luns)
        script += "".join(permit(port, initiator, *luns) for initiator in initiators)
        script += f"echo 1 >{port}/enable\n"
    return script


def permit(port, initiator, *luns):
    return f"mkdir -p {port}/acls/{initiator}\n" + "".join(lun.permit(port, initiator) for lun in luns)


def in_target(script):
    """For a target that there is."""
    return f"set -e\ncd /sys/kernel/config/target\n{script}"


class StorageAdapters:
    """Those of the host that has these guests, by its command line."""

    def __init__(self, guests):
        self.guests, self.manager = guests, None

    def begin(self, hcas=1):
        """InfiniBand adapters, mlx4_0 and on, with a subnet manager at the last port. Returns when their ports are Active."""
        for hca in range(hcas):
            self.guests.cli("infiniband", "adapter", "add", f"mlx4_{hca}", "--device", "MT26428", "--bus", str(13 + hca))
        self.begin_manager()
        names = self.guests.folder / "names"
        names.mkdir()
        for name in NAMES:
            (names / name).symlink_to(BUILD / "bin" / "paravane")
        self.wait_up()

    def begin_manager(self):
        folder = self.guests.folder / "opensm"
        folder.mkdir(exist_ok=True)
        (folder / "opensm.conf").write_text("force_log_flush TRUE\n")
        guid = self.json("infiniband", "adapter", "list")[-1]["ports"][-1]["guid"]
        with (folder / "said").open("wb") as said:
            self.manager = subprocess.Popen(
                ["env", f"OSM_CACHE_DIR={folder}", f"OSM_TMP_DIR={folder}", BUILD / "bin" / "paravane", "--socket", self.guests.folder / "api.sock",
                 "infiniband", "run", "--", "opensm", "-g", guid, "-F", folder / "opensm.conf", "-f", folder / "log"],
                stdin=subprocess.DEVNULL, stdout=said, stderr=said)

    def wait_up(self):
        wait_for("the storage adapters to be up", lambda: (all_of := self.vmhbas()) and all(one["up"] for one in all_of), PATIENCE_S)

    def end(self):
        if self.manager:
            self.manager.terminate()
            self.manager.wait(PATIENCE_S)

    # ---- the command line ----

    def json(self, *words):
        return json.loads(self.guests.cli("--formatter=json", *words).stdout)

    def type(self, line, status=0):
        """What a line prints, typed in a shell that has the second names in PATH."""
        where = f"export PATH={self.guests.folder}/names:{BUILD}/bin:$PATH PARAVANE_SOCKET={self.guests.folder}/api.sock\n"
        done = subprocess.run(["bash", "-c", where + line], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE_S,
                              check=False)
        if done.returncode != status:
            raise Failed(f"{line}: exit status {done.returncode}\n{done.stdout}{done.stderr}\n{self.guests.daemon_log()[-2000:]}")
        return done.stdout if status == 0 else done.stderr

    def restart_with(self, options):
        """InfiniBand, with these of module ib_srp. Returns when the adapters are up again."""
        self.type(f"esxcfg-module ib_srp -s '{options}'")
        self.guests.cli("infiniband", "restart")
        self.wait_up()

    def rescan(self):
        self.guests.cli("storage", "core", "adapter", "rescan", "--all")

    def set_cable(self, port, is_plugged):
        """The one from a port, such as "mlx4_0 port 1", to the subnet's switch. The last port asks, which is the manager's. One that is
        plugged in stays so: to be told once more takes its link down."""
        if is_plugged and self.is_active(port):
            return
        fabric = self.json("infiniband", "fabric", "list")
        there = next(link["port"] for link in fabric["links"] if link["peer"] == port)
        self.guests.cli("infiniband", "run", "--", "ibportstate", "-C", self.json("infiniband", "adapter", "list")[-1]["name"], "-P", "2",
                        str(fabric["switch_lid"]), str(there), "enable" if is_plugged else "disable")

    # ---- what there is ----

    def is_active(self, port):
        adapter, _, number = port.partition(" port ")
        ports = next(one["ports"] for one in self.json("infiniband", "adapter", "list") if one["name"] == adapter)
        return next(one["state"] for one in ports if one["number"] == int(number)) == "Active"

    def vmhbas(self):
        return self.json("infiniband", "vmhba", "list")

    def initiator(self, vmhba="vmhba32"):
        return next(one["initiator"] for one in self.vmhbas() if one["name"] == vmhba)

    def targets(self):
        return self.json("infiniband", "target", "list")

    def devices(self):
        return self.json("storage", "core", "device", "list")

    def paths(self):
        return self.json("storage", "core", "path", "list")

    def wait_target(self, what, is_so, timeout=PATIENCE_S):
        """Until the first target is so. Returns it."""
        def look():
            return next((one for one in self.targets() if is_so(one)), None)
        try:
            return wait_for(what, look, timeout, interval=0.2)
        except Failed as late:
            raise Failed(f"{late}\n{self.targets()}\n{self.guests.daemon_log()[-3000:]}") from None

    def events(self, kind):
        """Those of this type, the first ones first."""
        return [one for one in self.json("events") if one["type"] == kind]

    def device(self, name):
        return next((one for one in self.devices() if one["Device"] == name), None)

    def counters(self, name):
        """Those of a LUN."""
        done = subprocess.run(["curl", "-s", "--unix-socket", self.guests.folder / "api.sock", "http://localhost/v1/storage/devices"],
                              capture_output=True, text=True, timeout=PATIENCE_S, check=True)
        return next(one["counters"] for one in json.loads(done.stdout)["devices"] if one["name"] == name)

    def states(self):
        """Runtime name -> state, of all paths."""
        return {one["RuntimeName"]: one["State"] for one in self.paths()}

    def wait_states(self, what, wanted, timeout=PATIENCE_S):
        try:
            wait_for(what, lambda: self.states() == wanted, timeout, interval=0.2)
        except Failed as late:
            raise Failed(f"{late}\n{self.paths()}\n{self.guests.daemon_log()[-3000:]}") from None


class Door:
    """A folder of its own for the socket that opensm uses."""

    def __init__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="paravane-umad-"))
        self.folder.chmod(0o777)

    @property
    def config(self):
        return f'[infiniband]\numad_socket = "{self.folder}/umad.sock"\n'

    def close(self):
        shutil.rmtree(self.folder, ignore_errors=True)


# The bytes of a RAM disk, past what was read of it before.
SUM_OF_RAM = "echo 3 >/proc/sys/vm/drop_caches; head -c 8388608 /dev/ram0 | sha256sum"
DISK = "/dev/vda"
SUM_OF_DISK = f"dd if={DISK} bs=64k count=128 iflag=direct 2>/dev/null | sha256sum"
# Blocks of random sizes at random places, each read again soon and compared: for a number of seconds.
FIO_MIB = 16
FIO = (f"fio --name=verify --filename={DISK} --size={FIO_MIB}M --rw=randwrite --bsrange=4k-128k --direct=1 --ioengine=io_uring --iodepth=8 "
       "--verify=crc32c --verify_fatal=1 --verify_backlog=32 --time_based --runtime=")


def shared_disk(file):
    """Words of lab/vm that give a guest this disk, which others have, too: what is acknowledged is in the file."""
    block = {"node-name": "shared", "driver": "raw",
             "file": {"driver": "file", "filename": str(file), "locking": "off", "cache": {"direct": True}}}
    return [f"--qemu={word}" for word in ("-blockdev", json.dumps(block), "-device",
                                          "virtio-blk-pci,drive=shared,write-cache=off,share-rw=on")]


class SrpRig(Rig):
    """A daemon with a storage adapter, and a target in vm1, which has `adapters` of RoCE v1."""

    def __init__(self, adapters=1):
        self.door = Door()
        try:
            super().__init__(self.door.config)
        except BaseException:
            self.door.close()
            raise
        self.storage = StorageAdapters(self)
        try:
            self.cli("vm", "add", "vm1", *PROTOCOL, "--mac", target_mac())
            for adapter in range(2, adapters + 1):
                self.cli("vm", "adapter", "add", "vm1", *PROTOCOL, "--mac", target_mac(adapter))
            self.storage.begin()
            self.up(1, *LAYER, "--adapters", str(adapters))
        except BaseException:
            self.close()
            raise

    def close(self):
        try:
            self.storage.end()
        finally:
            super().close()
            self.door.close()


class SrpPowerRig(PowerRig):
    """The same, with VMs that paravane runs, whose disks are LUNs. There are `targets` of them, vm1 and on."""

    def __init__(self, adapters=1, files=None, targets=1, shared_mib=0, hcas=1):
        """`shared_mib`: of a disk that all targets have, a raw file. `hcas`: InfiniBand adapters of the host."""
        self.door = Door()
        self.storage = StorageAdapters(self)
        try:
            super().__init__(self.door.config, ["storage"], files)
        except BaseException:
            self.door.close()
            raise
        self.adapters = adapters
        self.shared = self.folder / "shared.raw" if shared_mib else None
        try:
            if self.shared:
                self.shared.write_bytes(bytes(shared_mib << 20))
            for vm in range(1, targets + 1):
                self.cli("vm", "add", f"vm{vm}", *PROTOCOL, "--mac", target_mac(1, vm))
                for adapter in range(2, adapters + 1):
                    self.cli("vm", "adapter", "add", f"vm{vm}", *PROTOCOL, "--mac", target_mac(adapter, vm))
            self.storage.begin(hcas)
            self.boot_targets(targets)
        except BaseException:
            self.close()
            raise

    def boot_targets(self, count, first=1):
        """Those that do not run."""
        self.up(count, "--first", str(first), *LAYER, "--adapters", str(self.adapters), *(shared_disk(self.shared) if self.shared else ()))

    def start_with(self, vm, name):
        """A VM whose disk is a LUN. Returns when it is there."""
        self.add_guest(vm, "--disk", f"lun:{name}")
        self.run("vm", "start", f"vm{vm}")
        self.wait_booted(f"vm{vm}")
        self.shell_of(f"vm{vm}", "insmod /virtio_blk.ko && modprobe ext4")

    def qemu_of_target(self):
        """Its process."""
        return int(next(line.split()[1] for line in self.lab("list").splitlines() if line.startswith("vm1 ")))

    def begin_in(self, vm, script):
        """Runs a line of shell in a guest; its end is waited for by end_in()."""
        self.shell_of(vm, f"(({script}) >/tmp/said 2>&1; echo ENDED-$? >>/tmp/said) </dev/null >/dev/null 2>&1 & true")

    def goes_on_in(self, vm):
        return "goes" in self.shell_of(vm, "grep -q ENDED- /tmp/said || echo goes")

    def end_in(self, vm, timeout=PATIENCE_S):
        """What it wrote, with ENDED- and its exit status in the last line."""
        return self.shell_of(vm, "until grep -q ENDED- /tmp/said; do sleep 0.2; done; cat /tmp/said", timeout)

    def close(self):
        try:
            self.storage.end()
        finally:
            super().close()
            self.door.close()


class SrpHostsRig(HostsRig):
    """Two hosts of a cluster. The first has a storage adapter in the port group of the second one's VM, vm2, which is the target."""

    def __init__(self):
        self.door = Door()
        self.storage = None
        try:
            super().__init__(2, prepare=self.give_door)
        except BaseException:
            self.door.close()
            raise
        # vm1 has no adapter, since it is to outlive its host's daemon.
        self.hosts[0].environment = {}
        self.storage = StorageAdapters(self.hosts[0])
        try:
            copy_modules(self.overlay, "virtio_blk.ko")
            self.storage.begin()
            self.hosts[0].cli("infiniband", "vmhba", "set", "vmhba32", "--port-group", "rdma")
            self.lab.hosts[1].up(["--overlay", str(self.overlay), *LAYER], {2: PROTOCOL})
        except BaseException:
            self.close()
            raise

    def give_door(self, host):
        if host.number == 1:
            host.settings = self.door.config

    def start_with(self, name):
        """vm1 with a LUN as its disk, as `paravane vm start` gives it."""
        block = {"node-name": "disk0", "driver": "nbd", "read-only": False, "discard": "unmap",
                 "server": {"type": "unix", "path": self.storage.device(name)["DevfsPath"]}, "export": name, "reconnect-delay": 60,
                 "open-timeout": 30}
        self.hosts[0].up(1, *LAYER, "--no-rdma", "--qemu=-blockdev", f"--qemu={json.dumps(block)}", "--qemu=-device",
                         "--qemu=virtio-blk-pci,drive=disk0")
        self.shell(1, "insmod /virtio_blk.ko")

    def close(self):
        try:
            if self.storage:
                self.storage.end()
        finally:
            super().close()
            self.door.close()


class SrpNativeRig(NativeRig):
    """A host with a storage adapter in the port group of its VM, which has native RoCE. The VM's adapter has RoCE v2. The machine
    beside it, which knows nothing of Paravane, has Linux's rdma_rxe. The switch has a team of two uplinks."""

    ADDRESS = "10.77.0.200"  # the storage adapter's
    TEAM = {"eth1": "h1", "eth2": "h1b"}  # uplinks, and the ports of the bridge at their other end

    def __init__(self):
        self.door = Door()
        self.storage = None
        try:
            super().__init__(prepare=self.give_door)
        except BaseException:
            self.door.close()
            raise
        self.storage = StorageAdapters(self.hosts[0])
        try:
            self.storage.begin()
            self.lab.ethernet.join(self.TEAM["eth2"], self.lab.hosts[0].space, "eth2")
            self.hosts[0].cli("vds", "uplink", "lan", *self.TEAM)
            self.up(*LAYER)
            self.hosts[0].cli("infiniband", "vmhba", "set", "vmhba32", "--port-group", "native", "--ipv4", f"{self.ADDRESS}/24")
        except BaseException:
            self.close()
            raise

    def give_door(self, host):
        host.settings = self.door.config
        host.uplinks = list(self.TEAM)

    def carrier(self):
        """The uplink that carries the frames."""
        return self.storage.json("vds", "list")[0]["active"]

    def close(self):
        try:
            if self.storage:
                self.storage.end()
        finally:
            super().close()
            self.door.close()
