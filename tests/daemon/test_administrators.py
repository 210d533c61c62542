"""Two administrators who change the same things at the same moment."""

import concurrent.futures
import json
import unittest

from rig import DaemonTest


class TwoAdministrators(DaemonTest):
    ROUNDS = 12

    def setUp(self):
        super().setUp()
        self.start()
        pool = concurrent.futures.ThreadPoolExecutor(2)
        self.addCleanup(pool.shutdown)
        self.pool = pool

    def both(self, first, second):
        """Two commands; their exit statuses and what they said."""
        asked = [self.pool.submit(self.cli, *words, check=False) for words in (first, second)]
        return [one.result() for one in asked]

    def test_who_comes_second_to_a_name_is_told(self):
        for number in range(self.ROUNDS):
            done = self.both(("vm", "add", f"vm{number}", "--hw-version", "13"), ("vm", "add", f"vm{number}", "--hw-version", "14"))
            self.assertEqual(sorted(one.returncode for one in done), [0, 1], done)
            loser = next(one for one in done if one.returncode == 1)
            self.assertIn(f"vm vm{number} already exists", loser.stderr)
            winner = 13 + done.index(next(one for one in done if one.returncode == 0))
            row = next(row for row in self.vm_rows() if row["name"] == f"vm{number}")
            self.assertEqual(row["hw_version"], winner)

    def test_no_change_of_a_vm_is_lost_and_who_was_too_late_is_told(self):
        self.cli("vm", "add", "db1")
        told = 0
        for number in range(self.ROUNDS):
            changes = {"gids": str(8 + number), "contexts": str(64 << (number % 2))}
            done = self.both(*[("vm", "set", "db1", "--limit", f"{limit}={value}") for limit, value in changes.items()])
            kept = json.loads(self.http(b"GET /v1/vms/db1 HTTP/1.1\r\nHost: x\r\n\r\n").partition(b"\r\n\r\n")[2])["limits"]
            for one, (limit, value) in zip(done, changes.items()):
                if one.returncode == 0:
                    self.assertEqual(kept[limit], int(value))
                else:
                    told += 1
                    self.assertIn("vm db1 was changed by another client in the meantime; no change was made", one.stderr)
            self.assertIn(0, [one.returncode for one in done])
        print(f"too late {told} of {2 * self.ROUNDS} times")

    def test_adapters_of_two_are_two(self):
        self.cli("vm", "add", "db1")
        for one in self.both(("vm", "adapter", "add", "db1"), ("vm", "adapter", "add", "db1")):
            self.assertEqual(one.returncode, 0, one.stderr)
        row = json.loads(self.http(b"GET /v1/vms/db1 HTTP/1.1\r\nHost: x\r\n\r\n").partition(b"\r\n\r\n")[2])
        self.assertEqual([adapter["number"] for adapter in row["adapters"]], [1, 2, 3])

    def test_a_switch_is_not_deleted_under_a_new_port_group(self):
        for number in range(self.ROUNDS):
            self.cli("vds", "create", f"s{number}")
            made, deleted = self.both(("portgroup", "create", f"p{number}", "--vds", f"s{number}"), ("vds", "delete", f"s{number}"))
            self.assertEqual(sorted((made.returncode, deleted.returncode)), [0, 1], (made, deleted))
            self.assertRegex(made.stderr + deleted.stderr, f"switch s{number} does not exist|switch s{number} has port group")
            switches = [row["name"] for row in json.loads(self.cli("vds", "list", "--formatter=json").stdout)]
            self.assertEqual(f"s{number}" in switches, made.returncode == 0)


if __name__ == "__main__":
    unittest.main()
