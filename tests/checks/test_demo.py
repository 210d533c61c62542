"""scripts/demo: what it says, keeps and ends. Nothing real runs: the lab, the programs and the compiler are scripts of this
test. tests/guests/test_demo.py has it with real VMs."""
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent

COMPILER = """
case "$*" in
  *--build*)
    for i in 1 2 3; do echo "[$i/3] Building CXX object $i"; done
    [ -z "${FAKE_ERROR:-}" ] || { echo "x.cc:1: error: $FAKE_ERROR"; exit 1; }
    mkdir -p build/release/bin ;;
esac
"""

# As ib_write_bw prints it, where it could not measure the processor's clock; over rdma_rxe a hundredth.
GUEST = """
echo "$*" >>"$FAKE_CALLS"
case "$*" in
  *accel) echo "${FAKE_ACCEL:-tcg}" ;;
  *"ib_write_bw -d"*10.77*)
    [ -z "${FAKE_NO_RDMA:-}" ] || { echo "Couldn't connect"; exit 1; }
    size=$(sed 's/.* -s \\([0-9]*\\) .*/\\1/' <<<"$*")
    rate=5000
    case "$*" in *rxe0*) rate=50 ;; esac
    echo ' #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]'
    echo " $size $((rate * 1048576 / size)) 0.00 inf inf" ;;
  *rdma_rxe*) exit "${FAKE_NO_RXE:-0}" ;;
  "up "*) [ -z "${FAKE_NO_BOOT:-}" ] || { echo "lab: error: vm2: did not boot" >&2; exit 125; } ;;
esac
"""

CLUSTER = GUEST + """
case "$1" in
  up)
    mkdir -p "$LAB_CLUSTER/h1/state"
    echo "etcd cannot be run" >"$LAB_CLUSTER/h1/paravaned.log"
    [ -z "${FAKE_NO_CLUSTER:-}" ] || { rm -r "$LAB_CLUSTER/h1/state"; echo "lab: error: h1: no etcd" >&2; exit 125; }
    touch "$LAB_CLUSTER/cluster.json" ;;
  paravane) shift 3; exec build/release/bin/paravane "$@" ;;
  down) [ "${2:-}" = --keep-logs ] || rm -rf "$LAB_CLUSTER" ;;
esac
"""

PARAVANE = """
case "$*" in
  *"path list"*) echo vm2,local ;;
  *"vm list"*) printf 'Name,MAC\\nvm1,52:54\\nvm2,52:55\\n'; echo "socket ${PARAVANE_SOCKET:-none}" ;;
esac
"""

FAKES = {
    "scripts/setup": 'echo "setup $*" >>"$FAKE_CALLS"; case "$*" in *--list) printf "%s" "${FAKE_MISSING:-}" ;; esac',
    "lab/prepare": 'echo "prepare" >>"$FAKE_CALLS"',
    "lab/vm": GUEST,
    "lab/cluster": CLUSTER,
    "build/release/bin/paravane": PARAVANE,
    "build/release/bin/paravaned": '[ "$1" != --version ] || { echo "paravaned 1"; exit; }; echo "paravaned began"; trap "kill %1; exit" TERM; sleep 60 & wait',
    "path/cmake": COMPILER,
    "path/ninja": 'printf "%s\\n" "${FAKE_STEPS:-ninja: no work to do.}"',
    "path/ccache": 'echo "files_in_cache ${FAKE_CACHED:-0}" | tr " " "\\t"',
    "path/c++": "echo compiler",
    "path/nproc": "echo 2",
    "path/id": "echo 0",
    # Without the owner that only root may give.
    "path/install": 'for word in "$@"; do case "$word" in /*) mkdir -p "$word" ;; esac; done',
}


class Clone:
    """A tree with the demo and nothing that is real."""

    def __init__(self, folder):
        self.root = folder
        for name in ("scripts/demo", "scripts/demo.d"):
            source, target = ROOT / name, folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            if source.is_dir():
                shutil.copytree(source, target)
            else:
                shutil.copy(source, target)
        for name, text in FAKES.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("#!/bin/bash\n" + text)
            path.chmod(0o755)
        (folder / "src").mkdir()
        (folder / "cmake").mkdir()
        (folder / "src" / "a.cc").write_text("int a;\n")
        self.calls = folder / "calls"
        self.calls.write_text("")


