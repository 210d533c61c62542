"""A host that was taken out stays out, though another machine has its name now."""

import json
import re
import subprocess
import unittest

from hosts import PATIENCE_S, ClusterTest, Host, wait_for

DOOR = ("10.77.0.1", 28249)
NO_MEMBER = "another machine is host h2 now, and this machine is no longer a member"
# Of an authority that has more to do, or waits for etcd: to be asked again.
LATER = "try again$|cannot inform the other hosts now"
NOT_ITS_KEY = "the machine that claims to be host h2 does not have that member's key"
# What a thief has: the files, and a program of its own that speaks as the daemon does.
ASK = """
import pathlib, socket, ssl, sys
folder, line = pathlib.Path(sys.argv[1]), sys.argv[2]
context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
context.check_hostname = False
context.load_verify_locations(folder / "authority.pem")
context.load_cert_chain(folder / "host.pem")
if len(sys.argv) > 4:
    context.set_alpn_protocols([sys.argv[4]])
address, _, port = sys.argv[3].rpartition(":")
with context.wrap_socket(socket.create_connection((address, int(port)), 20)) as door:
    if line:
        door.sendall(line.encode() + b"\\n")
    try:
        print(door.recv(65536).decode(errors="replace"))
    except (ssl.SSLError, ConnectionResetError):
        print("the connection ended")
"""


