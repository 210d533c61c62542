"""Damaged files of a cluster: the daemon is up with its VMs, names them, and loses nothing of them."""

import json
import os
import random
import unittest

from hosts import ClusterTest, wait_for

FILES = ["membership.json", "authority.json", "authority.key", "authority.pem", "host.pem"]
OF_THE_AUTHORITY = ["authority.json", "authority.key"]


class Files(ClusterTest):
    def damage(self, numbers, file, kind):
        """In place: it keeps its owner and its mode."""
        data = bytearray(file.read_bytes())
        if kind == "gone":
            return file.unlink()
        if kind == "cut":
            data = data[:numbers.randrange(len(data) - 1)]
        elif kind == "empty":
            data = bytearray()
        elif kind == "garbage":
            data = bytearray(numbers.randbytes(len(data)))
        return file.write_bytes(bytes(data))

    def restore(self, host, good):
        owner = host.state.stat()
        for name, data in good.items():
            file = host.file(name)
            if file.exists():
                file.write_bytes(data)
                continue
            fresh = host.file("fresh")
            fresh.write_bytes(data)
            fresh.chmod(0o600)
            os.chown(fresh, owner.st_uid, owner.st_gid)
            fresh.rename(file)

    def test_the_daemon_is_up_with_its_vms_and_mended_without_a_restart(self):
        h1, = self.cluster(1)
        h1.cli("vm", "add", "db1")
        good = {name: h1.file(name).read_bytes() for name in FILES}
        numbers = random.Random(43)
        for name in FILES:
            for kind in ("cut", "empty", "gone", "garbage"):
                with self.subTest(name=name, kind=kind):
                    self.assertEqual(h1.end(), 0)
                    self.damage(numbers, h1.file(name), kind)
                    h1.start()
                    rows = json.loads(h1.cli("vm", "list", "--formatter=json").stdout)
                    self.assertEqual([(row["name"], row["problem"]) for row in rows], [("db1", "")])
                    status = h1.status()
                    self.assertIn(name, status["damage"])
                    self.assertEqual(status["member"], name in OF_THE_AUTHORITY)
                    self.assertIn(name, h1.cli("cluster", "status").stdout)
                    self.assertIn(name, h1.cli("status").stderr)
                    h1.wait_log(name)
                    for words in (("init", "--name", "h1"), ("token", "h2"), ("leave",)):
                        h1.refused("cluster", *words)
                    self.restore(h1, good)
                    wait_for(lambda: h1.status().get("damage") == "" and h1.connected(), f"{name} to be read again")
                    self.assertTrue(h1.token("h2"))

    def test_the_rest_of_the_daemon_says_so(self):
        h1, = self.cluster(1)
        h1.cli("vm", "add", "db1")
        h1.end()
        h1.file("host.pem").write_bytes(b"")
        h1.start()
        events = json.loads(h1.cli("events", "--formatter=json").stdout)
        self.assertEqual([one["severity"] for one in events if one["type"] == "cluster.damaged"], ["error"])
        rows = json.loads(h1.cli("vm", "check", "db1", "--formatter=json", check=False).stdout)
        self.assertIn("host.pem", [row["found"] for row in rows if row["check"] == "Cluster files"][0])
        self.assertIn("host.pem", h1.refused("vm", "add", "db2"))
        self.assertIn("host.pem", h1.refused("vds", "create", "lan"))
        h1.cli("vm", "remove", "db1")
        h1.cli("cluster", "leave", "--force")
        self.assertEqual(h1.status(), {"member": False})
        h1.cli("cluster", "init", "--name", "h1")
        self.assertTrue(h1.connected())

    def test_an_authoritys_key_outlives_a_lost_membership(self):
        h1, h2 = self.cluster(2)
        h1.end()
        key = h1.file("authority.key").read_bytes()
        membership = h1.file("membership.json").read_bytes()
        h1.file("membership.json").unlink()
        h1.start()
        complaint = h1.refused("cluster", "init", "--name", "h1")
        self.assertIn("membership.json is missing, but other files of the cluster exist: authority.json, authority.key", complaint)
        self.assertIn("paravane cluster leave --force", complaint)
        self.assertIn("membership.json", h1.refused("cluster", "join", text="pvt1.x\n"))
        self.assertEqual(h1.file("authority.key").read_bytes(), key)
        self.restore(h1, {"membership.json": membership})
        wait_for(lambda: h1.present() == ["h1", "h2"], "h2")
        wait_for(h2.connected, "h2 to be connected")


if __name__ == "__main__":
    unittest.main()
