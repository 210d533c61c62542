"""Mellanox's InfiniBand guide, Rev. 1.30, its sections of storage: typed as it has them, with LIO on a VM as the target. A name of a test has
its section."""
import re
import unittest

from guests import wait_for
from srp_client import UNREACHABLE, LunClient
from srp_rig import PATIENCE_S, Lun, SrpPowerRig, in_target, naa, permit, port_folder, serve, target_gid

SERIAL = "aabbccdd0021"
PORTS = range(1, 6)  # of the target: one more than max_srp_targets=4 allows
TAKES_EFFECT = "esxcfg-module: the change takes effect with: paravane infiniband restart\n"


class MellanoxGuideStorage(unittest.TestCase):
    """vm1 offers vmhba32 a LUN at each of its ports, and vmhba33 at the first one. The subnet's manager is at another adapter."""

    client = None

    @classmethod
    def setUpClass(cls):
        cls.rig = SrpPowerRig(adapters=len(PORTS), hcas=2)
        cls.addClassCleanup(cls.rig.close)
        cls.storage = cls.rig.storage
        cls.lun = Lun(0, SERIAL, file="/dev/ram0")
        cls.rig.shell(1, serve(cls.lun, initiators=[cls.storage.initiator()], adapters=PORTS))
        cls.permit("vmhba33")
        cls.storage.rescan()
        cls.wait_paths(vmhba32=5, vmhba33=1)

    @classmethod
    def permit(cls, *vmhbas):
        """Each of them at the target's first port."""
        cls.rig.shell(1, in_target("".join(permit(port_folder(), cls.storage.initiator(vmhba), cls.lun) for vmhba in vmhbas)))

    @classmethod
    def paths_of(cls, text):
        """vmhba -> number of its paths that work, in what esxcfg-mpath -l prints."""
        found = re.findall(r"(?m)^   Runtime Name: (vmhba\d+):C0:T\d+:L0$(?:\n   .*)*\n   State: (?:active|standby)$", text)
        return {vmhba: found.count(vmhba) for vmhba in found}

    @classmethod
    def wait_paths(cls, **wanted):
        wait_for(f"paths of {wanted}", lambda: cls.storage.paths() and cls.paths_of(cls.storage.type("esxcfg-mpath -l")) == wanted, PATIENCE_S, 0.5)

    def restart_with(self, options):
        self.assertEqual(self.typed(f"esxcfg-module ib_srp -s '{options}'"), TAKES_EFFECT)
        self.assertEqual(self.typed("esxcfg-module ib_srp -g"), f"ib_srp enabled = 1 options = '{options}'\n")
        self.typed("paravane infiniband restart")
        self.storage.wait_up()

    def restore(self):
        self.restart_with("")
        self.wait_paths(vmhba32=5, vmhba33=1)

    def typed(self, line):
        """What a line prints, on both of its streams."""
        return self.storage.type(f"{line} 2>&1")

    def test_M4_4_3_1_max_srp_targets(self):
        self.assertEqual(self.typed("esxcfg-module ib_srp -d"), TAKES_EFFECT)
        self.assertEqual(self.typed("esxcfg-module ib_srp -e"), "")  # as it was
        self.assertRegex(self.typed("vmkload_mod ib_srp -s"), r"(?m)^  max_srp_targets: int$")
        self.restart_with("max_srp_targets=4")
        self.addCleanup(self.restore)
        wait_for("four paths, and what is left out", lambda: "max_srp_targets=4" in self.vmhba("vmhba32")["problem"] and
                 self.paths_of(self.typed("esxcfg-mpath -l")).get("vmhba32") == 4, PATIENCE_S, 0.5)
        self.assertEqual(sum(one["vmhba"] == "vmhba32" for one in self.storage.targets()), 4)

    def test_M4_4_3_2_max_vmhbas(self):
        before = {one["name"]: (one["adapter"], one["port"]) for one in self.storage.vmhbas()}
        self.restart_with("max_vmhbas=2")
        self.addCleanup(self.restore)
        after = {one["name"]: (one["adapter"], one["port"]) for one in self.storage.vmhbas()}
        self.assertEqual(sorted(after.values()), sorted(2 * list(before.values())))
        shown = re.findall(r"(?m)^(vmhba\d+) +(\w+) port (\d) +0x\w+ +Active$", self.typed("ibstat -vmhba"))
        self.assertEqual({vmhba: (adapter, int(port)) for vmhba, adapter, port in shown}, after)
        second = next(name for name, place in after.items() if name not in before and place == before["vmhba32"])
        self.permit(second)
        self.typed(f"esxcfg-rescan {second}")
        self.wait_paths(**{"vmhba32": 5, "vmhba33": 1, second: 1})

    def test_M4_4_5_failover_of_storage_to_another_port(self):
        client = self.client_of_lun()
        path = client.working_path()
        vmhba = self.vmhba(path.partition(":")[0])
        port = f"{vmhba['adapter']} port {vmhba['port']}"
        client.begin_fio()
        self.addCleanup(self.storage.set_cable, port, True)
        self.storage.set_cable(port, False)
        client.wait_states("the paths by that port to be dead, and by the other one not",
                           lambda states: all((state == "dead") == one.startswith(f"{vmhba['name']}:") for one, state in states.items()))
        self.assertEqual(client.device()["Status"], "degraded")
        client.wait_written("fio to go on by the other port")
        self.storage.set_cable(port, True)
        self.check_it_returns_to(path, client)

    def test_M4_4_5_failover_of_storage_to_another_path(self):
        client = self.client_of_lun()
        path = client.working_path()
        adapter = next(str(one) for one in PORTS if target_gid(one) == client.target_of(path))
        client.begin_fio()
        self.addCleanup(self.rig.cli, "vm", "adapter", "connect", "vm1", adapter)
        self.rig.cli("vm", "adapter", "disconnect", "vm1", adapter)
        client.wait_states("the path to be dead", lambda states: states[path] == "dead")
        self.assertNotIn(client.working_path(), ("", path))
        client.wait_written("fio to go on by another path")
        self.rig.cli("vm", "adapter", "connect", "vm1", adapter)
        self.check_it_returns_to(path, client)

    def check_it_returns_to(self, path, client):
        client.wait_states("the preferred path", lambda states: states[path] == "active")
        client.wait_states("all paths", lambda states: "dead" not in states.values())
        client.check_fio_is_right()
        self.assertEqual(self.storage.events(UNREACHABLE), [])
        self.assertEqual(client.sum_of_ram(), client.sum())

    @classmethod
    def client_of_lun(cls):
        """vm2, once for all tests."""
        cls.client = cls.client or LunClient(cls.rig, 2, naa(SERIAL))
        return cls.client

    def vmhba(self, name):
        return next(one for one in self.storage.vmhbas() if one["name"] == name)


if __name__ == "__main__":
    unittest.main()
