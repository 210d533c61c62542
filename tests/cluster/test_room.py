"""A member that fills etcd: the others can write again in a minute, and nothing has to be typed."""

import subprocess
import threading
import time

from etcd_request import ROOT, coded
from hosts import ClusterTest, Host, wait_for

QUOTA = 16 << 20  # bytes, where 512 MiB take a member minutes
FLOOD_S = 240  # at most, until it is stopped: where the processors have other work, too
AGAIN_S = 60


class Room(ClusterTest):
    def hosts_with_a_small_etcd(self):
        hosts = [Host(self, number).start() for number in (1, 2, 3)]
        program = hosts[0].folder / "etcd"
        program.write_text(f'#!/bin/sh\nexec etcd "$@" --quota-backend-bytes {QUOTA}\n')
        program.chmod(0o755)
        hosts[0].end()
        hosts[0].write_config(f'etcd_program = "{program}"\n')
        hosts[0].start()
        hosts[0].cli("cluster", "init", "--name", "h1")
        for host in hosts[1:]:
            host.cli("cluster", "join", text=hosts[0].token(host.name) + "\n")
        return hosts

    def flood(self, host, enough):
        """What fits into a word of a command line, below its own prefix, as fast as it can."""
        number = 0
        while not enough.is_set():
            bodies = [{"key": coded(f"{ROOT}hosts/{host.name}/x{number + i}"), "value": coded("x" * 90_000)} for i in range(20)]
            number += len(bodies)
            try:
                host.etcd("/v3/kv/put", *bodies)
            except (KeyError, ValueError, subprocess.CalledProcessError):
                time.sleep(0.1)

    def can_write(self, host):
        return host.cli("vds", "create", "lan", check=False).returncode == 0

    def test_the_others_write_again_and_the_one_does_not(self):
        h1, h2, h3 = self.hosts_with_a_small_etcd()
        enough = threading.Event()
        flood = threading.Thread(target=self.flood, args=(h2, enough))
        flood.start()
        self.addCleanup(enough.set)
        for line in "etcd accepts no more writes", "host h2 writes more to the inventory than a host needs":
            wait_for(lambda line=line: line in h1.log_text(), f"{line} in the log of h1", FLOOD_S)
        began = time.monotonic()
        wait_for(lambda: self.can_write(h1), "etcd to take writes")
        h3.end()
        h3.start()
        wait_for(h3.connected, "h3 to be there again")
        self.assertLess(time.monotonic() - began, AGAIN_S)
        h1.wait_log("etcd accepts writes again")
        enough.set()
        flood.join()
        self.assertFalse(h2.connected())
        h1.cli("cluster", "remove", "h2")
        wait_for(lambda: h1.present() == h3.present() == ["h1", "h3"], "the others")
