#!/usr/bin/env python3
"""Runs clang-tidy over the sources of a build, two at a time, and remembers what
was clean: a file is looked at again when its preprocessed text or the rules
change. Usage: tools/tidy.py --build DIR [FILE...]"""
import argparse
import concurrent.futures
import hashlib
import json
import os
import pathlib
import shlex
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
MEMORY = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache")) / "paravane" / "tidy"


def fingerprint(entry, rules):
    """What the verdict depends on: the preprocessed text, without line markers, and the rules; not where the tree lies."""
    words = shlex.split(entry["command"])
    words = [w for w in words if not w.endswith("ccache")]
    output = words.index("-o")
    words = words[:output] + words[output + 2:]
    words = [w for w in words if w != "-c"] + ["-E", "-P"]
    text = subprocess.run(words, cwd=entry["directory"], capture_output=True, check=True).stdout
    text = text.replace(os.fsencode(ROOT), b"")  # what an assert's __FILE__ becomes
    return hashlib.sha256(text + rules).hexdigest()


def judge(entry, build, rules):
    mark = MEMORY / fingerprint(entry, rules)
    if mark.exists():
        return entry["file"], True, ""
    done = subprocess.run(["clang-tidy-19", "--quiet", "-p", str(build), entry["file"]], capture_output=True, text=True,
                          check=False)
    if done.returncode == 0:
        mark.touch()
    return entry["file"], done.returncode == 0, done.stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("files", nargs="*")
    options = parser.parse_args()
    MEMORY.mkdir(parents=True, exist_ok=True)
    rules = (ROOT / ".clang-tidy").read_bytes()
    entries = json.loads((options.build / "compile_commands.json").read_text())
    wanted = {str(pathlib.Path(f).resolve()) for f in options.files}
    entries = [e for e in entries if e["file"].startswith(str(ROOT / "src")) and not e["file"].endswith("_test.cc")
               and (not wanted or e["file"] in wanted)]
    bad = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for file, clean, text in pool.map(lambda e: judge(e, options.build, rules), entries):
            print(f"{'ok  ' if clean else 'BAD '} {os.path.relpath(file, ROOT)}", flush=True)
            if not clean:
                bad += 1
                print(text)
    print(f"{len(entries)} files, {bad} with findings")
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
