"""Life and death of guests, drivers, programs and the daemon; after each: no leak,
nobody else harmed, the right error at the peer, and the next run works."""
import time
import unittest

from rig import Exchange, Rig, wait_for

WRITE = ["ib_write_bw", "-d", "vmw_pvrdma0", "-F", "-n", "500"]
OBJECTS_OF_AN_IDLE_DRIVER = {"contexts": 0, "queue_pairs": 1, "protection_domains": 1, "memory_regions": 1,
                             "completion_queues": 1}


class Life(unittest.TestCase):
    """Two guests; a third stays as the bystander."""

    @classmethod
    def setUpClass(cls):
        cls.rig = Rig()
        cls.addClassCleanup(cls.rig.close)
        cls.rig.up(3)
        cls.exchange = Exchange(cls.rig, server=1, client=2)
        cls.next_run_works(cls)
        time.sleep(1)
        cls.at_rest = cls.host_resources(cls)

    # ---- what holds after each ----

    def next_run_works(self):
        self.exchange.run(WRITE, [*WRITE, self.exchange.address], port=18515)

    def host_resources(self):
        process = self.rig.engine()
        maps = (process / "maps").read_text().count("\n")
        resident = int((process / "statm").read_text().split()[1]) * 4
        anonymous = next(int(line.split()[1]) for line in (process / "status").read_text().splitlines()
                         if line.startswith("RssAnon"))
        return {"descriptors": len(list((process / "fd").iterdir())), "mappings": maps, "resident": resident,
                "anonymous_kib": anonymous}

    def assert_nothing_leaked(self):
        for vm in ("vm1", "vm2", "vm3"):
            wait_for(f"{vm} holds only its driver's own objects", lambda vm=vm: self.holds_only_the_drivers(vm), 20, 0.2)
        # The daemon closes a connection to its API after its client does.
        wait_for("its descriptors are as many as at rest",
                 lambda: self.host_resources()["descriptors"] <= self.at_rest["descriptors"], 20, 0.2)
        now = self.host_resources()
        self.assertLessEqual(now["mappings"], self.at_rest["mappings"] + 8, now)
        self.assertLess(now["anonymous_kib"], self.at_rest["anonymous_kib"] + 8192, now)

    def holds_only_the_drivers(self, vm):
        objects = self.rig.stats(vm)
        return all(objects[name] == count for name, count in OBJECTS_OF_AN_IDLE_DRIVER.items())

    def assert_all_is_well(self):
        self.next_run_works()
        self.assert_nothing_leaked()
        self.rig.guest(3, "ibv_devinfo")

    def start_endless_writes(self, *more):
        """A long transfer from vm2 to vm1 with thousands of requests outstanding."""
        words = ["ib_write_bw", "-d", "vmw_pvrdma0", "-F", "-q", "16", "-t", "512", "-D", "60", *more]
        server = self.rig.spawn(1, *words)
        self.rig.wait_listening(1, 18515)
        client = self.rig.spawn(2, *words, self.exchange.address)
        sent = self.rig.stats("vm2")["sends"]
        wait_for("the transfer runs", lambda: self.rig.stats("vm2")["sends"] > sent + 1000, 60)
        return server, client

    def wait_active(self):
        self.rig.shell(1, "i=0; until ibv_devinfo -v | grep -q PORT_ACTIVE; do i=$((i+1)); [ $i -lt 50 ] || exit 1; sleep 0.2; done")

    # ---- the ways to die ----

    def test_C80_guest_reboot(self):
        self.rig.lab("reboot", "1")
        self.assert_all_is_well()

    def test_C80_hard_reset_in_the_middle_of_a_transfer(self):
        server, client = self.start_endless_writes()
        self.rig.lab("reboot", "--hard", "1")
        server.process.kill()
        server.process.communicate()
        code, text = client.finish(90)
        self.assertNotEqual(code, 0)
        self.assertRegex(text, r"status 12|retry exceeded|transport retry|Completion with error")
        self.assert_all_is_well()

    def test_C80_probe_that_fails_for_want_of_the_paired_nic(self):
        self.rig.shell(1, """
            modprobe -r vmw_pvrdma
            echo 0000:00:10.0 > /sys/bus/pci/drivers/vmxnet3/unbind
            modprobe vmw_pvrdma; [ -z "$(ls /sys/class/infiniband)" ] || exit 1
            dmesg | tail -1 | grep -q 'failed to get vmxnet3 device' || exit 2
            echo 0000:00:10.0 > /sys/bus/pci/drivers/vmxnet3/bind
            ip link set eth0 up && ip addr add 10.77.0.1/24 dev eth0
            modprobe -r vmw_pvrdma && modprobe vmw_pvrdma""")
        self.wait_active()
        self.assert_all_is_well()

    def test_C77_driver_unloaded_and_loaded_twenty_times(self):
        self.rig.shell(1, "i=0; while [ $i -lt 20 ]; do modprobe -r vmw_pvrdma && modprobe vmw_pvrdma || exit 1; "
                       "i=$((i+1)); done", timeout=240)
        self.wait_active()
        self.assert_all_is_well()

    def test_C77_driver_unbound_and_bound_twenty_times(self):
        self.rig.shell(1, "cd /sys/bus/pci/drivers/vmw_pvrdma; i=0; while [ $i -lt 20 ]; do echo 0000:00:10.1 > unbind && "
                       "echo 0000:00:10.1 > bind || exit 1; i=$((i+1)); done", timeout=240)
        self.wait_active()
        self.assert_all_is_well()

    def test_C79_program_killed_with_thousands_of_requests_outstanding(self):
        server, client = self.start_endless_writes()
        self.rig.shell(2, "pkill -9 ib_write_bw || killall -9 ib_write_bw")
        client.finish(30)
        self.rig.shell(1, "pkill -9 ib_write_bw || killall -9 ib_write_bw || true")
        server.finish(30)
        self.assert_all_is_well()

    def test_server_program_killed_gives_the_client_retry_exceeded(self):
        server, client = self.start_endless_writes()
        self.rig.shell(1, "pkill -9 ib_write_bw || killall -9 ib_write_bw")
        server.finish(30)
        code, text = client.finish(90)
        self.assertNotEqual(code, 0)
        self.assertRegex(text, r"status 12|retry exceeded|Completion with error")
        self.assert_all_is_well()

    def test_vmm_killed_while_it_talks_to_another(self):
        server, client = self.start_endless_writes()
        self.rig.lab("kill", "1")
        server.process.kill()
        server.process.communicate()
        code, text = client.finish(90)
        self.assertNotEqual(code, 0)
        self.assertRegex(text, r"status 12|retry exceeded|Completion with error")
        self.assertFalse(self.rig.attached("vm1"))
        self.rig.up(3)
        self.assert_all_is_well()

    def test_removed_and_added_again(self):
        refused = self.rig.cli("vm", "remove", "vm1", check=False)
        self.assertNotEqual(refused.returncode, 0)
        self.assertIn("vm1", refused.stderr)
        self.assertIn("--force", refused.stderr)
        self.rig.lab("down", "1")
        wait_for("vm1 is detached", lambda: not self.rig.attached("vm1"), 20)
        self.rig.cli("vm", "remove", "vm1")
        self.rig.up(3)
        self.assert_all_is_well()


class DaemonStop(unittest.TestCase):
    """The daemon is told to stop while guests run."""

    def test_attached_guests_are_named_and_work_after_their_restart(self):
        rig = Rig()
        self.addCleanup(rig.close)
        rig.up(2)
        refused = rig.cli("daemon", "stop", check=False)
        self.assertNotEqual(refused.returncode, 0)
        for word in ("vm1", "vm2", "--force"):
            self.assertIn(word, refused.stderr)
        self.assertIsNone(rig.daemon.poll())
        rig.cli("daemon", "stop", "--force")
        self.assertEqual(rig.daemon.wait(20), 0)
        rig.start_daemon()
        names = rig.cli("--formatter=csv", "vm", "list").stdout
        self.assertIn("vm1", names)
        rig.lab("down")
        rig.up(2)
        exchange = Exchange(rig)
        exchange.run(WRITE, [*WRITE, exchange.address], port=18515)


if __name__ == "__main__":
    unittest.main()
