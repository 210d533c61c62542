#!/usr/bin/env python3
"""Draws a sample of the words that users and developers read, for a reader to judge.

A string is a literal of at least three words in the source of a program (a help text, an error, a remedy, a log line)
or a paragraph of a man page. A header comment is the one that a header opens with. Tests and test fakes are left out.
The same seed draws the same sample from the same tree; the issue tracker gives the commit as the seed.
"""
import argparse
import pathlib
import random
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
# A comment, a raw string, a character or a string; whichever starts first hides the others.
TOKEN = re.compile(r'^ *#include[^\n]*|//[^\n]*|/\*.*?\*/|R"(?P<fence>\w*)\((?P<raw>.*?)\)(?P=fence)"|\'(?:\\.|[^\'\\\n])+\''
                   r'|"(?P<text>(?:\\.|[^"\\\n])*)"', re.DOTALL | re.MULTILINE)
JOINED = re.compile(r"\s*(?:PRI\w+\s*)?")  # what may stand between two literals that the compiler joins
NOT_FOR_USERS = re.compile(r"^\s*(?:SELECT|INSERT|UPDATE|DELETE FROM|CREATE|DROP|ALTER|PRAGMA|BEGIN|COMMIT)\b"
                           r"|<[\w:]+[ >]|^\s*[{\[]\"|^\S+$")
WORD = re.compile(r"[A-Za-z][a-z']+")
MAN_BREAK = re.compile(r"\.(?:Pp|It|Sh|Ss|Bl|El|Bd|Ed|Dd|Dt|Os)\b")
MAN_NAMES = re.compile(r"\b(?:Ar|Ns|Op|Oo|Oc|Cm|Fl|Pa|Xr|Ev|Li|Ql|Sq|Dq|Em|Sy|No|Nm|Va|Brq|Pq|Qq)\b ?")


def is_ours(path):
    return "testing" not in path.parts and not path.stem.endswith("_test") and not path.stem.startswith("fake_")


def literals(text):
    """The string literals of C++ source, adjacent ones joined, each with its first line's number."""
    parts, start, end = [], 0, -1
    for token in TOKEN.finditer(text):
        found = token["raw"] if token["raw"] is not None else token["text"]
        if found is None:
            continue
        if not (parts and JOINED.fullmatch(text, end, token.start())):
            if parts:
                yield start, "".join(parts)
            parts, start = [], text.count("\n", 0, token.start()) + 1
        parts.append(found.replace('\\"', '"').replace("\\n", "\n") if token["raw"] is None else found)
        end = token.end()
    if parts:
        yield start, "".join(parts)


def program_strings():
    for path in sorted((ROOT / "src").rglob("*.cc")) + sorted((ROOT / "src").rglob("*.h")):
        if not is_ours(path):
            continue
        for line, text in literals(path.read_text()):
            if len(WORD.findall(text)) >= 3 and not NOT_FOR_USERS.search(text):
                yield f"{path.relative_to(ROOT)}:{line}", " ".join(text.split())


def man_paragraphs():
    for path in sorted((ROOT / "packaging/man").iterdir()):
        words, start = [], 0
        for number, line in enumerate([*path.read_text().splitlines(), ".Pp"], 1):
            if MAN_BREAK.match(line):
                if len(WORD.findall(" ".join(words))) >= 3:
                    yield f"{path.relative_to(ROOT)}:{start}", " ".join(words).replace("\\&", "").replace(" ,", ",").replace(" .", ".")
                words, start = [], number + 1
            else:
                words.append(MAN_NAMES.sub("", line.removeprefix(".")))


def header_comments():
    for path in sorted((ROOT / "src").rglob("*.h")):
        if not is_ours(path):
            continue
        comment = []
        for line in path.read_text().splitlines():
            if not line.startswith("//"):
                break
            comment.append(line[2:].strip())
        if comment:
            yield f"{path.relative_to(ROOT)}:1", " ".join(comment)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", required=True, metavar="COMMIT", help="seed of the draw: any text, usually a commit")
    parser.add_argument("--strings", type=int, default=40, metavar="N", help="number of strings (default: 40)")
    parser.add_argument("--headers", type=int, default=20, metavar="N", help="number of header comments (default: 20)")
    parser.add_argument("--all", action="store_true", help="print everything that can be drawn, in the order of the files")
    parser.add_argument("--only", default="", metavar="FOLDER", help="draw only from files whose path starts with this")
    given = parser.parse_args()

    chance = random.Random(given.seed)
    strings = [found for found in [*program_strings(), *man_paragraphs()] if found[0].startswith(given.only)]
    headers = [found for found in header_comments() if found[0].startswith(given.only)]
    if not given.all:
        strings = chance.sample(strings, min(given.strings, len(strings)))
        headers = chance.sample(headers, min(given.headers, len(headers)))
    for title, found in (("strings", strings), ("header comments", headers)):
        print(f"{len(found)} {title}\n")
        for number, (where, text) in enumerate(found, 1):
            print(f"{number:3}. {where}\n     {text}")
        print()
    return 0


if __name__ == "__main__":
    sys.exit(main())
