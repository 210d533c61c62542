"""The daemon that runs the cluster's etcd is replaced, and etcd goes on."""

import os
import pathlib
import signal
import time
import unittest

from hosts import PATIENCE_S, ClusterTest, wait_for
from rig import is_alive

REPLACED = "the keeper was replaced"
APART_S = 10  # between the beginnings of two upgrades (keeper/succession.h)


class Upgraded(ClusterTest):
    def upgrade(self, host, times=1):
        host.cli("daemon", "upgrade")
        wait_for(lambda: host.log_text().count(REPLACED) == times, "the keeper to be replaced")

    def etcd_of(self, host):
        return wait_for(lambda: host.children().get("etcd"), "etcd")

    def test_etcd_is_the_new_keepers(self):
        host, = self.cluster(1, channels=False)
        wait_for(host.connected, "the inventory")
        etcd = self.etcd_of(host)
        for times in 1, 2:
            self.upgrade(host, times)
            self.assertEqual(self.etcd_of(host), etcd)
            # What it writes is heard.
            with pathlib.Path(f"/proc/{etcd}/fd/2").open("w", encoding="ascii") as said:
                said.write(f"word {times} of etcd's\n")
            host.wait_log(f"etcd: word {times} of etcd's\n")
            wait_for(host.connected, "the inventory")
            if times == 1:
                time.sleep(APART_S)
        # It is started again when it has ended.
        os.kill(etcd, signal.SIGKILL)
        host.wait_log("etcd exited and will be restarted")
        another = wait_for(lambda: host.children().get("etcd") not in (None, etcd) and host.children()["etcd"], "another etcd")
        wait_for(host.connected, "the inventory")
        daemon = host.daemon
        self.assertEqual(host.end(), 0, host.log_text())
        self.assertFalse(is_alive(another) or is_alive(daemon.pid))

    def test_etcd_that_goes_on_ends_with_the_daemon(self):
        host, = self.cluster(1, channels=False)
        wait_for(host.connected, "the inventory")
        etcd = self.etcd_of(host)
        self.upgrade(host)
        host.daemon.terminate()
        self.assertEqual(host.daemon.wait(PATIENCE_S), 0, host.log_text())
        self.assertFalse(is_alive(etcd))


if __name__ == "__main__":
    unittest.main()
