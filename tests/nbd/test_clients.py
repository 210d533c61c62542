"""Programs of libnbd, QEMU and fio at a served disk: they judge the server."""
import json
import os
import subprocess
import unittest

from rig import MIB, DiskTest, run

NAME = "naa.60014050000000000000000000000001"


class Facts(DiskTest):
    def facts(self, disk, *words):
        return json.loads(run("nbdinfo", "--json", *words, disk.url()))

    def test_nbdinfo_shows_all_that_the_disk_is(self):
        disk = self.serve(size=64 * MIB, most=MIB, also="cache,trim,zeroes,fast")
        facts = self.facts(disk)
        self.assertEqual(facts["protocol"], "newstyle-fixed")
        self.assertTrue(facts["structured"])
        export = facts["exports"][0]
        expected = {"export-name": NAME, "description": "a disk in memory", "export-size": 64 * MIB, "is_read_only": False,
                    "is_rotational": False, "can_cache": False, "can_df": True, "can_fast_zero": True, "can_flush": True, "can_fua": True,
                    "can_multi_conn": False, "can_trim": True, "can_zero": True, "block_size_minimum": 512,
                    "block_size_preferred": 4096, "block_size_maximum": MIB}
        self.assertEqual({name: export.get(name) for name in expected}, expected)

    def test_nbdinfo_shows_what_the_disk_cannot(self):
        disk = self.serve(size=MIB, block=4096, also="rotational,readonly")
        export = self.facts(disk)["exports"][0]
        for name in ("can_flush", "can_fua", "can_trim", "can_zero", "can_fast_zero", "can_multi_conn"):
            self.assertFalse(export[name], name)
        self.assertTrue(export["is_rotational"])
        self.assertTrue(export["is_read_only"])
        self.assertEqual(export["block_size_minimum"], 4096)

    def test_the_disk_is_listed(self):
        disk = self.serve()
        listed = self.facts(disk, "--list")
        self.assertEqual([export["export-name"] for export in listed["exports"]], [NAME])
        self.assertEqual(run("nbdinfo", "--size", disk.url(NAME)).strip(), str(64 * MIB))

    def test_an_unknown_export_is_refused(self):
        disk = self.serve()
        done = run("nbdinfo", disk.url("other"), may_fail=True)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("export: other", done.stderr)
        self.assertGreater(disk.end()["refused_options"], 0)

    def test_qemu_img_info(self):
        disk = self.serve(size=3 * MIB)
        self.assertEqual(json.loads(run("qemu-img", "info", "--output=json", disk.url()))["virtual-size"], 3 * MIB)


class Copies(DiskTest):
    def test_nbdcopy_there_and_back(self):
        disk = self.serve(size=64 * MIB)
        data = self.random_file(64 * MIB)
        for words in ((), ("--requests=1",), ("--request-size=262144", "--requests=64"), ("--synchronous",)):
            run("nbdcopy", "--flush", *words, data, disk.url())
            back = self.folder / "back"
            run("nbdcopy", *words, disk.url(), back)
            run("cmp", data, back)
        counters = disk.end()
        self.assertEqual(counters["refused_requests"], 0)
        self.assertGreaterEqual(counters["written_bytes"], 4 * 64 * MIB)

    def test_zeroes_are_written_as_such(self):
        disk = self.serve(size=16 * MIB)
        data = self.folder / "sparse"
        with data.open("wb") as file:
            file.write(os.urandom(MIB))
            file.truncate(16 * MIB)
        run("nbdcopy", data, disk.url())
        back = self.folder / "back"
        run("nbdcopy", disk.url(), back)
        run("cmp", data, back)
        counters = disk.end()
        self.assertGreater(counters["zeroes"] + counters["trims"], 0)
        self.assertLess(counters["written_bytes"], 4 * MIB)

    def test_qemu_img_converts_and_compares(self):
        disk = self.serve(size=32 * MIB)
        data = self.random_file(32 * MIB)
        run("qemu-img", "convert", "-n", "-f", "raw", "-O", "raw", "-W", "-m", "16", data, disk.url())
        run("qemu-img", "compare", "-f", "raw", "-F", "raw", data, disk.url())
        image = self.folder / "image.qcow2"
        run("qemu-img", "convert", "-f", "raw", "-O", "qcow2", disk.url(), image)
        run("qemu-img", "compare", "-f", "raw", "-F", "qcow2", disk.url(), image)

    def test_a_disk_that_can_do_little(self):
        disk = self.serve(size=8 * MIB, block=4096, most=65536, buffers=2, also="")
        data = self.random_file(8 * MIB)
        run("qemu-img", "convert", "-n", "-f", "raw", "-O", "raw", data, disk.url())
        run("qemu-img", "compare", "-f", "raw", "-F", "raw", data, disk.url())
        back = self.folder / "back"
        run("nbdcopy", "--request-size=65536", disk.url(), back)  # it does not heed the most that a server takes
        run("cmp", data, back)
        self.assertEqual(disk.end()["refused_requests"], 0)


