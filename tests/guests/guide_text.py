"""A guide in Markdown as steps: what its fenced blocks say to type where, and what is shown then.
docs/guides/README.md has the convention.
"""
import re
import shlex

ATTRIBUTES = {"host", "vm", "file", "exit", "not-run", "background", "wait", "titles"}
ANYTHING = "..."

# In this order: what is made of others comes before them.
VARYING = [
    r"\b\d{4}-\d\d-\d\dT[\d:.]+Z",                         # times
    r"\bpvt1\.\S+",                                        # a token
    r"(?<![\w:])[0-9a-f]{0,4}(?::[0-9a-f]{0,4}){2,}(?!\w)",  # MAC, GUID, IPv6
    r"\b[0-9a-f]{4}(?:[0-9a-f]{4}){1,7}\b",                # identifiers
    r"\b[0-9a-f]{2}(?:[ -][0-9a-f]{2}){7,}\b",             # those of switches, byte by byte
    r"\b0x[0-9a-f]+\b",
    r"(?<!\w)\d+(?:\.\d+)*",                                 # numbers, IPv4, versions
]


class Unconventional(AssertionError):
    """A block that nobody could follow; the text says where it is."""


class Step:
    """A fenced block. `commands`: pairs of what is typed and the lines shown after it."""

    def __init__(self, place, info, lines):
        self.place, self.lines = place, lines
        words = shlex.split(info) or [""]
        self.kind, pairs = words[0], [word.partition("=") for word in words[1:]]
        self.attributes = {name: value for name, _, value in pairs}
        self.complain_unless(self.attributes.keys() <= ATTRIBUTES, f"knows {sorted(ATTRIBUTES)} alone")
        self.commands = []
        if not self.reason_not_to_run:
            self.complain_unless((self.kind == "console") != ("file" in self.attributes),
                                 'is of kind console, or has file=PATH, or not-run="why"')
            self.complain_unless(bool(self.hosts) != bool(self.vms), "needs host=NAME or vm=NAME, one of them")
            self.complain_unless(bool(self.hosts) or self.kind == "console", "is a file, which only hosts get")
            if self.kind == "console":
                self.read_commands()

    def complain_unless(self, good, text):
        if not good:
            raise Unconventional(f"{self.place}: the block {text} (docs/guides/README.md)")

    @property
    def reason_not_to_run(self):
        return self.attributes.get("not-run", "")

    @property
    def hosts(self):
        return [name for name in self.attributes.get("host", "").split(",") if name]

    @property
    def vms(self):
        return [name for name in self.attributes.get("vm", "").split(",") if name]

    def read_commands(self):
        for line in self.lines:
            if self.commands and self.commands[-1][0].endswith("\\"):
                self.commands[-1][0] += "\n" + line
            elif line.startswith("# "):
                self.commands.append([line[2:], []])
            else:
                self.complain_unless(bool(self.commands), "begins with no command (# ...)")
                self.commands[-1][1].append(line)
        self.complain_unless(bool(self.commands), "is empty")


def numbered(text, name):
    """With the number of a host or VM, the last one in its name, where <N> stands."""
    return text.replace("<N>", re.findall(r"\d+", name)[-1].lstrip("0"))


def steps(path):
    """Those of a file, in their order."""
    found, fence = [], None
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if fence is None and line.startswith("```"):
            fence = Place(path.name, number, line[3:].strip())
        elif fence is not None and line == "```":
            found.append(Step(f"{fence.name}:{fence.number}", fence.info, fence.lines))
            fence = None
        elif fence is not None:
            fence.lines.append(line)
        elif re.match(r"\s+```", line):
            raise Unconventional(f"{path.name}:{number}: a block begins at the left edge")
    if fence is not None:
        raise Unconventional(f"{path.name}:{fence.number}: the block does not end")
    return found


class Place:
    """Where a block began."""

    def __init__(self, name, number, info):
        self.name, self.number, self.info, self.lines = name, number, info, []


# ---- what is shown ----

def shape(line):
    """A line without what differs from machine to machine and from run to run."""
    line = re.sub(r"[-*]{2,}", "-", line)
    for pattern in VARYING:
        line = re.sub(pattern, "#", line)
    return " ".join(line.split())


def titles(lines):
    """The titles of a table, which a rule is below or which is the first line; or those that stand before colons."""
    for line, below in zip(lines, lines[1:]):
        if re.fullmatch(r"[- ]*--[- ]*", below):
            return line.split()
    if lines and ":" not in lines[0] and not lines[0].startswith(" "):
        return lines[0].split()
    return list(dict.fromkeys(line.partition(":")[0].strip() for line in lines))


def without_remarks(text):
    """Without what perftest remarks of the machine when it times the processor's clock: on a busy
    one, or under emulation, it does not find a straight line (get_clock.c)."""
    return re.sub(r"^(?:Correlation coefficient r\^2: .*|Conflicting CPU frequency values detected: .*)\n", "", text,
                  flags=re.MULTILINE)


def same_shape(shown, seen):
    """Whether what was seen looks as what the guide shows; "..." is anything, in a line or as lines."""
    pattern = ""
    for line in filter(str.strip, shown):
        if line.strip() == ANYTHING:
            pattern += r"(?:.*\n)*"
        else:
            pattern += ".*".join(re.escape(part) for part in shape(line).split(ANYTHING)) + r" ?\n"
    text = "".join(shape(line) + "\n" for line in seen if line.strip())
    return re.fullmatch(pattern, text) is not None
