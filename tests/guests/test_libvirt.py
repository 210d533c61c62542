"""A domain of `paravane vm libvirt-xml`, in a real libvirtd of the test's own."""
import os
import pathlib
import shutil
import subprocess
import unittest

from guests import Failed, wait_for
from power_rig import QEMU_USER, PowerRig

QEMU_CONF = """
user = "{user}"
group = "{group}"
security_driver = "none"
remember_owner = 0
cgroup_controllers = []
namespaces = []
stdio_handler = "file"
"""
LIBVIRTD_CONF = """
unix_sock_dir = "{folder}"
auth_unix_rw = "none"
log_outputs = "2:file:{folder}/libvirtd.log"
"""


def seen_by_libvirt():
    return shutil.which("libvirtd") and shutil.which("virsh")


@unittest.skipUnless(seen_by_libvirt(), "libvirt is not installed (scripts/setup)")
class Libvirt(unittest.TestCase):
    """libvirtd keeps its files where it was built to, so it has a mount namespace of its own."""

    @classmethod
    def setUpClass(cls):
        cls.rig = PowerRig()
        cls.addClassCleanup(cls.rig.close)
        cls.folder = cls.rig.folder / "libvirt"
        # The user that Debian's libvirt-daemon-system makes must be there, even if another one is meant.
        for name, line in ("passwd", "libvirt-qemu:x:64055:64055::/nonexistent:/usr/sbin/nologin"), ("group", "libvirt-qemu:x:64055:"):
            cls.folder.mkdir(exist_ok=True)
            (cls.folder / name).write_text(pathlib.Path("/etc", name).read_text() + line + "\n")
        for name in ("etc/libvirt", "lib", "run", "cache", "log"):
            (cls.folder / name).mkdir(parents=True)
        cls.folder.chmod(0o711)
        (cls.folder / "etc/libvirt/qemu.conf").write_text(QEMU_CONF.format(user=QEMU_USER, group="nogroup"))
        (cls.folder / "libvirtd.conf").write_text(LIBVIRTD_CONF.format(folder=cls.folder))
        cls.start_libvirtd()
        cls.rig.add_guest(1)

    @classmethod
    def start_libvirtd(cls):
        folders = {"etc/libvirt": "/etc/libvirt", "lib": "/var/lib/libvirt", "run": "/run/libvirt", "cache": "/var/cache/libvirt",
                   "log": "/var/log/libvirt"}
        mounts = "".join(f"mkdir -p {there} && mount --bind {cls.folder / here} {there} && " for here, there in folders.items())
        mounts += "".join(f"mount --bind {cls.folder / name} /etc/{name} && " for name in ("passwd", "group"))
        # Where QEMU cannot use the /dev/kvm that is there, libvirt takes its answer for an old one, and asks again for
        # each device of a domain: a minute. One that nobody may open is none.
        no_kvm = cls.folder / "kvm"
        no_kvm.touch(mode=0o000)
        mounts += f"{{ [ ! -e /dev/kvm ] || mount --bind {no_kvm} /dev/kvm; }} && "
        script = f"{mounts}exec libvirtd -f {cls.folder}/libvirtd.conf -p {cls.folder}/pid"
        log = (cls.folder / "out").open("w")
        cls.libvirtd = subprocess.Popen(["ip", "netns", "exec", cls.rig.namespace, "unshare", "--mount", "sh", "-c", script],
                                        stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        log.close()
        cls.addClassCleanup(cls.libvirtd.wait, 30)
        cls.addClassCleanup(cls.libvirtd.terminate)
        try:
            wait_for("libvirtd answers", lambda: cls.virsh("list", check=False).returncode == 0, 60)
        except Failed as late:
            raise Failed(f"{late}\n{(cls.folder / 'out').read_text()}") from None

    @classmethod
    def virsh(cls, *words, check=True):
        done = subprocess.run(["virsh", "-c", f"qemu+unix:///system?socket={cls.folder}/libvirt-sock", *words],
                              capture_output=True, text=True, timeout=120, check=False, stdin=subprocess.DEVNULL)
        if check and done.returncode != 0:
            log = cls.folder / "log/qemu/vm1.log"
            raise Failed(f"virsh {' '.join(words)}: {done.stderr}\n{log.read_text()[-3000:] if log.exists() else ''}")
        return done

    def test_a_domain_is_defined_started_and_has_its_device(self):
        xml = self.rig.run("vm", "libvirt-xml", "vm1", "--bridge", "br0", "--emulator",
                           str(self.rig.folder / "qemu" / "qemu-system-x86_64"))
        console = self.rig.folder / "serial"
        # A file is easier to read than a terminal; its directory lets libvirt make it.
        domain = self.rig.folder / "vm1.xml"
        domain.write_text(xml.replace("<serial type='pty'/>", f"<serial type='file'><source path='{console}'/></serial>"))
        self.rig.ip("link", "del", "pv-vm1")
        self.virsh("define", "--validate", str(domain))
        self.virsh("start", "vm1")
        self.addCleanup(self.virsh, "destroy", "vm1", check=False)

        def active():
            return self.rig.row("vm1")["state"] == "active"
        wait_for("the guest's driver has its device", active, 120, 0.2)
        row = self.rig.row("vm1")
        self.assertEqual(row["power"], "attached")
        self.assertIn("was not started by Paravane", self.rig.run("vm", "stop", "vm1", status=1))
        self.assertIn("already running (process", self.rig.run("vm", "start", "vm1", status=1))
        wait_for("the guest is up", lambda: b"LAB-READY vm1" in console.read_bytes(), 60, 0.2)
        self.virsh("destroy", "vm1")
        wait_for("the device is free", lambda: self.rig.row("vm1")["state"] == "detached", 10)
        self.virsh("undefine", "vm1")
        self.assertNotIn("vm1", self.virsh("list", "--all").stdout)

    def test_an_adapter_is_added_through_libvirt_while_the_vm_runs(self):
        self.rig.run("vm", "add", "empty", "--memory", "64M", "--accelerator", "tcg",
                     "--qemu-arg=-device", "--qemu-arg=pcie-root-port,id=spare,chassis=20,addr=1d.0,mem-reserve=8M")
        xml = self.rig.run("vm", "libvirt-xml", "empty", "--bridge", "br0", "--emulator",
                           str(self.rig.folder / "qemu" / "qemu-system-x86_64"))
        domain = self.rig.folder / "empty.xml"
        domain.write_text(xml)
        self.virsh("define", str(domain))
        self.addCleanup(self.virsh, "undefine", "empty", check=False)
        self.virsh("start", "empty")
        self.addCleanup(self.virsh, "destroy", "empty", check=False)
        self.rig.run("vm", "adapter", "add", "empty")
        # Of no network, since libvirt knows of none.
        script = self.rig.run("vm", "hot-add-commands", "empty", "--adapter", "2", "--bus", "spare", "--netdev", "none",
                              "--virsh", "empty")
        done = subprocess.run(["sh", "-e", "-c", script], capture_output=True, text=True, timeout=60, check=False,
                              env={**os.environ, "LIBVIRT_DEFAULT_URI": f"qemu+unix:///system?socket={self.folder}/libvirt-sock"})
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertNotIn("error", done.stdout + done.stderr)
        wait_for("both are attached", lambda: [row["state"] for row in self.rig.rows("empty")] == ["attached"] * 2, 10)


if __name__ == "__main__":
    unittest.main()