class Patterns(DiskTest):
    def test_qemu_io(self):
        disk = self.serve(size=16 * MIB)
        self.io(disk, "write -P 5 0 64k", "read -P 5 0 64k", "write -P 6 512 512", "read -P 6 512 512", "read -P 5 1k 63k",
                "write -f -P 7 64k 4M", "read -P 7 64k 4M", "write -z 1M 64k", "read -P 0 1M 64k", "read -P 7 1088k 64k",
                "write -z -u 2M 64k", "read -P 0 2M 64k", "discard 3M 64k", "read -P 0 3M 64k", "flush",
                "aio_write -P 9 8M 1M", "aio_write -P 10 9M 1M", "aio_read -P 7 64k 64k", "aio_flush", "read -P 9 8M 1M",
                "read -P 10 9M 1M")
        counters = disk.end()
        self.assertEqual(counters["refused_requests"], 0)
        for name in ("reads", "writes", "flushes", "trims", "zeroes"):
            self.assertGreater(counters[name], 0, name)

    # QEMU reads, changes and writes whole blocks.
    def test_small_writes_to_large_blocks(self):
        disk = self.serve(size=MIB, block=4096)
        self.io(disk, "write -P 1 0 64k", "write -P 2 1k 512", "read -P 1 0 1k", "read -P 2 1k 512", "read -P 1 1536 4k")
        self.assertEqual(disk.end()["refused_requests"], 0)

    def test_a_read_only_disk(self):
        disk = self.serve(size=MIB, also="cache,readonly")
        run("qemu-io", "-r", "-f", "raw", "-c", "read -P 0 0 64k", disk.url())
        done = run("qemu-io", "-f", "raw", "-c", "write 0 64k", disk.url(), may_fail=True)
        self.assertNotEqual(done.returncode, 0)

    def test_failures_reach_the_program(self):
        for number, words in ((2, "Input/output error"), (5, "No space left on device"), (3, "Cannot allocate memory")):
            with self.subTest(words):
                disk = self.serve(size=MIB, fail=number)
                for command in ("read 0 4k", "write 0 4k"):
                    done = run("qemu-io", "-f", "raw", "-c", command, disk.url(), may_fail=True)
                    self.assertIn(words, done.stdout + done.stderr)

    def test_fio_verifies_what_it_wrote(self):
        disk = self.serve(size=32 * MIB)
        said = run("fio", "--name=verify", "--ioengine=nbd", f"--uri={disk.url()}", "--rw=randrw", "--bsrange=4k-256k", "--blockalign=4k",
                   "--size=32m", "--iodepth=32", "--verify=crc32c", "--verify_fatal=1", "--do_verify=1", "--randseed=7", "--fsync=64",
                   "--verify_state_save=0",
                   "--output-format=json")
        job = json.loads(said[said.index("{"):])["jobs"][0]
        self.assertEqual(job["error"], 0)
        self.assertGreater(job["read"]["total_ios"], 0)
        counters = disk.end()
        self.assertEqual(counters["refused_requests"], 0)
        self.assertGreater(counters["most_requests"], 8)


