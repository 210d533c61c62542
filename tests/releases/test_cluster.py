"""Hosts of two releases in one cluster: the door, etcd's keys, and the channel between them without VMs."""

import json
import re

from pair import NOW, VERSION, OfEachRelease, except_with, only_with
from etcd_request import ask_etcd
from hosts import ClusterTest, Host, wait_for

LIFETIME_S = 40


class Hosts(OfEachRelease, ClusterTest):
    """Makes hosts of several releases; h1 has the authority."""

    def started(self, *programs, more=""):
        """A host of each; `more`: of their configuration, or a function of the programs."""
        return [Host(self, number, more(one) if callable(more) else more, one).start() for number, one in enumerate(programs, 1)]

    def joined(self, hosts):
        """They are members, and let channels be."""
        for host in hosts:
            host.open_channel()
        hosts[0].cli("cluster", "init", "--name", "h1")
        for host in hosts[1:]:
            host.cli("cluster", "join", text=hosts[0].token(host.name) + "\n")
        for host in hosts:
            wait_for(lambda host=host: host.present() == [one.name for one in hosts], f"{host.name} to see all")
        return hosts

    def cluster_of(self, *programs, more=""):
        return self.joined(self.started(*programs, more=more))

    def wait_channels(self, hosts, kind="encrypted"):
        for host in hosts:
            for to in hosts:
                if to is not host:
                    wait_for(lambda host=host, to=to: host.channel(to)[0] == kind, f"{host.name} to {to.name}")

    def version_of(self, host):
        return VERSION if host.programs == NOW else self.release.version

    def end_and_start(self, host, programs=None):
        self.assertEqual(host.end(), 0, host.log_text())
        host.programs = programs or host.programs
        host.start()


class TwoReleases:
    """Tests with self.first, the programs of the authority's host, and self.second, those of another."""

    def test_they_join_agree_and_leave(self):
        h1, h2 = hosts = self.cluster_of(self.first, self.second)
        self.wait_channels(hosts)
        h1.cli("vds", "create", "lan")
        for host in hosts:
            h1.cli("vds", "add-host", "lan", host.name)
        h1.cli("portgroup", "create", "rdma", "--vds", "lan", "--vlan", "7")
        wait_for(lambda: "rdma" in h2.cli("portgroup", "list").stdout, "h2 to have the port group")
        for host in hosts:
            host.cli("vm", "add", f"vm-{host.name}", "--port-group", "rdma")
        for host in hosts:
            wait_for(lambda host=host: [one["adapters"] for one in host.status()["hosts"]] == [1, 1], f"{host.name} to see both VMs")
            status = host.status()
            self.assertEqual([one["version"] for one in status["hosts"]], [self.version_of(one) for one in hosts])
            self.assertEqual((status["odd_keys"], status["lost"]), (0, []), status)
        self.assertIn("h1", h2.refused("portgroup", "create", "other", "--vds", "lan"))
        h1.cli("portgroup", "create", "other", "--vds", "lan")
        wait_for(lambda: "other" in h2.cli("portgroup", "list").stdout, "h2 to have the next")
        h1.cli("portgroup", "delete", "other")
        wait_for(lambda: "other" not in h2.cli("portgroup", "list").stdout, "h2 to hear that it is gone")
        h2.cli("cluster", "leave")
        wait_for(lambda: h1.present() == ["h1"], "h2 to be gone")
        h2.cli("cluster", "join", text=h1.token("h2"))
        wait_for(lambda: h1.present() == ["h1", "h2"], "h2 to be back")

    def test_both_come_back_after_a_restart(self):
        hosts = self.cluster_of(self.first, self.second)
        for host in hosts:
            self.end_and_start(host)
            for one in hosts:
                wait_for(lambda one=one: one.present() == ["h1", "h2"], f"{one.name} to see all")
            self.wait_channels(hosts)

    def test_certificates_are_renewed(self):
        hosts = self.cluster_of(self.first, self.second, more=f"certificate_lifetime_s = {LIFETIME_S}\n")
        before = [host.file("host.pem").read_text() for host in hosts]
        for host, pem in zip(hosts, before):
            wait_for(lambda host=host, pem=pem: host.file("host.pem").read_text() != pem, f"another certificate of {host.name}")
        for host in hosts:
            self.assertTrue(host.connected(), host.log_text())
        self.wait_channels(hosts)

    def test_a_host_that_was_taken_out_hears_it_and_may_join_again(self):
        h1, h2 = hosts = self.cluster_of(self.first, self.second)
        self.wait_channels(hosts)
        h1.cli("cluster", "remove", "h2")
        wait_for(lambda: h1.present() == ["h1"], "h2 to be gone")
        wait_for(lambda: "user paravane-host-h2" in h2.status()["problem"], "h2 to say why")
        h2.cli("cluster", "leave", "--force")
        h2.cli("cluster", "join", text=h1.token("h2"))
        self.wait_channels(hosts)

    def channel_text(self, programs, seal):
        """Without encryption. A release that knows no seals has none to write."""
        return '[channel]\nencryption = "off"\n' + (f'seal = "{seal}"\n' if programs == NOW and seal else "")

    @only_with("0.1.0")
    def test_without_encryption_they_seal_alike_or_have_no_channel(self):
        hosts = self.cluster_of(self.first, self.second, more=lambda one: self.channel_text(one, "frames"))
        self.wait_channels(hosts, "sealed")
        new = next(host for host in hosts if host.programs == NOW)
        new.write_config(self.channel_text(NOW, ""))
        self.end_and_start(new)
        for host, to in hosts, hosts[::-1]:
            wait_for(lambda host=host: "application protocol" in host.log_text(), f"{host.name} to say why there is no channel")
            # Empty: the host that is dialed does not know whose handshake failed, if it was started since.
            self.assertIn(host.channel(to)[0], ("none", ""))

    @except_with("0.1.0")
    def test_without_encryption_they_seal_as_both_know(self):
        hosts = self.cluster_of(self.first, self.second, more='[channel]\nencryption = "off"\n')
        self.wait_channels(hosts, "sealed")


