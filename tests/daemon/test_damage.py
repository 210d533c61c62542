"""A damaged database: what is damaged costs its own object, and is named; what is not can be used."""

import contextlib
import json
import random
import sqlite3
import unittest

from rig import DaemonTest, give


def damage(numbers, text):
    """What a bad disk or a hand makes of it; None: it is gone."""
    kind = numbers.choice(["cut", "empty", "bit", "gone", "garbage"])
    data = bytearray(text.encode())
    if kind == "gone":
        return None
    if kind == "cut":
        data = data[:numbers.randrange(len(data))]
    elif kind == "empty":
        data = bytearray()
    elif kind == "bit":
        data[numbers.randrange(len(data))] ^= 1 << numbers.randrange(8)
    else:
        at = numbers.randrange(len(data))
        data[at:] = numbers.randbytes(len(data) - at)
    return bytes(data)


class Damage(DaemonTest):
    ROUNDS = 30
    OBJECTS = [("vm", "spec", "b"), ("vds", "spec", "lan"), ("port_group", "spec", "storage"),
               ("document", "json", "address_seed")]

    @property
    def database(self):
        return self.state / "paravane.db"

    def sql(self, words, *values):
        """Behind the daemon's back: no trigger of the file is in the way, as none is in a disk's."""
        with contextlib.closing(sqlite3.connect(self.database)) as db, db:
            for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
                db.execute(f"DROP TRIGGER {name}")
            return db.execute(words, values).fetchall()

    def left_out(self):
        return {f'{one["kind"]} {one["name"]}' for one in self.status()["left_out"]}

    def status(self):
        return json.loads(self.http(b"GET /v1/status HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").partition(b"\r\n\r\n")[2])

    def seen(self):
        rows = {f'vm {row["name"]}': (row["mac"], row["hw_version"], row["problem"]) for row in self.vm_rows()}
        for kind, command in (("switch", "vds"), ("port group", "portgroup")):
            for row in json.loads(self.cli(command, "list", "--formatter=json").stdout):
                rows[f'{kind} {row["name"]}'] = {key: value for key, value in row.items() if key not in ("form", "bridges", "problems")}
        return rows

    def fill(self):
        daemon = self.start()
        for name in "abc":
            self.cli("vm", "add", name)
        for vds, group in (("lan", "storage"), ("san", "web")):
            self.cli("vds", "create", vds)
            self.cli("portgroup", "create", group, "--vds", vds, "--vlan", "7")
        seen = self.seen()
        self.assertEqual(self.stop(daemon), 0)
        return seen

    def test_the_daemon_is_up_with_all_that_is_whole(self):
        before = self.fill()
        good = self.database.read_bytes()
        numbers = random.Random(41)
        for number in range(self.ROUNDS):
            table, column, name = self.OBJECTS[number % len(self.OBJECTS)]
            self.database.write_bytes(good)
            (text,), = self.sql(f"SELECT {column} FROM {table} WHERE name = ?", name)
            damaged = damage(numbers, text)
            if damaged is None:
                self.sql(f"DELETE FROM {table} WHERE name = ?", name)
            else:
                self.sql(f"UPDATE {table} SET {column} = CAST(? AS TEXT) WHERE name = ?", damaged, name)
            with self.subTest(number=number, table=table, damaged=damaged):
                daemon = self.start()
                left_out = self.left_out()
                expected = {object_: value for object_, value in before.items() if object_ not in left_out}
                if "port group storage" in left_out:  # it is missing in the list of its switch, too
                    self.assertEqual(self.seen().keys(), expected.keys())
                else:
                    self.assertEqual(self.seen(), expected)
                self.cli("vm", "add", "new")
                self.assertEqual(self.stop(daemon), 0)
        give(self.database)

    def test_what_is_left_out_is_named_everywhere(self):
        self.fill()
        self.sql("UPDATE vm SET spec = '{}' WHERE name = 'b'")
        daemon = self.start()
        self.assertEqual(self.vm_names(), ["a", "c"])
        for words in (("vm", "list"), ("status",)):
            self.assertRegex(self.cli(*words).stderr,
                             r"^paravane: vm b is unusable: its record in \S+/paravane.db is damaged: .+\n"
                             r"  Restore paravane.db from a backup, or remove the VM with: paravane vm remove b\n$")
        self.assertIn("vm b is unusable", self.refused(1, "vm", "add", "b"))
        self.assertIn("vm b is unusable", self.refused(1, "vm", "show", "b"))
        self.assertIn("vm b is unusable", self.log_text())
        events = json.loads(self.cli("events", "--formatter=json").stdout)
        told = [event for event in events if event["type"] == "state.left_out"]
        self.assertEqual([(event["severity"], event["fields"]["name"]) for event in told], [("error", "b")])
        metrics = self.http(b"GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").decode()
        self.assertIn("\nparavane_left_out 1\n", metrics)
        self.cli("vm", "remove", "b")
        self.assertEqual(self.cli("status").stderr, "")
        self.cli("vm", "add", "b")
        self.assertEqual(self.stop(daemon), 0)
        self.start()
        self.assertEqual(self.vm_names(), ["a", "b", "c"])

    # As a whole it is no more trusted than before.
    def test_a_database_that_is_none_is_refused(self):
        self.fill()
        self.database.write_bytes(b"no database" * 500)
        status, complaint = self.run_daemon()
        self.assertEqual(status, 1)
        self.assertIn("is not a database", complaint)
        self.assertIn("restore it from a backup, or move it away to start with an empty state", complaint)

    def test_a_newer_schema_is_refused_in_words(self):
        self.fill()
        self.sql("PRAGMA user_version=99")
        status, complaint = self.run_daemon()
        self.assertEqual(status, 1)
        self.assertRegex(complaint, r"was written by a newer version \(schema 99; this program supports \d+\). Install that version again")


if __name__ == "__main__":
    unittest.main()