NBDSH_OPEN = """
import nbd, sys
h = nbd.NBD()
h.set_strict_mode(0)
h.connect_uri(sys.argv[1])
"""


def nbdsh(disk, script, export=""):
    """A script of libnbd's, whose checks of its own are off; what it prints."""
    return run("/usr/bin/python3", "-c", NBDSH_OPEN + script, disk.url(export))


class WrongRequests(DiskTest):
    """What libnbd would not let through."""

    def test_each_is_refused_and_the_next_works(self):
        disk = self.serve(size=MIB, most=65536)
        script = """
import errno
for act, error in ((lambda: h.pread(512, 1048576), errno.EINVAL), (lambda: h.pwrite(bytes(512), 1048064 + 512), errno.ENOSPC)):
    try:
        act()
        print("taken")
    except nbd.Error as failure:
        print(failure.errnum == error, failure.string)
print(h.pread(512, 0) == bytes(512))
h.shutdown()
"""
        said = nbdsh(disk, script).splitlines()
        self.assertEqual([line.split()[0] for line in said], ["True", "True", "True"])
        counters = disk.end()
        self.assertEqual((counters["refused_requests"], counters["odd_requests"]), (2, 2))

    def test_the_third_ends_the_connection(self):
        disk = self.serve(size=MIB)
        script = """
for _ in range(3):
    try:
        h.pread(512, 100)
    except nbd.Error as failure:
        print("refused")
try:
    h.pread(512, 0)
except nbd.Error as failure:
    print("gone", h.aio_is_closed() or h.aio_is_dead())
"""
        self.assertEqual(nbdsh(disk, script).split(), ["refused"] * 3 + ["gone", "True"])
        self.assertEqual(disk.end()["broken_rules"], 1)

    def test_simple_replies(self):
        disk = self.serve(size=MIB)
        script = """
plain = nbd.NBD()
plain.set_request_structured_replies(False)
h.shutdown()
plain.connect_uri(sys.argv[1])
plain.pwrite(b"x" * 4096, 8192, nbd.CMD_FLAG_FUA)
plain.zero(512, 8192 + 512, nbd.CMD_FLAG_NO_HOLE)
print(plain.get_structured_replies_negotiated(), plain.pread(4096, 8192) == b"x" * 512 + bytes(512) + b"x" * 3072)
plain.shutdown()
"""
        self.assertEqual(nbdsh(disk, script).split(), ["False", "True"])


class OneClient(DiskTest):
    def test_a_second_is_told_that_the_disk_is_in_use(self):
        disk = self.serve()
        holder = subprocess.Popen(["qemu-io", "-f", "raw", disk.url()], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(holder.communicate)
        self.addCleanup(holder.kill)
        holder.stdin.write("write -P 1 0 64k\n")
        holder.stdin.flush()
        self.assertIn("wrote 65536/65536", holder.stdout.readline())  # before that it may not have connected yet
        done = run("qemu-io", "-f", "raw", "-c", "read 0 512", disk.url(), may_fail=True)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("is in use: another program is connected to it", done.stdout + done.stderr)
        self.assertIn(NAME, done.stdout + done.stderr)
        # Its facts are no secret.
        self.assertIn(NAME, run("nbdinfo", "--list", disk.url()))
        # One that is killed gives the disk up at once.
        holder.kill()
        holder.wait()
        self.io(disk, "read 0 512")

    def test_opening_and_closing_many_times(self):
        disk = self.serve(size=MIB)
        for number in range(30):
            self.io(disk, f"write -P {number} 0 4k", f"read -P {number} 0 4k")
        self.assertEqual(disk.end()["in_use"], 0)


if __name__ == "__main__":
    unittest.main()
