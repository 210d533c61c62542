"""Asynchronous events as a guest's own program sees them: rdma-core's ibv_asyncwatch
prints each event of a device."""
import json
import unittest

from rig import Exchange, Rig, wait_for

WATCH = "ibv_asyncwatch -d vmw_pvrdma0 > /tmp/events 2>&1"


class Events(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        cls.rig = Rig()
        cls.addClassCleanup(cls.rig.close)
        cls.rig.up(2)
        cls.exchange = Exchange(cls.rig, server=1, client=2)

    def setUp(self):
        self.watch = self.rig.spawn(1, "sh", "-c", WATCH)
        self.addCleanup(self.end_watch)
        self.rig.shell(1, "until grep -q 'async event' /tmp/events; do sleep 0.1; done")

    def end_watch(self):
        self.watch.process.kill()
        self.watch.process.communicate()
        self.rig.shell(1, "killall ibv_asyncwatch; rm -f /tmp/events", timeout=30)

    def wait_event(self, text):
        wait_for(f"ibv_asyncwatch: {text}", lambda: text in self.rig.shell(1, "cat /tmp/events"), 20, 0.3)

    def port(self):
        return self.rig.guest(1, "rdma", "link", "show")

    def test_port_goes_down_and_up_with_the_switch(self):
        self.rig.cli("vm", "adapter", "disconnect", "vm1")
        self.wait_event("IBV_EVENT_PORT_ERR")
        self.assertIn("state DOWN physical_state DISABLED", self.port())
        listed = json.loads(self.rig.cli("--formatter=json", "vm", "list").stdout)
        self.assertEqual([row["adapters"][0]["connected"] for row in listed], [False, True])
        ping = ["ibv_rc_pingpong", "-d", "vmw_pvrdma0", "-g", "0", "-n", "100"]
        code, _ = self.rig.spawn(2, *ping, self.exchange.address, timeout=5).finish(60)
        self.assertNotEqual(code, 0)
        self.rig.cli("vm", "adapter", "connect", "vm1")
        self.wait_event("IBV_EVENT_PORT_ACTIVE")
        self.assertIn("state ACTIVE physical_state LINK_UP", self.port())
        self.exchange.run(ping, [*ping, self.exchange.address], port=18515)

    def test_nic_of_the_guest_goes_down_and_up(self):
        nic = self.rig.shell(1, "ls /sys/class/net | grep -v lo | head -1").strip()
        self.rig.shell(1, f"ip link set {nic} down")
        self.wait_event("IBV_EVENT_PORT_ERR")
        self.rig.shell(1, f"ip link set {nic} up")
        self.wait_event("IBV_EVENT_PORT_ACTIVE")

    def test_new_address_changes_the_gids(self):
        nic = self.rig.shell(1, "ls /sys/class/net | grep -v lo | head -1").strip()
        self.rig.shell(1, f"ip addr add 10.99.0.1/24 dev {nic}")
        self.wait_event("IBV_EVENT_GID_CHANGE")
        self.rig.shell(1, f"ip addr del 10.99.0.1/24 dev {nic}")


class DeviceIsTakenAway(unittest.TestCase):

    def test_program_is_told(self):
        rig = Rig()
        self.addCleanup(rig.close)
        rig.up(1)
        rig.spawn(1, "sh", "-c", WATCH)
        rig.shell(1, "until grep -q 'async event' /tmp/events; do sleep 0.1; done")
        rig.cli("vm", "remove", "vm1", "--force")
        wait_for("ibv_asyncwatch: device fatal",
                 lambda: "IBV_EVENT_DEVICE_FATAL" in rig.shell(1, "cat /tmp/events"), 20, 0.3)


if __name__ == "__main__":
    unittest.main()
