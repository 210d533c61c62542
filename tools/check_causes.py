#!/usr/bin/env python3
"""Fails if a decision hangs on the text of a message: words are for people and change.

Refused are find, contains, starts_with, ends_with and == on what is named as a message or a problem. Exceptions: the
command line, which shows what CLI11 says in its own words, and the client of etcd, whose answers have no other cause.
Usage: tools/check_causes.py [src-root]
"""
import pathlib
import re
import sys

ALLOWED = ("cli/parser_words.cc", "cli/command_line.cc", "inventory/etcd_client.cc")
WORDS = r"(?:message|problem|reason|remedy|why|cause|closed|complaint)_?"
SEARCH = r"(?:find|rfind|contains|starts_with|ends_with)\("
DECISION = re.compile(rf"\b{WORDS}(?:\(\))?\.{SEARCH}|\b{WORDS}(?:\(\))? *[=!]= *(?:\"|k[A-Z]|std::strerror)|"
                      rf"strerror\([^)]*\)\)? *[=!]=|{SEARCH}std::strerror")
COMMENT = re.compile(r"//.*")


def is_test(path):
    return "testing" in path.parts or path.stem.endswith("_test") or path.stem.startswith("fake_")


def decisions(root):
    for path in sorted([*root.rglob("*.cc"), *root.rglob("*.h")]):
        name = path.relative_to(root)
        if is_test(path) or str(name) in ALLOWED:
            continue
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if found := DECISION.search(COMMENT.sub("", line)):
                yield f"{name}:{number}: {found.group(0)} decides by the text of a message; give its Error a code or a cause"


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parent.parent / "src")
    found = list(decisions(root))
    print("\n".join(found) or "causes: ok")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
