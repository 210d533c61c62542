"""Programs of unit tests, each run once with all its tests, and each test counted.

CTest starts a process for each of them, and with sanitizers a start costs more processor time than most tests.
"""
import concurrent.futures
import json
import os
import pathlib
import subprocess
import tempfile
import xml.etree.ElementTree as ElementTree

FILTER = "--gtest_filter="
PATIENCE_S = 1500  # for one program


class Program:
    """A program, the tests that are wanted of it, and how CTest would run them."""

    def __init__(self, path):
        self.path, self.filters, self.folder, self.env = path, [], None, {}
        self.is_whole = True  # all of its tests are wanted

    def add(self, test):
        self.filters += [word.removeprefix(FILTER) for word in test["command"] if word.startswith(FILTER)]
        for entry in test.get("properties", []):
            if entry["name"] == "WORKING_DIRECTORY":
                self.folder = entry["value"]
            if entry["name"] == "ENVIRONMENT":
                self.env |= dict(word.split("=", 1) for word in entry["value"])


def split(tests, is_wanted):
    """Of what CTest knows (`--show-only=json-v1`): the programs of GoogleTest, and the names of other tests."""
    programs, others = {}, []
    for test in tests:
        command = test.get("command", [])
        if any(word.startswith(FILTER) for word in command):
            program = programs.setdefault(command[0], Program(command[0]))
            if is_wanted(test["name"]):
                program.add(test)
            else:
                program.is_whole = False
        elif is_wanted(test["name"]):
            others.append(test["name"])
    return [program for program in programs.values() if program.filters], others


def verdicts(report):
    """[(name, verdict, what it said)], as GoogleTest wrote them."""
    found = []
    for case in ElementTree.parse(report).getroot().iter("testcase"):
        said = "\n".join(part.text or part.get("message", "") for part in case.findall("failure"))
        skipped = case.get("status") == "notrun" or case.find("skipped") is not None or case.get("result") == "skipped"
        verdict = "failed" if case.find("failure") is not None else "skipped" if skipped else "passed"
        found.append((f"{case.get('classname')}.{case.get('name')}", verdict, said))
    return found


def run_program(program, env):
    """(verdicts, what it printed, whether it ran to its end)"""
    with tempfile.TemporaryDirectory() as folder:
        report, filters = pathlib.Path(folder) / "report.xml", pathlib.Path(folder) / "flags"
        # Hundreds of names are too long for a command line.
        filters.write_text("" if program.is_whole else FILTER + ":".join(program.filters) + "\n")
        done = subprocess.run(["timeout", "-k", "20", str(PATIENCE_S), program.path, f"--gtest_flagfile={filters}",
                               f"--gtest_output=xml:{report}"], cwd=program.folder, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", check=False,
                              env={**os.environ, **program.env, **env})
        found = verdicts(report) if report.exists() else []
    failed = any(verdict == "failed" for _, verdict, _ in found)
    return found, done.stdout, bool(found) and (done.returncode == 0 or failed)


def known_tests(folder, *more):
    """What CTest knows in a build folder; `more` chooses, as of ctest."""
    listed = subprocess.run(["ctest", "--test-dir", str(folder), "--show-only=json-v1", *more], capture_output=True, text=True,
                            check=True)
    return json.loads(listed.stdout)["tests"]


def run(programs, env, jobs, on_end):
    """`on_end(program, verdicts, printed, is_whole)` after each, on this thread. The longest first."""
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        waiting = {pool.submit(run_program, program, env): program
                   for program in sorted(programs, key=lambda one: -len(one.filters))}
        for done in concurrent.futures.as_completed(waiting):
            on_end(waiting[done], *done.result())