class DemoTest(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.place = pathlib.Path(holder.name)
        self.run_folder = self.place / "run"
        self.run_folder.mkdir()
        self.clone = Clone(self.place / "clone")
        self.addCleanup(self.end_all)

    def end_all(self):
        for pid_file in self.run_folder.glob("*/paravaned.pid"):
            try:
                os.kill(int(pid_file.read_text()), signal.SIGKILL)
            except (OSError, ValueError):
                pass

    def environment(self, clone, fakes):
        return {"PATH": f"{clone.root}/path:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": str(self.place), "PARAVANE_DEMO": str(self.run_folder),
                "FAKE_CALLS": str(clone.calls), **{f"FAKE_{name.upper()}": value for name, value in fakes.items()}}

    def demo(self, *words, clone=None, status=0, **fakes):
        """Its output, all of it."""
        clone = clone or self.clone
        done = subprocess.run([clone.root / "scripts" / "demo", *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=60, check=False, env=self.environment(clone, fakes))
        self.assertEqual(done.returncode, status, done.stdout)
        return done.stdout

    def folder(self):
        (folder,) = self.run_folder.iterdir()
        return folder

    def test_a_table_a_sentence_that_compares_and_nothing_left_behind(self):
        said = self.demo()
        self.assertRegex(said, r"size +writes/s +GB/s +path")
        self.assertRegex(said, r"64 B +81920000 +5\.243 +local")
        self.assertRegex(said, r"64 KiB +80000 +5\.243 +local")
        self.assertIn("64 KiB: 5.24 GB/s, 100 x rdma_rxe", said)
        self.assertIn("0.052 GB/s", said)
        self.assertIn("KVM is not usable here", said)
        self.assertIn("Everything is ended again", said)
        self.assertEqual(list(self.run_folder.iterdir()), [])
        self.assertIn("Nothing runs", self.demo("--stop"))
        calls = self.clone.calls.read_text()
        self.assertIn("link delete rxe0", calls)
        self.assertNotIn("--demo-hosts", calls)
        # Each size is warmed up and measured for a second; a client and a server of each.
        runs = [line for line in calls.splitlines() if "ib_write_bw" in line]
        self.assertEqual(len(runs), 10)
        for line in runs:
            self.assertIn("-D 3 -f 1", line)

    def test_without_a_comparison_it_ends_well(self):
        said = self.demo(no_rxe="1", accel="kvm")
        self.assertIn("There is no comparison", said)
        self.assertNotIn("KVM is not usable", said)

    def test_etcd_is_of_the_set_for_several_hosts(self):
        text = (ROOT / "scripts" / "setup").read_text()
        self.assertRegex(text, r"demo_hosts_packages=\(etcd-server\)")
        self.assertIn('--demo-hosts) wanted+=("${demo_hosts_packages[@]}")', text)

    def test_how_long_it_takes_is_the_first_thing_it_says(self):
        said = self.demo(missing="etcd-server\n")
        self.assertTrue(said.lstrip().startswith("== [  "), said)
        first, *others = re.findall(r"^== \[.*\] (.*)$", said, re.MULTILINE)
        self.assertRegex(first, "^Takes about [0-9]+ (s|minutes) on this machine$")
        self.assertEqual(others[0], "Installing what is missing")
        # Within five seconds, however much else runs: it takes less than two of a processor. The sources are the real ones.
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(["bash", "-c", ". scripts/demo.d/estimate.sh; step() { :; }; say_how_long 2 --demo-hosts"], cwd=ROOT,
                       stdout=subprocess.DEVNULL, check=True, env={**self.environment(self.clone, {"cached": "1000"}), "HOME": os.environ.get("HOME", "/")})
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        self.assertLess(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, 2)

    def test_how_long_follows_from_objects_cache_and_processors(self):
        def seconds(objects, share, processors, loop="$reference_ms", others=0):
            text = f'. scripts/demo.d/estimate.sh; compile_seconds {objects} {share} {processors} {loop} {others}'
            return int(subprocess.run(["bash", "-c", text], cwd=ROOT, capture_output=True, text=True, check=True).stdout)
        cold = seconds("$cold_objects", "none", 1)
        self.assertEqual(cold, 30 + 600)
        self.assertEqual(seconds("$cold_objects", "none", 2), 30 + 300)
        self.assertEqual(seconds("$((cold_objects / 5))", "some", 1), 30 + 118)
        self.assertEqual(seconds("$cold_objects", "none", 2, "$((2 * reference_ms))"), 30 + 600)
        self.assertEqual(seconds("$cold_objects", "none", 2, others=2), 30 + 600)
        self.assertLess(seconds("$cold_objects", "all", 2), 60)

    def test_what_the_compilers_cache_has_is_taken_into_account(self):
        def said(**fakes):
            text = f". {ROOT}/scripts/demo.d/estimate.sh; step() {{ echo $*; }}; say_how_long 1 --build-only"
            return subprocess.run(["bash", "-c", text], cwd=self.clone.root, capture_output=True, text=True, check=True,
                                  env=self.environment(self.clone, fakes)).stdout
        steps = {"steps": "\n".join(f"[{i}/9] Building CXX object {i}" for i in range(1, 10))}
        self.assertIn("9 objects, processors: 2, none in ccache", said(**steps))
        unknown = said(cached="1000", **steps)
        self.assertIn("Takes at most", unknown)
        self.assertIn("sooner if ccache has some", unknown)
        self.demo()
        self.assertIn("all in ccache", said(cached="1000", **steps))
        (self.clone.root / "src" / "a.cc").write_text("int b;\n")
        self.assertIn("sooner if ccache has some", said(cached="1000", **steps))
        self.assertNotIn("objects", said())
        self.assertRegex(said(missing="one\ntwo\n"), r"install +2 packages +20 s")

    def test_it_shows_how_far_the_compiler_is(self):
        # Bash counts its seconds on from what they are set to.
        text = ('. scripts/demo.d/estimate.sh; . scripts/demo.d/compile.sh; compile_log=$(mktemp); '
                'read() { builtin read "$@" && SECONDS=$((SECONDS + 20)); }; '
                'show_progress <<<"$(for i in 1 2 3; do echo "[$i/6] Building"; done)"; grep -c Building "$compile_log"; rm "$compile_log"')
        said = subprocess.run(["bash", "-c", text], cwd=ROOT, capture_output=True, text=True, check=True).stdout
        self.assertRegex(said, r"1 of 6 steps\n  2 of 6 steps, 80 s left\n  3 of 6 steps, 60 s left\n3\n")

    def test_an_error_of_the_compiler_is_shown_with_its_log(self):
        said = self.demo(error="no such thing", status=1)
        self.assertIn("| x.cc:1: error: no such thing", said)
        log = pathlib.Path(re.search(r"is in (\S+)", said)[1])
        self.assertIn("no such thing", log.read_text())
        self.assertEqual(list(self.run_folder.iterdir()), [])

    def test_what_fails_keeps_its_logs_and_nothing_else(self):
        said = self.demo(no_boot="1", status=125)
        self.assertIn("vm2: did not boot", said)
        self.assertIn(f"its logs are in {self.folder()}", said)
        self.assertIn("| paravaned began", said)
        self.assertEqual([path.name for path in self.folder().rglob("*")], ["paravaned.log"])
        self.assertIn(f"its logs are in {self.folder()}", self.demo("--stop"))

    def test_a_program_that_fails_in_a_vm_is_shown(self):
        self.assertIn("| Couldn't connect", self.demo(no_rdma="1", status=1))
        self.assertTrue((self.folder() / "write-vmw_pvrdma0-64.txt").exists())
        # The next one takes their place.
        self.assertIn("Everything is ended again", self.demo("--built"))
        self.assertEqual(list(self.run_folder.iterdir()), [])
        self.assertEqual(self.clone.calls.read_text().count("prepare\n"), 1)

    def test_a_cluster_that_does_not_start_keeps_its_log(self):
        said = self.demo("--hosts", "2", no_cluster="1", status=125)
        self.assertIn("| etcd cannot be run", said)
        self.assertEqual((self.folder() / "cluster" / "h1" / "paravaned.log").read_text(), "etcd cannot be run\n")

    def test_what_the_hint_says_works_as_typed(self):
        said = self.demo("--keep")
        exports = "\n".join(re.findall(r"^ +(export .*)$", said, re.MULTILINE))
        typed = subprocess.run(["bash", "-c", f"{exports}\nparavane vm list"], capture_output=True, text=True, check=True,
                               env={"PATH": "/usr/bin:/bin"}).stdout
        self.assertIn(f"socket {self.folder()}/api.sock", typed)
        said = self.demo("--hosts", "2", "--keep", missing="etcd-server\n")
        self.assertIn("Ending the demo that was left running: the daemon and its VMs: vm1 vm2", said)
        exports = "\n".join(re.findall(r"^ +(export .*)$", said, re.MULTILINE))
        typed = subprocess.run(["bash", "-c", f"{exports}\nparavane vm list"], capture_output=True, text=True, check=True,
                               env={"PATH": "/usr/bin:/bin"}).stdout
        self.assertIn(f"socket {self.folder()}/cluster/h1/api.sock", typed)
        self.assertIn("Ended the hosts h1, with their VMs", self.demo("--stop"))
        self.assertIn("setup --demo-hosts\n", self.clone.calls.read_text())
        self.assertEqual(said.count(" x rdma_rxe"), 2)

    def test_each_clone_ends_its_own(self):
        other = Clone(self.place / "other")
        self.demo("--keep")
        mine = self.folder()
        pid = int((mine / "paravaned.pid").read_text())
        said = self.demo("--stop", clone=other)
        self.assertIn("Nothing runs", said)
        self.assertIn(f"{self.clone.root}/scripts/demo --stop", said)
        self.demo(clone=other)
        os.kill(pid, 0)
        self.assertIn("Ended the daemon and its VMs: vm1 vm2", self.demo("--stop"))
        with self.assertRaises(ProcessLookupError):
            os.kill(pid, 0)
        self.assertEqual(list(self.run_folder.iterdir()), [])

    def test_unknown_words_are_refused(self):
        self.assertIn("--hosts takes 1 to 4, not '9'", self.demo("--hosts", "9", status=2))
        self.assertIn("unknown option '--x'", self.demo("--x", status=2))


if __name__ == "__main__":
    unittest.main()
