"""Types what docs/disasters.md says, at a terminal, and compares what is shown."""

import pathlib
import re
import shlex

from hosts import BIN, PATIENCE_S, wait_for
from terminal import at_terminal
from test_backup import PASSPHRASE, BackupTest

PAGE = pathlib.Path(__file__).resolve().parent.parent.parent / "docs" / "disasters.md"
ANSWERS = [("Passphrase of the backup: ", PASSPHRASE + "\n"), ("Repeat the passphrase: ", PASSPHRASE + "\n"), ("Type yes to continue: ", "yes\n")]
STATE, PLACES = "/var/lib/paravane", ("/srv/backup", "/etc/paravane")


def blocks(heading):
    """The fenced blocks below a heading: of each the commands, with host and what they print."""
    section = PAGE.read_text().split(f"\n## {heading}\n")[1].split("\n## ")[0]
    found = []
    for block in re.findall(r"```\n(.*?)```", section, re.S):
        commands = []
        for line in block.splitlines():
            if match := re.match(r"(h\d)# (.*)", line):
                commands.append((match[1], match[2], []))
            else:
                commands[-1][2].append(line)
        found.append(commands)
    return found


def pattern(line):
    """What may differ from one time to the next: times, ids, numbers, versions."""
    line = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", "T", line)
    line = re.sub(r"[0-9a-f]{32}", "ID", line)
    line = re.sub(r"\d+ (minutes|hours|days) ago", "AGO", line)
    return re.sub(r"\d+(\.\d+)+|\d+", "N", line)


class Disasters(BackupTest):
    def setUp(self):
        super().setUp()
        self.root = self.h1.folder / "root"
        self.root.mkdir()

    def type(self, commands):
        for name, words, shown in commands:
            host = next(one for one in self.hosts if one.name == name)
            self.type_one(host, words, shown)

    def type_one(self, host, words, shown):
        """At a terminal; what asks is answered."""
        if words == "systemctl start paravaned":
            return host.start()
        line = words.replace(STATE, str(host.state))
        for place in PLACES:
            line = line.replace(place + "/", str(self.root) + "/")
        line = re.sub(r"(^|; )paravane ", rf"\1{shlex.quote(str(BIN / 'paravane'))} --socket {host.api} ", line)
        output, status = at_terminal(["bash", "-c", line], ANSWERS, PATIENCE_S)
        self.assertEqual(status, 0, f"{words}: {output}")
        printed = [pattern(one.strip()) for one in output.replace(str(host.state), STATE).replace(str(self.root), PLACES[0]).splitlines()]
        for one in shown:
            self.assertIn(pattern(one.strip()), printed, f"{words}: {output}")
        if words == "paravane daemon stop":
            daemon, host.daemon = host.daemon, None
            self.assertEqual(daemon.wait(PATIENCE_S), 0, host.log_text())
        return None

    def test_backup(self):
        for block in blocks("A backup, before"):
            self.type(block)
        self.assert_secret("cluster.backup", "cluster-2.backup", "passphrase")

    def assert_secret(self, *names):
        """Nothing else reads what was made as the page says."""
        for name in names:
            self.assertEqual((self.root / name).stat().st_mode & 0o777, 0o600, name)

    def test_the_data_of_etcd(self):
        restart, look = blocks("The data of etcd")
        with self.untouched_channels(self.h2, self.h3):
            self.type(restart)
            self.wait_whole(*self.hosts)
        self.type(look)
        for host in self.hosts:
            self.assertEqual(self.groups_of(host), ["web"])

    def test_another_host_takes_the_first_ones_place(self):
        self.type(blocks("A backup, before")[0])
        promote, follow, back = blocks("The first host: another takes its place")
        self.h1.end(kill=True)
        self.type(promote)
        self.wait_whole(self.h2, self.h3)
        self.type(follow)
        self.h1.start()
        wait_for(lambda: "was promoted" in self.h1.cli("cluster", "status").stdout, "h1 to hear of it")
        self.type(back)
        self.assert_secret("token")
        self.wait_whole(*self.hosts)

    def test_a_planned_hand_over(self):
        hand_over, back = blocks("The first host: a planned hand-over")
        self.with_refusal_while_h1_runs()
        self.type(hand_over)
        self.wait_whole(self.h2, self.h3)
        self.type(back)
        self.assert_secret("token", "handover.backup", "h2.backup")
        self.wait_whole(*self.hosts)
        self.assertEqual({host.status()["authority"] for host in self.hosts}, {"h2"})

    def with_refusal_while_h1_runs(self):
        """Why the page has h1 stopped first."""
        self.back_up()
        self.assertIn("host h1 is the authority and still answers at", self.with_backup(self.h2, "promote", check=False).stderr)

    def test_on_another_machine_and_from_an_older_copy(self):
        self.type(blocks("A backup, before")[0])
        self.h1.cli("portgroup", "create", "db", "--vds", "lan", "--vlan", "11")
        wait_for(lambda: self.groups_of(self.h2) == self.groups_of(self.h3) == ["db", "web"], "all to have it")
        self.lose(self.h1)
        self.h1.start()
        restore, channel, _ = blocks("The first host: on another machine")
        self.type(restore)
        self.type(channel)
        wait_for(lambda: "Host h2 has generation" in self.h1.cli("cluster", "status").stdout, "h1 to be told")
        self.assertNotEqual(self.h1.channel(self.h2)[0], "encrypted")
        self.type(blocks("The first host: from an older copy")[0])
        self.wait_whole(*self.hosts)
        for host in self.hosts:
            self.assertEqual(self.groups_of(host), ["web"])

    def test_a_host_that_was_removed_since_the_backup_is_named_and_taken_out_again(self):
        self.type(blocks("A backup, before")[0])
        self.h1.cli("cluster", "remove", "h3")
        wait_for(lambda: self.h2.present() == ["h1", "h2"], "h2 to hear of it")
        self.lose(self.h1)
        self.h1.start()
        restore, channel, remove = blocks("The first host: on another machine")
        self.type(restore)
        self.type(channel)
        wait_for(lambda: self.h3.name in self.members(), "h3 to be a member by the backup")
        self.type(remove)
        self.assertNotIn(self.h3.name, self.members())
        self.h1.cli("cluster", "restore", "--accept", "--yes")
        self.wait_whole(self.h1, self.h2)
        self.assertNotIn(self.h3.name, self.members())
        self.assertFalse(self.h3.connected())

    def members(self):
        return [host["name"] for host in self.h1.status()["hosts"]]
