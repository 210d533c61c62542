"""Making, joining and leaving a cluster."""

import base64
import json
import os
import pathlib
import shutil
import stat
import subprocess
import tempfile
import time
import unittest

from hosts import BIN, PATIENCE_S, ClusterTest, Host, wait_for
from rig import is_alive


def altered(token, **changes):
    """The token with other contents."""
    text = token.removeprefix("pvt1.").replace("-", "+").replace("_", "/")
    value = json.loads(base64.b64decode(text + "=" * (-len(text) % 4)))
    value.update(changes)
    # As the program prints it: keys in order, nothing between.
    text = json.dumps(dict(sorted(value.items())), separators=(",", ":"))
    return "pvt1." + base64.b64encode(text.encode(), altchars=b"-_").decode().rstrip("=")


class Membership(ClusterTest):
    def test_hosts_join_and_see_one_another_and_leave(self):
        h1, h2, h3 = self.cluster(3)
        status = h2.status()
        self.assertEqual(status["host"], "h2")
        self.assertEqual(status["authority"], "h1")
        self.assertTrue(status["connected"])
        self.assertEqual(status["cluster"], h1.status()["cluster"])
        self.assertEqual(status["lost"], [])
        h2.cli("vm", "add", "db1")
        wait_for(lambda: [host["adapters"] for host in h3.status()["hosts"]] == [0, 1, 0], "the VM")
        h2.cli("cluster", "leave")
        self.assertEqual(h2.status(), {"member": False})
        self.assertFalse((h2.state / "cluster").exists())
        wait_for(lambda: h3.present() == ["h1", "h3"], "h2 to be gone")
        self.assertEqual(h2.cli("cluster", "status").stdout, "this host is not in a cluster\n")
        self.assertIn("h3", h1.refused("cluster", "leave"))
        h3.cli("cluster", "leave")
        h1.cli("cluster", "leave")
        self.assertFalse((h1.state / "cluster").exists())
        wait_for(lambda: "etcd" not in h1.children(), "etcd to end")

    def test_a_host_can_come_again(self):
        h1, h2 = self.cluster(2)
        h2.cli("cluster", "leave")
        h2.cli("cluster", "join", text=h1.token("h2"))
        wait_for(lambda: h1.present() == ["h1", "h2"], "h2")

    def test_all_comes_back_after_a_restart(self):
        h1, h2 = self.cluster(2)
        before = h1.status()["cluster"]
        h2.cli("vm", "add", "db1")
        self.assertEqual(h1.end(), 0, h1.log_text())
        h1.start()
        wait_for(lambda: h1.present() == ["h1", "h2"], "all to be seen")
        self.assertEqual(h1.status()["cluster"], before)
        h2.end(kill=True)
        h2.start()
        wait_for(h2.connected, "h2")
        wait_for(lambda: [host["adapters"] for host in h1.status()["hosts"]] == [0, 1], "the VM")

    def test_a_host_that_is_gone_is_taken_out(self):
        h1, h2 = self.cluster(2)
        h2.end(kill=True)
        h1.cli("cluster", "remove", "h2")
        wait_for(lambda: h1.present() == ["h1"], "h2 to be gone")
        h2.start()  # it is out, and knows why
        wait_for(lambda: "rejected the login of user paravane-host-h2" in h2.status()["problem"], "a reason")
        complaint = h2.refused("cluster", "leave")
        self.assertIn("h2 is no longer a member", complaint)
        self.assertTrue(complaint.endswith("Leave with paravane cluster leave --force.\n"), complaint)
        h2.cli("cluster", "leave", "--force")
        self.assertEqual(h2.status(), {"member": False})
        self.assertIn("not a member", h1.refused("cluster", "remove", "h2"))
        self.assertIn("this host is the cluster's authority", h1.refused("cluster", "remove", "h1"))

    def test_a_token_is_good_once(self):
        h1, _ = self.cluster(2)
        h3, h4 = Host(self, 3).start(), Host(self, 4).start()
        token = h1.token("h3")
        h3.cli("cluster", "join", text=token)
        self.assertIn("unknown, used or expired", h4.refused("cluster", "join", text=token))
        self.assertIn("already in cluster", h3.refused("cluster", "join", text=token))
        self.assertIn("h3 is already a member", h1.refused("cluster", "token", "h3"))
        self.assertFalse((h4.state / "cluster").exists())

    def test_a_token_that_is_late_or_forged_is_none(self):
        h1, h2 = self.cluster(1)[0], Host(self, 2).start()
        late = h1.token("h2", "--valid", "1s")
        time.sleep(1.5)
        self.assertIn("unknown, used or expired", h2.refused("cluster", "join", text=late))
        good = h1.token("h2")
        for changes, reason in (({"secret": "0" * 64}, "unknown, used or expired"),
                                ({"id": "0" * 16}, "unknown, used or expired"),
                                ({"authority": "0" * 64}, "not the authority that issued the token"),
                                ({"host": "h9"}, "not the authority that issued the token"),
                                ({"cluster": "0" * 32}, "not the authority that issued the token")):
            self.assertIn(reason, h2.refused("cluster", "join", text=altered(good, **changes)), changes)
        self.assertIn("not a join token", h2.refused("cluster", "join", text=good[:-5]))
        self.assertIn("not a join token", h2.refused("cluster", "join", text="hello"))
        self.assertEqual(altered(good), good)
        h2.cli("cluster", "join", text=good)  # all that did it no harm

    def test_another_host_cannot_pass_for_the_authority(self):
        h1, h2 = self.cluster(2)
        h3 = Host(self, 3).start()
        token = altered(h1.token("h3"), door="10.77.0.2:28249")
        # h2 has a door itself, for what others ask of a member; then a program that says all it likes
        # answers there, with its certificate, which the authority has signed.
        wait_for(lambda: "not the authority that issued the token" in h3.refused(
            "cluster", "join", text=token), "h2 to answer")
        h2.end()
        server = subprocess.Popen(h2.space.words(
            "openssl", "s_server", "-accept", "10.77.0.2:28249", "-cert", h2.file("host.pem"),
            "-key", h2.file("host.pem"), "-CAfile", h2.file("authority.pem"), "-cert_chain",
            h2.file("authority.pem"), "-quiet"), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        self.addCleanup(server.wait, PATIENCE_S)
        self.addCleanup(server.kill)
        wait_for(lambda: "not the authority that issued the token" in h3.refused(
            "cluster", "join", text=token), "somebody to answer")

    def test_nothing_is_readable_by_others_and_no_secret_is_told(self):
        h1, h2 = self.cluster(2)
        token = h1.token("h3")
        secrets = [token, json.loads(h2.file("membership.json").read_text())["etcd_password"],
                   json.loads(h1.file("authority.json").read_text())["etcd_password"],
                   json.loads(base64.b64decode(token[5:].replace("-", "+").replace("_", "/") + "==="))["secret"]]
        for host in (h1, h2):
            self.assertEqual(stat.S_IMODE((host.state / "cluster").stat().st_mode), 0o700)
            for name in os.listdir(host.state / "cluster"):
                path = host.file(name)
                if path.is_file():
                    self.assertEqual(stat.S_IMODE(path.stat().st_mode), 0o600, name)
        self.assertTrue(h1.file("authority.key").exists())
        self.assertFalse(h2.file("authority.key").exists())
        told = [h1.log_text(), h2.log_text(), h1.file("authority.json").read_text().replace(secrets[2], "")]
        for process in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                if (process / "comm").read_text().strip() in ("paravaned", "etcd", "paravane"):
                    told += [(process / "cmdline").read_text(), (process / "environ").read_text()]
            except OSError:
                pass
        for secret in secrets:
            self.assertFalse([text for text in told if secret in text])

    def test_the_engine_is_as_closed_as_ever(self):
        h1, h2 = self.cluster(2)
        for host in (h1, h2):
            engine = host.children()["paravaned"]
            status = pathlib.Path(f"/proc/{engine}/status").read_text()
            self.assertIn("CapBnd:\t0000000000000000" if os.geteuid() == 0 else "CapEff:\t0", status)
            self.assertIn("Seccomp:\t2", status)
        etcd = pathlib.Path(f"/proc/{h1.children()['etcd']}/status").read_text()
        self.assertIn("CapEff:\t0000000000000000", etcd)
        self.assertIn("NoNewPrivs:\t1", etcd)
        self.assertNotIn("Uid:\t0", etcd)

    def test_etcd_ends_with_the_daemon_however_that_ends(self):
        h1, = self.cluster(1)
        for kill in (False, True):
            etcd = wait_for(lambda: h1.children().get("etcd"), "etcd")
            h1.end(kill=kill)
            wait_for(lambda etcd=etcd: not is_alive(etcd), "etcd to end")
            h1.start()
        wait_for(h1.connected, "all to be there")


class OperatorsEtcd(ClusterTest):
    """An etcd that is there already, with TLS by somebody else's authority and users."""

    def setUp(self):
        super().setUp()
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="paravane-etcd-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.wire.space.run("ip", "address", "add", "10.77.0.100/24", "dev", "br0")
        for name in ("other", "ca"):
            subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                            "-subj", "/O=operator", "-addext", "subjectAltName=IP:10.77.0.100", "-keyout",
                            self.folder / "key.pem", "-out", self.folder / f"{name}.pem"],
                           check=True, capture_output=True, timeout=PATIENCE_S)
        self.url = "https://10.77.0.100:2379"
        self.etcd = subprocess.Popen(self.wire.space.words(
            "etcd", "--name", "e", "--data-dir", self.folder / "data", "--listen-client-urls", self.url,
            "--advertise-client-urls", self.url, "--cert-file", self.folder / "ca.pem", "--key-file",
            self.folder / "key.pem", "--logger", "zap", "--log-outputs", self.folder / "log"))
        self.addCleanup(self.etcd.wait, PATIENCE_S)
        self.addCleanup(self.etcd.kill)
        wait_for(lambda: self.ask("/v3/kv/range", {"key": "YQ=="}), "etcd")
        (self.folder / "password").write_text("its own\n")
        self.words = ("--etcd", self.url, "--etcd-authority", str(self.folder / "ca.pem"))
        self.user = ("--etcd-user", "root", "--etcd-password-file", str(self.folder / "password"))

    def ask(self, path, body, token=None):
        words = ["curl", "-s", "--cacert", self.folder / "ca.pem", "-d", json.dumps(body), self.url + path]
        words += ["-H", f"Authorization: {token}"] if token else []
        done = subprocess.run(self.wire.space.words(*words), capture_output=True, text=True, check=False,
                              timeout=PATIENCE_S)
        return json.loads(done.stdout) if done.returncode == 0 else None

    def close(self):
        self.ask("/v3/auth/role/add", {"name": "root"})
        self.ask("/v3/auth/user/add", {"name": "root", "password": "its own"})
        self.ask("/v3/auth/user/grant", {"user": "root", "role": "root"})
        self.ask("/v3/auth/enable", {})

    def test_it_is_used_and_left_as_it_was(self):
        self.close()
        h1, h2 = Host(self, 1).start(), Host(self, 2).start()
        h1.cli("cluster", "init", "--name", "h1", *self.words, *self.user)
        h2.cli("cluster", "join", text=h1.token("h2"))
        wait_for(lambda: h1.present() == ["h1", "h2"], "both")
        self.assertNotIn("etcd", h1.children())
        self.assertEqual(h2.status()["etcd"], [self.url])
        h3 = Host(self, 3).start()
        self.assertIn("already contains another Paravane cluster",
                      h3.refused("cluster", "init", "--name", "h3", *self.words, *self.user))
        h2.cli("cluster", "leave")
        h1.cli("cluster", "leave")
        token = self.ask("/v3/auth/authenticate", {"name": "root", "password": "its own"})["token"]
        everything = {"key": "AA==", "range_end": "AA=="}
        self.assertNotIn("kvs", self.ask("/v3/kv/range", everything, token))
        self.assertEqual(self.ask("/v3/auth/user/list", {}, token)["users"], ["root"])
        self.assertEqual(self.ask("/v3/auth/role/list", {}, token)["roles"], ["root"])
        h3.cli("cluster", "init", "--name", "h3", *self.words, *self.user)

    def test_one_that_lets_everybody_in_or_us_not_is_refused(self):
        host = Host(self, 1).start()
        complaint = host.refused("cluster", "init", *self.words)
        self.assertIn("accepts writes without authentication", complaint)
        self.assertIn("etcdctl auth enable", complaint)
        self.close()
        (self.folder / "password").write_text("wrong")
        self.assertIn("rejected the login of user root", host.refused("cluster", "init", *self.words, *self.user))
        self.assertIn("the CA that signed", host.refused("cluster", "init", "--etcd", self.url))
        self.assertIn("SSL peer certificate", host.refused(  # not by this one
            "cluster", "init", "--etcd", self.url, "--etcd-authority", str(self.folder / "other.pem"), *self.user))
        self.assertEqual(host.status(), {"member": False})