class NewJoinsOldAuthority(TwoReleases, Hosts):
    first, second = property(lambda self: self.old), property(lambda self: NOW)

    @only_with("0.1.0")
    def test_another_password_is_refused_in_words(self):
        h1, h2 = self.cluster_of(self.first, self.second)
        book = json.loads(h1.file("authority.json").read_text())
        ask_etcd(h1.space.words(), h1.state / "cluster", "/v3/auth/user/delete", {"name": "paravane-host-h2"},
                 user=book["etcd_user"], password=book["etcd_password"])
        self.end_and_start(h2)
        wait_for(lambda: not h2.connected() and "paravane-host-h2" in h2.status()["problem"], "h2 to say why")
        wait_for(lambda: 'must be "join", "renew" or "leave"' in h2.log_text(), "what the authority says")
        self.assertTrue(h1.connected())


class OldJoinsNewAuthority(TwoReleases, Hosts):
    first, second = property(lambda self: NOW), property(lambda self: self.old)


LACKING = ["0.1.0"]  # releases without a feature that hosts offer each other (src/model/release.cc)


class Upgrade(Hosts):
    @except_with(*LACKING)
    def test_status_names_nothing_that_the_older_host_lacks(self):
        h1, h2 = self.cluster_of(NOW, self.old)
        for host in h1, h2:
            self.assertNotIn("which lacks", host.cli("cluster", "status", programs=NOW).stdout)

    @only_with(*LACKING)
    def test_status_names_what_the_older_host_lacks(self):
        h1, h2 = self.cluster_of(NOW, self.old)
        for host in h1, h2:
            said = host.cli("cluster", "status", programs=NOW).stdout
            self.assertIn(f"\nHost h2 has version {self.release.version}, which lacks: ", said)
            self.assertNotIn("Host h1 has version", said)

    def upgrade(self, order):
        hosts = self.cluster_of(*[self.old] * 3)
        self.wait_channels(hosts)
        for host in hosts:
            host.cli("vm", "add", f"vm-{host.name}")
        for number in order:
            self.end_and_start(hosts[number - 1], NOW)
            for one in hosts:
                wait_for(lambda one=one: one.present() == ["h1", "h2", "h3"], f"{one.name} to see all")
                wait_for(lambda one=one: [its["adapters"] for its in one.status()["hosts"]] == [1, 1, 1], f"{one.name} to see the VMs")
            self.wait_channels(hosts)
            older = [one.name for one in hosts if one.programs != NOW and self.release.version in LACKING]
            wait_for(lambda older=older: re.findall("^Host (h[123]) has version", hosts[0].cli("cluster", "status", programs=NOW).stdout,
                                                    re.MULTILINE) == older, f"the older hosts to be {older}")
        wait_for(lambda: "by its name" not in hosts[0].cli("cluster", "status").stdout, "all keys to be known")

    def test_the_authority_first(self):
        self.upgrade((1, 2, 3))

    def test_the_authority_last(self):
        self.upgrade((3, 2, 1))
