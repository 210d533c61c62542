"""Blocks of a page as what is typed and what is shown then (tools/check_blocks.py says which blocks a test types).

A block is typed in one shell. Its lines are commands, which go on after a `\\`. If its first line has a prompt, `$ ` or
`h1# `, those with a prompt are commands and the others are shown; numbers and addresses may differ, `...` is anything. A command
whose remark is "until Ctrl-C" is interrupted. A block that begins with `[` is a part of paravaned.toml.
"""

import pathlib
import re
import shlex
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path += [str(ROOT / "tools"), str(ROOT / "tests" / "guests")]

import guide_text  # noqa: E402  (the line above makes it importable)
from check_blocks import marked  # noqa: E402, F401

PROMPT = re.compile(r"^(?:\$|(h\d+)#) (.*)$")
UNTIL_INTERRUPTED = re.compile(r"# until Ctrl-C\b")
INTERRUPT_AFTER_S = 3
BEGIN, END = "\x1e<", "\x1e>"  # around what a command prints


class Command:
    """One that is typed. `host`: of its prompt, or empty."""

    def __init__(self, host, text):
        self.host, self.text, self.shown = host, text, []

    def script(self):
        if UNTIL_INTERRUPTED.search(self.text):
            return f"timeout --signal=INT {INTERRUPT_AFTER_S} bash -c {shlex.quote(self.text)} || [ $? = 124 ]"
        return self.text


def is_settings(block):
    return block.lines[0].startswith("[")


def commands(block):
    """Those of a block, in their order."""
    found, prompted = [], bool(PROMPT.match(block.lines[0]))
    for line in block.lines:
        prompt = PROMPT.match(line) if prompted else None
        if found and found[-1].text.endswith("\\"):
            found[-1].text += "\n" + line
        elif prompt:
            found.append(Command(prompt[1] or "", prompt[2]))
        elif prompted:
            found[-1].shown.append(line)
        elif line.strip():
            found.append(Command("", line))
    return found


def script_of(typed):
    """All of them in one shell, each with a mark before and its status after what it prints."""
    parts = ["PS1="]
    for one in typed:
        parts.append(f"printf '{BEGIN}'\n{one.script()}\nstatus=$?\nprintf '{END}%d\\n' $status\n(exit $status)")
    return "\n".join(parts)


def results(text, typed):
    """Of each command what it has printed, as lines, and its exit status."""
    found = []
    for part in text.split(BEGIN)[1:]:
        printed, _, status = part.partition(END)
        found.append((guide_text.without_remarks(printed).splitlines(), int(status.split("\n")[0] or -1)))
    if len(found) != len(typed):
        raise AssertionError(f"{len(found)} of {len(typed)} commands were typed:\n{text}")
    return found


def is_shown(shown, seen, only_some=False):
    """Whether a page shows what was seen; `only_some`: some of its lines."""
    if only_some:
        there = {guide_text.shape(line) for line in seen}
        return all(guide_text.shape(line) in there for line in shown)
    return guide_text.same_shape(shown, seen)
