"""An etcd of three members, named by one command: any of them may be gone, or cut off from the others."""

import json
import os
import pathlib
import shutil
import signal
import sqlite3
import subprocess
import tempfile

from hosts import PATIENCE_S, ClusterTest, Host, Namespace, Wire, wait_for

MEMBERS = (1, 2, 3)


class ThreeMembers(ClusterTest):
    def setUp(self):
        super().setUp()
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="paravane-etcd-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.between = Wire()  # of the members alone
        self.addCleanup(self.between.space.close)
        names = ",".join(f"IP:10.77.0.10{number}" for number in MEMBERS)
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj",
                        "/O=operator", "-addext", f"subjectAltName={names}", "-keyout", self.folder / "key.pem", "-out",
                        self.folder / "ca.pem"], check=True, capture_output=True, timeout=PATIENCE_S)
        self.spaces, self.etcds = {}, {}
        for number in MEMBERS:
            self.spaces[number] = Namespace()
            self.addCleanup(self.spaces[number].close)
            self.wire.join(self.spaces[number], f"e{number}", f"10.77.0.10{number}")
            self.between.join(self.spaces[number], f"p{number}", f"10.78.0.{number}", inside="eth1")
        for number in MEMBERS:
            self.start(number)
            self.addCleanup(self.kill, number)
        wait_for(lambda: "kvs" not in (self.ask("/v3/kv/range", {"key": "YQ=="}) or {"kvs": 0}), "etcd")
        self.ask("/v3/auth/role/add", {"name": "root"})
        self.ask("/v3/auth/user/add", {"name": "root", "password": "its own"})
        self.ask("/v3/auth/user/grant", {"user": "root", "role": "root"})
        self.ask("/v3/auth/enable", {})
        (self.folder / "password").write_text("its own\n")

    def start(self, number):
        url, peer = f"https://10.77.0.10{number}:2379", f"http://10.78.0.{number}:2380"
        all_peers = ",".join(f"e{one}=http://10.78.0.{one}:2380" for one in MEMBERS)
        self.etcds[number] = subprocess.Popen(self.spaces[number].words(
            "etcd", "--name", f"e{number}", "--data-dir", self.folder / f"data{number}", "--listen-client-urls", url,
            "--advertise-client-urls", url, "--cert-file", self.folder / "ca.pem", "--key-file", self.folder / "key.pem",
            "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", all_peers,
            "--logger", "zap", "--log-outputs", self.folder / f"log{number}"))

    def kill(self, number):
        self.etcds[number].send_signal(signal.SIGKILL)
        self.etcds[number].wait(PATIENCE_S)

    def ask(self, path, body):
        done = subprocess.run(self.spaces[1].words("curl", "-s", "--cacert", self.folder / "ca.pem", "-d", json.dumps(body),
                                                   f"https://10.77.0.101:2379{path}"),
                              capture_output=True, text=True, check=False, timeout=PATIENCE_S)
        return json.loads(done.stdout) if done.returncode == 0 and "error" not in done.stdout else None

    def groups_of(self, host):
        with sqlite3.connect(host.state / "paravane.db") as database:
            return sorted(name for (name,) in database.execute("select name from port_group"))

    def check_change(self, name):
        """All is connected again, a change is taken, and all follow it."""
        wait_for(lambda: self.hosts[0].cli("portgroup", "create", name, "--vds", "lan", "--vlan", str(10 + len(self.names)),
                                           check=False).returncode == 0, f"{name} to be made")
        self.names.append(name)
        wait_for(lambda: all(self.groups_of(host) == sorted(self.names) for host in self.hosts), f"all to have {name}")
        wait_for(lambda: all(host.connected() and len(host.present()) == 3 for host in self.hosts), "all to be connected")

    def make_cluster(self):
        self.names = []
        self.hosts = [Host(self, number).start() for number in (1, 2, 3)]
        words = [word for number in MEMBERS for word in ("--etcd", f"https://10.77.0.10{number}:2379")]
        self.hosts[0].cli("cluster", "init", "--name", "h1", *words, "--etcd-authority", str(self.folder / "ca.pem"),
                          "--etcd-user", "root", "--etcd-password-file", str(self.folder / "password"))
        for host in self.hosts[1:]:
            host.cli("cluster", "join", text=self.hosts[0].token(host.name) + "\n")
        self.assertEqual(len(self.hosts[2].status()["etcd"]), 3)
        self.hosts[0].cli("vds", "create", "lan")
        for host in self.hosts:
            self.hosts[0].cli("vds", "add-host", "lan", host.name)
        self.check_change("all")

    def test_one_may_be_gone_or_cut_off_from_the_others(self):
        self.make_cluster()
        for number in MEMBERS:
            with self.subTest(killed=number):
                self.kill(number)
                self.check_change(f"killed{number}")
                self.start(number)
                self.wait_healthy(number)
        for number in MEMBERS:
            # Hosts reach it, and it reaches no other member: it answers, and hears nothing new.
            with self.subTest(cut=number):
                self.between.cut(f"p{number}")
                self.check_change(f"cut{number}")
                self.between.mend(f"p{number}")
                self.wait_healthy(number)
        self.assertTrue(all(os.path.exists(f"/proc/{host.daemon.pid}") for host in self.hosts))

    def test_those_who_reach_it_hear_of_a_promotion_there(self):
        self.make_cluster()
        h1, h2, h3 = self.hosts
        backup = self.folder / "backup"
        h1.cli("cluster", "backup", str(backup), "--passphrase-fd", "0", text="correct horse battery\n")
        h1.end(kill=True)
        wait_for(lambda: "h1" not in h3.present(), "h1 to be seen no more")
        h2.cli("cluster", "promote", str(backup), "--passphrase-fd", "0", "--yes", text="correct horse battery\n")
        # It was connected all the time.
        wait_for(lambda: h3.status()["authority"] == "h2", "h3 to follow h2")
        h2.cli("portgroup", "create", "after", "--vds", "lan", "--vlan", "99")
        wait_for(lambda: "after" in self.groups_of(h3), "h3 to have what h2 made")
        h1.start()
        wait_for(lambda: "host h2 was promoted" in h1.cli("cluster", "status").stdout, "h1 to hear of it")
        self.assertIn("host h2 was promoted", h1.refused("cluster", "token", "h9"))

    def wait_healthy(self, number):
        def is_healthy():
            done = subprocess.run(self.spaces[number].words("curl", "-s", "--cacert", self.folder / "ca.pem",
                                                            f"https://10.77.0.10{number}:2379/health"),
                                  capture_output=True, text=True, check=False, timeout=PATIENCE_S)
            return '"true"' in done.stdout
        wait_for(is_healthy, f"member {number} to be healthy")