class Alone(ClusterTest):
    def test_a_host_without_an_address_uses_no_network(self):
        host = Host(self, 1)
        host.write_config(address=False)
        host.start()
        complaint = host.refused("cluster", "init")
        self.assertIn("[cluster] address is not set in paravaned.toml", complaint)
        self.assertIn("[cluster] address", host.refused("cluster", "join", text="pvt1.x"))
        sockets = subprocess.run(host.space.words("ss", "-Htuna"), capture_output=True, text=True,
                                 check=True, timeout=PATIENCE_S).stdout
        self.assertEqual(sockets, "")
        self.assertEqual(list(host.children()), ["paravaned"])
        self.assertEqual(host.status(), {"member": False})
        for words in (("leave",), ("token", "h2"), ("remove", "h2")):
            self.assertIn("not in a cluster", host.refused("cluster", *words))

    def test_an_address_of_another_host_is_said_to_be(self):
        host = Host(self, 1)
        host.address = "10.77.0.9"
        host.write_config()
        host.start()
        for complaint in (host.refused("cluster", "init"), host.refused("cluster", "join", text="pvt1.x")):
            self.assertIn("[cluster] address in paravaned.toml is 10.77.0.9, which no NIC of this host has", complaint)
        self.assertEqual(host.status(), {"member": False})
        self.assertFalse((host.state / "cluster").exists())

    def test_the_answer_shows_the_host_in_its_cluster(self):
        h1, h2 = Host(self, 1).start(), Host(self, 2).start()
        made = json.loads(h1.cli("cluster", "init", "--name", "h1", "--formatter=json").stdout)
        self.assertTrue(made["connected"], made)
        self.assertEqual([host["name"] for host in made["hosts"] if host["present"]], ["h1"])
        h1.wait_log("[host] name in paravaned.toml should be h1")
        joined = json.loads(h2.cli("cluster", "join", "--formatter=json", text=h1.token("h2")).stdout)
        self.assertTrue(joined["connected"], joined)
        self.assertEqual([host["name"] for host in joined["hosts"] if host["present"]], ["h1", "h2"])
        h2.wait_log("[host] name in paravaned.toml should be h2")

    def test_words_that_are_no_command_are_said_to_be(self):
        host = Host(self, 1).start()
        for words, reason in ((("token", "H2"), "host H2"), (("token", "h2", "--valid", "25h"), "--valid"),
                              (("init", "--etcd-user", "root"), "--etcd"), (("join", "x"), "x")):
            done = host.cli("cluster", *words, check=False)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(reason, done.stderr)
        for url in ("http://10.77.0.9:2379", "http://127.0.0.1:2379", "https://host.example:2379", "https://10.77.0.9:2379/x"):
            self.assertIn(url, host.refused("cluster", "init", "--etcd", url))
        self.assertIn("cannot read", host.cli("cluster", "join", "--token-file", "/nowhere",
                                              check=False).stderr)

    def test_an_etcd_that_cannot_be_had_is_said_with_the_reason(self):
        host = Host(self, 1, 'etcd_program = "/nowhere/etcd"\n').start()
        complaint = host.refused("cluster", "init")
        self.assertIn("https://10.77.0.1:2379", complaint)
        host.wait_log("apt install etcd-server")
        self.assertNotIn("etcd started (pid", host.log_text())
        self.assertEqual(host.status(), {"member": False})
        self.assertFalse((host.state / "cluster").exists())


if __name__ == "__main__":
    assert BIN.exists()
    unittest.main()
