#!/usr/bin/env python3
"""Fails if a fenced block of README.md or docs/ does not say whether a test types it.

The line before a block is a comment:

  <!-- typed: ROOM.PART -->  tests/ROOM/test_PART.py types it; that test asks marked() for its blocks, and names the page
  <!-- not typed: why -->    commands that no test types; at most a tenth of all blocks of commands
  <!-- shows: what -->       no commands: what a program prints, a message, a file of another program

A block of a guide says in its first line where it is typed (docs/guides/README.md): tests/guests/test_guides.py types it, or the
test that GUIDES_OF_OTHERS has, and `not-run` counts as not typed.

usage: tools/check_blocks.py [--list]
"""
import collections
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
NOT_TYPED_SHARE = 0.1
WORDS_OF_A_REASON = 3

FENCE = re.compile(r"^( *)```(.*)$")
MARK = re.compile(r"^ *<!-- (typed|not typed|shows): (.+) -->$")
GUIDE_FENCE = re.compile(r"\b(?:host|vm)=")
GUIDES_OF_OTHERS = {"mellanox-infiniband.md": "infiniband.guide"}  # guides that need no guests
NOT_RUN = re.compile(r"""\bnot-run=(["'])(.+?)\1""")
# A block that only shows something has no line of this form: a prompt, or the name of a program.
COMMAND = re.compile(r"^\s*(\$ |# \w|h\d+# |(sudo |[A-Z_]+=\S+ )*(paravaned?|esxcli|curl|virsh|cmake|ctest|modprobe|apt-get|apt|systemctl|"
                     r"groupadd|usermod|install|sed|echo|rping|ib_\w+|ibv_\w+|qemu-system-\w+|\./\w\S*|(scripts|lab|tests|fuzz|tools)/\S+)\s)")

Block = collections.namedtuple("Block", "page line kind text lines")


def blocks(page):
    """The fenced blocks of a page. `kind` is typed, not typed, shows, or empty where nothing is said."""
    found, fence, before = [], None, ""
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        match = FENCE.match(line)
        if fence is None and match:
            fence = (number, len(match[1]), *said(match[2], before, page.name))
            lines = []
        elif fence is not None and match and not match[2]:
            found.append(Block(page, fence[0], fence[2], fence[3], lines))
            fence = None
        elif fence is not None:
            lines.append(line[fence[1]:])
        before = line
    if fence is not None:
        found.append(Block(page, fence[0], "open", "", lines))
    return found


def said(info, before, page=""):
    """The kind of a block and what is said with it, by its first line or the line before."""
    if GUIDE_FENCE.search(info):
        reason = NOT_RUN.search(info)
        return ("not typed", reason[2]) if reason else ("typed", GUIDES_OF_OTHERS.get(page, "guests.guides"))
    match = MARK.match(before)
    return (match[1], match[2]) if match else ("", "")


def pages(root=ROOT):
    return [root / "README.md", *sorted((root / "docs").rglob("*.md"))]


def marked(test, root=ROOT):
    """The blocks that a test types, by the name of their page."""
    found = {}
    for page in pages(root):
        for block in blocks(page):
            if (block.kind, block.text) == ("typed", test):
                found.setdefault(page.name, []).append(block)
    return found


def why_bad(block, root):
    """What is wrong with a block; empty: nothing."""
    if block.kind == "typed":
        room, _, part = block.text.partition(".")
        test = root / "tests" / room / f"test_{part}.py"
        if not test.is_file():
            return f"no test types it: there is no {test.relative_to(root)}"
        if block.page.name not in test.read_text() and block.page.parent.name not in test.read_text():
            return f"{test.relative_to(root)} does not name {block.page.name}"
    elif block.kind == "not typed":
        if len(block.text.split()) < WORDS_OF_A_REASON:
            return f"why is it not typed? '{block.text}' is no reason"
    elif block.kind == "shows":
        for line in block.lines:
            if COMMAND.match(line):
                return f"is said to show something, and has a command: {line.strip()}"
    elif block.kind == "open":
        return "does not end"
    else:
        return "needs a line before it that says whether a test types it (tools/check_blocks.py)"
    return ""


def problems(root=ROOT):
    found, kinds = [], collections.Counter()
    for page in pages(root):
        for block in blocks(page):
            kinds[block.kind] += 1
            if why := why_bad(block, root):
                found.append(f"{page.relative_to(root)}:{block.line}: {why}")
    commands = kinds["typed"] + kinds["not typed"]
    if kinds["not typed"] > NOT_TYPED_SHARE * commands:
        found.append(f"{kinds['not typed']} of {commands} blocks of commands are not typed, more than a tenth")
    return found, kinds


def main():
    if "--list" in sys.argv[1:]:
        for page in pages():
            for block in blocks(page):
                print(f"{page.relative_to(ROOT)}:{block.line}: {block.kind or '?'}: {block.text}")
    found, kinds = problems()
    summary = ", ".join(f"{kinds[kind]} {kind}" for kind in ("typed", "not typed", "shows"))
    print("\n".join(found) or f"blocks: ok ({summary})")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
