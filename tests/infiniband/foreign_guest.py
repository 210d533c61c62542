"""A guest of the lab whose InfiniBand ports are those of lab/layers/ipoib: an adapter without hardware under the kernel's own MAD
layer and ib_ipoib, none of which knows of Paravane."""
import os
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "daemon"))
from rig import PATIENCE_S, wait_for  # noqa: E402  (the line above makes it importable)

ROOT = pathlib.Path(__file__).resolve().parents[2]
BOOT_S = 180
CABLE = "cable.0"  # the name of the guest's serial port that carries a cable

# A line of the cable each time that the host's end is connected.
CARRY = f"""
for one in /sys/class/virtio-ports/*; do [ "$(cat "$one/name" 2>/dev/null)" != {CABLE} ] || port=${{one##*/}}; done
exec 3<>"/dev/$port"
while :; do
  until grep -q 'host_connected: 1\\|host_connected: yes' "/sys/kernel/debug/virtio-ports/$port"; do sleep 0.1; done
  exec 4<>/dev/lab_cable0
  cat <&4 >&3 & out=$!
  cat <&3 >&4
  kill $out; wait $out
  exec 4>&-
done
"""

# systemd's client of DHCP at one interface, without the rest of systemd; as in a container, where no udevd tells what is ready.
NETWORKD = """
echo systemd-network:x:998:998::/:/usr/sbin/nologin >>/etc/passwd; echo systemd-network:x:998: >>/etc/group
echo 0123456789abcdef0123456789abcdef >/etc/machine-id
mkdir -p /etc/systemd/network /run/systemd/netif/links /run/systemd/netif/leases; chown -R 998:998 /run/systemd/netif
cat >/etc/systemd/network/only.network <<END
[Match]
Name={interface}
[Network]
DHCP=ipv4
IPv6AcceptRA=no
LinkLocalAddressing=no
END
setsid unshare -m sh -c 'mount -o remount,ro /sys; SYSTEMD_LOG_TARGET=console exec /usr/lib/systemd/systemd-networkd' </dev/null >/run/networkd.log 2>&1 &
"""


class ForeignGuest:
    """Runs until the test ends. `options`: more of lab/vm's."""

    def __init__(self, test, folder, *options):
        self.folder = folder / "lab"
        test.addCleanup(self.lab, "down")
        self.lab("up", "1", "--no-rdma", "--layer", "ipoib", "--memory", "768", "--boot-timeout", str(BOOT_S),
                 "--qemu=-chardev", f"--qemu=socket,id=cable,path={CABLE}.sock,server=on,wait=off",
                 "--qemu=-device", f"--qemu=virtserialport,bus=agent.0,chardev=cable,name={CABLE}", *options)

    def lab(self, *words, check=True, timeout=BOOT_S + 30):
        done = subprocess.run([str(ROOT / "lab" / "vm"), *words], env=os.environ | {"LAB_STATE": str(self.folder)}, capture_output=True,
                              text=True, timeout=timeout, check=False, stdin=subprocess.DEVNULL)
        if check and done.returncode != 0:
            raise AssertionError(f"lab/vm {' '.join(words)}: exit status {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout

    @property
    def cable(self):
        """The socket of the guest's end of the cable."""
        return self.folder / "vm1" / f"{CABLE}.sock"

    def run(self, script, check=True):
        """What a script of the guest's shell prints."""
        return self.lab("run", "--timeout", str(PATIENCE_S), "1", "--", "sh", "-c", script, check=check, timeout=PATIENCE_S + 20)

    def load(self, *parameters):
        self.run(f"insmod /usr/lib/lab/ib_lab.ko {' '.join(parameters)} && modprobe ib_ipoib")

    def plug_in(self):
        """The cable into lab0."""
        self.run(f"echo '{CARRY.replace(chr(39), chr(39) + chr(92) + chr(39) + chr(39))}' >/run/carry; setsid sh /run/carry </dev/null >/run/carry.log 2>&1 &")

    def ask_for_address(self, interface):
        """By DHCP."""
        self.run(NETWORKD.format(interface=interface))

    def says(self, script, text):
        """Whether a script prints this."""
        return text in self.run(script, check=False)

    def wait_active(self, name="lab0"):
        self.wait_state("ACTIVE", name)

    def wait_state(self, state, name="lab0"):
        wait_for(lambda: self.says(f"cat /sys/class/infiniband/{name}/ports/1/state", state), f"{name} of the guest to be {state}")

    def wait_for(self, address, *words, inside=""):
        wait_for(lambda: self.says(f"{inside} ping -c 1 -W 1 {' '.join(map(str, words))} {address}", " 0% packet loss"),
                 f"{address} to answer the guest")

    def pings(self, address, *words):
        return self.says(f"ping -c 1 -W 2 {' '.join(map(str, words))} {address}", " 0% packet loss")

    def counter(self, name):
        """Of the adapter."""
        return int(self.run(f"cat /sys/module/ib_lab/parameters/{name}"))

    def complaints(self):
        """The guest's kernel's, and what the adapter could make nothing of."""
        odd = re.findall(r"^\[[^]]*\] (?:ib\d|lab\d|WARNING|BUG|Oops):.*", self.run("dmesg"), re.M)
        return odd + [f"{name}: {count}" for name in ("refused", "full_queues", "for_no_pair") if (count := self.counter(name))]
