"""Programs that name their peer by a GID of its choice, not by rdma_cm: of the MAC, the IPv4 and the
IPv6 address. For a test case with `rig`, `exchange` between vm1 and vm2, and `spoken`.
"""
import gid_table
from guests import wait_for

V1, V2 = "IB/RoCE v1", "RoCE v2"


def gids_of(vm):
    return {"MAC": gid_table.made_of_mac(f"52:54:00:77:00:{vm:02x}"), "IPv4": gid_table.made_of(f"10.77.0.{vm}"),
            "IPv6": gid_table.made_of(f"fd77::{vm}")}


class EveryKindOfGid:
    spoken = V2

    def test_programs_by_every_kind_of_gid(self):
        tables = {vm: self.table_with_ipv6(vm) for vm in (1, 2)}
        for kind in ("MAC", "IPv4", "IPv6"):
            for program in (self.ping_pong, self.write_bandwidth):
                with self.subTest(kind=kind, program=program.__name__):
                    program(*(tables[vm][gids_of(vm)[kind]] for vm in (1, 2)))

    def table_with_ipv6(self, vm):
        """The GIDs of vm1 or vm2 by their indices, when it has got an IPv6 address too."""
        self.rig.shell(vm, f"ip addr add fd77::{vm}/64 dev eth0 nodad")
        table = wait_for("the GID of the IPv6 address", lambda: self.table_with(vm, gids_of(vm)["IPv6"]))
        self.assertEqual({entry.type for entry in table}, {self.spoken})
        return {entry.gid: str(entry.index) for entry in table}

    def table_with(self, vm, gid):
        table = gid_table.of(self.rig, vm)
        return table if gid in [entry.gid for entry in table] else None

    def ping_pong(self, server, client):
        words = ["ibv_rc_pingpong", "-e", "-d", "vmw_pvrdma0", "-p", "18600", "-n", "100", "-g"]
        _, text = self.exchange.run([*words, server], [*words, client, self.exchange.address], port=18600)
        self.assertIn("100 iters in", text)

    def write_bandwidth(self, server, client):
        words = ["ib_write_bw", "-d", "vmw_pvrdma0", "-F", "-n", "200", "-p", "18515", "-x"]
        _, text = self.exchange.run([*words, server], [*words, client, self.exchange.address], port=18515)
        self.assertIn("#bytes", text)
