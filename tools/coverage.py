#!/usr/bin/env python3
"""Which lines of the folders that a guest can reach do tests run?

Usage: tools/coverage.py [--floor PERCENT] [--missing [PATH]] [--json FILE] [--keep]

Builds the preset `coverage` and runs in it the folders' unit tests, conformance, CVE
tests, and the fuzzers' inputs: seeds, and what fuzz/run has kept in build/fuzz/corpus.
Prints each folder's lines and how many of them were run. Below the floor (90 %) in any
of the folders is a failure, as is a test that fails.

--missing names the lines that were not run (of one file or folder), --keep takes the
profiles of the last run instead of running anything.
"""
import argparse
import collections
import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / "build" / "coverage"
PROFILES = BUILD / "profiles"
FOLDERS = ["abi", "guestmem", "vfio_user", "device", "verbs", "transport/local"]
TESTS = [f"paravane_{name}_test" for name in ("abi", "guestmem", "vfio_user", "device", "verbs", "transport_local",
                                              "conformance", "cve", "transport_channel", "transport_impaired")]
DOORS = ["command", "work_queue", "page_directory", "doorbell", "vfio_user", "driver"]  # fuzz/floors, less the API's
SECONDS_PER_DOOR = 60


def quietly(*command, **more):
    """Runs a command; its output only if it fails. Returns its output."""
    done = subprocess.run([str(word) for word in command], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, check=False, **more)
    if done.returncode != 0:
        sys.exit(f"{done.stdout[-6000:]}\ncoverage: {' '.join(str(w) for w in command[:3])} failed")
    return done.stdout


def programs():
    """name -> path, of all that is run."""
    return {name: next(BUILD.rglob(name)) for name in TESTS} | {f"{d}_replay": BUILD / "fuzz" / f"{d}_replay" for d in DOORS}


def build():
    quietly("cmake", "--preset", "coverage", "-DCMAKE_CXX_COMPILER_LAUNCHER=ccache")
    targets = TESTS + [f"{door}_{part}" for door in DOORS for part in ("replay", "seeds")]
    quietly("cmake", "--build", "--preset", "coverage", "--target", *targets)


def run_all():
    PROFILES.mkdir(parents=True, exist_ok=True)
    for old in PROFILES.iterdir():
        old.unlink()
    for name, program in programs().items():
        print(f"running {name}", flush=True)
        words = []
        if name.endswith("_replay"):
            door = name.removesuffix("_replay")
            seeds = BUILD / "fuzz" / "seeds" / door
            quietly(BUILD / "fuzz" / f"{door}_seeds", seeds, env={**os.environ, "LLVM_PROFILE_FILE": os.devnull})
            words = ["--seconds", SECONDS_PER_DOOR, seeds, ROOT / "build" / "fuzz" / "corpus" / door]
        quietly(program, *words, env={**os.environ, "LLVM_PROFILE_FILE": str(PROFILES / f"{name}-%p.profraw")})


def measure():
    """path below src/ -> {line: how often it ran}"""
    merged = PROFILES / "all.profdata"
    quietly("llvm-profdata-19", "merge", "-sparse", "-o", merged, *sorted(PROFILES.glob("*.profraw")))
    objects = [str(word) for program in programs().values() for word in ("-object", program)]
    report = subprocess.run(["llvm-cov-19", "export", "-format=lcov", f"-instr-profile={merged}", *objects], cwd=ROOT,
                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True).stdout
    files, here = collections.defaultdict(dict), None
    for row in report.splitlines():
        kind, _, rest = row.partition(":")
        if kind == "SF":
            path = pathlib.Path(os.path.normpath(BUILD / rest))
            here = path.relative_to(ROOT / "src").as_posix() if path.is_relative_to(ROOT / "src") else None
        elif kind == "DA" and here is not None:
            line, count = (int(word) for word in rest.split(",")[:2])
            files[here][line] = max(files[here].get(line, 0), count)
    return files


def folder_of(path):
    """The guest-facing folder that a file is shipped in, or None."""
    stem = pathlib.PurePosixPath(path).stem
    if stem.endswith("_test") or stem == "requirements_test":
        return None
    return next((folder for folder in FOLDERS if path.startswith(folder + "/")), None)


def ranges(lines):
    """1,2,3,7 -> "1-3 7"."""
    spans = []
    for line in sorted(lines):
        if spans and line == spans[-1][1] + 1:
            spans[-1][1] = line
        else:
            spans.append([line, line])
    return " ".join(f"{a}-{b}" if a != b else str(a) for a, b in spans)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--floor", type=float, default=90)
    parser.add_argument("--missing", nargs="?", const="")
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--keep", action="store_true")
    arguments = parser.parse_args()
    if not arguments.keep:
        build()
        run_all()
    total, covered = collections.Counter(), collections.Counter()
    for path, lines in sorted(measure().items()):
        folder = folder_of(path)
        if folder is None:
            continue
        missing = [line for line, count in lines.items() if count == 0]
        total[folder] += len(lines)
        covered[folder] += len(lines) - len(missing)
        if arguments.missing is not None and missing and path.startswith(arguments.missing):
            print(f"{path}: {ranges(missing)}")
    rows = []
    for folder in FOLDERS:
        if total[folder] == 0:
            print(f"{folder:16} declarations only")
            continue
        share = 100 * covered[folder] / total[folder]
        rows.append({"folder": folder, "lines": total[folder], "covered": covered[folder], "ok": share >= arguments.floor})
        print(f"{folder:16} {covered[folder]:5} of {total[folder]:5} lines, {share:5.1f} %"
              f"{'' if rows[-1]['ok'] else f': below {arguments.floor:g} %'}")
    share = 100 * covered.total() / total.total()
    print(f"{'all of them':16} {covered.total():5} of {total.total():5} lines, {share:5.1f} %")
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=2) + "\n")
    return 0 if all(row["ok"] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