class Removed(ClusterTest):
    def ask(self, thief, line, at, *protocol):
        done = subprocess.run(thief.space.words("python3", "-c", ASK, thief.file(""), line, at, *protocol),
                              capture_output=True, text=True, timeout=PATIENCE_S, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.strip()

    def at_door(self, thief, **what):
        line = json.dumps({"version": 1, **what})

        def asked():
            answer = json.loads(self.ask(thief, line, f"{DOOR[0]}:{DOOR[1]}"))
            return None if re.search(LATER, answer.get("problem", "")) else answer
        return wait_for(asked, "the authority to have time")

    def request(self):
        """For a certificate."""
        words = ["openssl", "req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/",
                 "-keyout", "/dev/null"]
        return subprocess.run(words, capture_output=True, text=True, check=True, timeout=PATIENCE_S).stdout

    def wait_channels(self, *hosts):
        for host in hosts:
            for to in hosts:
                if to is not host:
                    wait_for(lambda host=host, to=to: host.channel(to)[0] == "encrypted", f"{host.name} to {to.name}")

    def replace_h2(self):
        """h1, the new h2, h3, and the old one at another address, with the files that it had; it does not run."""
        h1, old, h3 = self.cluster(3)
        self.wait_channels(h1, old, h3)
        old.end(kill=True)
        h1.cli("cluster", "remove", "h2")
        new = Host(self, 4).start()
        new.name = "h2"
        new.open_channel()
        new.cli("cluster", "join", text=h1.token("h2"))
        self.wait_channels(h1, new, h3)
        return h1, new, h3, old

    def assert_shut_out(self, h1, new, h3, old):
        """By the door and by both that the channels of h2 go to."""
        self.assertEqual(self.at_door(old, ask="renew", request=self.request())["problem"], NO_MEMBER)
        self.assertEqual(self.at_door(old, ask="leave")["problem"], NO_MEMBER)
        for host in h1, h3:
            seen = host.log_text().count(NOT_ITS_KEY)
            wait_for(lambda host=host, seen=seen: self.knock(old, host) and host.log_text().count(NOT_ITS_KEY) > seen,
                     f"{host.name} to say whom it has turned away")
        wait_for(lambda: h1.present() == ["h1", "h2", "h3"], "all to be there")
        self.wait_channels(h1, new, h3)

    def knock(self, thief, host):
        """At the channel's port. Only h3 is dialed by h2; h1 would be the one that dials, and looks at the key first."""
        port = next(one["port"] for one in host.status()["hosts"] if one["name"] == host.name)
        return self.ask(thief, "", f"{host.address}:{port}", "paravane/1") in ("", "the connection ended")

    def test_the_old_machine_is_turned_away_at_every_door_and_after_restarts(self):
        h1, new, h3, old = self.replace_h2()
        self.assert_shut_out(h1, new, h3, old)
        for host in h1, new, h3:
            host.end(kill=True)
            host.start()
        self.wait_channels(h1, new, h3)
        self.assert_shut_out(h1, new, h3, old)

    def channels_from(self, host):
        """The addresses at the other ends of its channels."""
        words = host.space.words("ss", "-H", "-n", "-t", "state", "established",
                                 "( dport >= :28250 and dport <= :28761 ) or ( sport >= :28250 and sport <= :28761 )")
        lines = subprocess.run(words, capture_output=True, text=True, check=True, timeout=PATIENCE_S).stdout.splitlines()
        return sorted({line.split()[3].rpartition(":")[0] for line in lines})

    def test_the_old_daemon_that_is_started_again_gets_nowhere_and_takes_nobody_out(self):
        h1, new, h3, old = self.replace_h2()
        old.start()  # with all that it had; without the inventory it neither listens nor dials
        wait_for(lambda: "rejected the login of user paravane-host-h2" in old.status()["problem"], "a reason")
        wait_for(lambda: "no longer a member" in old.refused("cluster", "leave"), "the authority to refuse")
        wait_for(lambda: h1.present() == ["h1", "h2", "h3"], "all to be there")
        self.wait_channels(h1, new, h3)
        new.cli("vm", "add", "db1")
        wait_for(lambda: [host["adapters"] for host in h3.status()["hosts"]] == [0, 1, 0], "the new one's VM")
        self.assertFalse(any(host["by_name"] for host in h1.status()["hosts"]))

    def test_a_channel_ends_when_its_host_is_taken_out_and_its_name_used_again(self):
        h1, old, h3 = self.cluster(3)
        self.wait_channels(h1, old, h3)
        self.assertEqual(self.channels_from(h3), [h1.address, old.address])
        h1.cli("cluster", "remove", "h2")
        for host in h1, h3:
            wait_for(lambda host=host: host.channel(old)[0] != "encrypted", f"{host.name} to end it")
        new = Host(self, 4).start()
        new.name = "h2"
        new.open_channel()
        new.cli("cluster", "join", text=h1.token("h2"))
        self.wait_channels(h1, new, h3)  # while the old one runs on
        # Its daemon dials h3, unless it has seen in the inventory that it is out before its login was refused. So the
        # test knocks, too.
        seen = h3.log_text().count(NOT_ITS_KEY)
        wait_for(lambda: self.knock(old, h3) and h3.log_text().count(NOT_ITS_KEY) > seen,
                 f"h3 to turn the old one away: {h3.log_text()}")
        self.assertEqual(self.channels_from(h3), [h1.address, new.address])
        self.assertEqual(self.channels_from(h1), [h3.address, new.address])

    def test_one_that_joined_before_keys_were_kept_is_known_by_its_name_until_its_key_is(self):
        h1, h2 = self.cluster(2)
        self.wait_channels(h1, h2)
        h2.end()
        wait_for(lambda: h1.present() == ["h1"], "what h2 says of itself to be gone")
        h1.end()
        book = json.loads(h1.file("authority.json").read_text())
        self.assertEqual([host["host"] for host in book.pop("members")], ["h1", "h2"])
        del book["sum"]  # an older version had none, and kept names:
        book["hosts"] = ["h2"]
        h1.file("authority.json").write_text(json.dumps(book))
        h1.start()
        wait_for(h1.connected, "the inventory")
        self.at_door(h2, ask="renew", request=self.request())["certificate"]  # by its name, as ever
        wait_for(lambda: "h2" in {entry["host"] for entry in self.book(h1)}, "the book to be kept anew")
        self.assertTrue(next(host["by_name"] for host in h1.status()["hosts"] if host["name"] == "h2"), "though it is away")
        self.assertEqual([entry for entry in self.book(h1) if entry["host"] == "h2"], [{"host": "h2"}])
        h2.start()
        self.wait_channels(h1, h2)
        h1.wait_log("the key of host h2 is now recorded")
        self.assertFalse(any(host["by_name"] for host in h1.status()["hosts"]))
        wait_for(lambda: any("present" in entry for entry in self.book(h1) if entry["host"] == "h2"), "its key")

    def book(self, host):
        return json.loads(host.file("authority.json").read_text()).get("members", [])


if __name__ == "__main__":
    unittest.main()
