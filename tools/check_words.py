#!/usr/bin/env python3
"""Fails if a tracked file holds what may never be committed: a path of some
machine, a package mirror's host name, work left for later."""
import re
import subprocess
import sys

FORBIDDEN = {
    "a path of somebody's home": re.compile(r"(^|[\s\"'=:(])/(root|home/\w+)/"),
    "a package mirror": re.compile(r"https?://\S*/debian(-security)?\b"),
    "work left for later": re.compile(r"\b(TO[D]O|FIX[M]E|X{3})\b"),
}


def main():
    found = []
    for name in subprocess.run(["git", "ls-files"], capture_output=True, text=True, check=True).stdout.split("\n"):
        if not name:
            continue
        try:
            lines = open(name, encoding="utf-8").read().splitlines()
        except (UnicodeDecodeError, FileNotFoundError, IsADirectoryError):
            continue
        for number, line in enumerate(lines, 1):
            found += [f"{name}:{number}: {what}" for what, pattern in FORBIDDEN.items() if pattern.search(line)]
    print("\n".join(found) or "words: ok")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
