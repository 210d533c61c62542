#!/usr/bin/env python3
"""Fails if a tracked file holds what may never be committed (a path of some
machine, a package mirror's host name, work left for later), or if text of a
program, a man page or a header's opening comment breaks docs/words.md."""
import pathlib
import re
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import draw_words  # noqa: E402

FORBIDDEN = {
    "a path of somebody's home": re.compile(r"(^|[\s\"'=:(])/(root|home/\w+)/"),
    "a package mirror": re.compile(r"https?://\S*/debian(-security)?\b"),
    "work left for later": re.compile(r"\b(TO[D]O|FIX[M]E|X{3})\b"),
}

NOT_PLAIN = {
    "a word for people": re.compile(r"\b(?:nobody|somebody|whoever|whomever)\b|(?:^|[.;:] )Who (?!\S[^.]*\?)", re.IGNORECASE),
    "a household verb": re.compile(r"\b(?:tak(?:e|es|en|ing) (?:(?:it|them|one|all|\w+s) )?away|took away|made worse|makes it worse"
                                   r"|made so|(?:is|are) so\b|one is started)", re.IGNORECASE),
    "no noun": re.compile(r"\bby itself\b|\byour matter\b|else's\b|^Not that\b|\bonce for each\b|(?<!here )\b(?:is|are) none\b"
                          r"|(?<!here )\bis no (?!longer\b|more\b)|\bas (?:it is|they are) to be\b"),
    "a default without the word": re.compile(r"(?<=[a-z] )\((?:\d[\w.%]*|any|none|static)\)$"),
}


def forbidden():
    for name in subprocess.run(["git", "ls-files"], capture_output=True, text=True, check=True).stdout.split("\n"):
        if not name:
            continue
        try:
            lines = open(name, encoding="utf-8").read().splitlines()
        except (UnicodeDecodeError, FileNotFoundError, IsADirectoryError):
            continue
        for number, line in enumerate(lines, 1):
            yield from (f"{name}:{number}: {what}" for what, pattern in FORBIDDEN.items() if pattern.search(line))


def not_plain(texts):
    """Texts that break the rules of docs/words.md; each is (where, text)."""
    for where, text in texts:
        for what, pattern in NOT_PLAIN.items():
            if found := pattern.search(text):
                yield f"{where}: {what}: \"{found.group(0).strip()}\" (docs/words.md)"


def main():
    found = [*forbidden(), *not_plain([*draw_words.program_strings(), *draw_words.man_paragraphs(), *draw_words.header_comments()])]
    print("\n".join(found) or "words: ok")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
