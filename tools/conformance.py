#!/usr/bin/env python3
"""Writes docs/conformance.md from the reports of a test run, or compares it.

Usage: tools/conformance.py [--reports DIR] [--compare [--all]] [--programs]
  --reports DIR  where scripts/check left its reports (build/check)
  --compare      write nothing; fail if the page has other verdicts, and say which; of what the usual run
                 leaves to --all the page speaks alone
  --all          the reports are those of a run with --all: each row of the page is in them
  --programs     only the programs and suites of others: the rest of the page is not looked at
"""
import argparse
import json
import pathlib
import re
import sys
import xml.etree.ElementTree as ElementTree

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "conformance.md"
ITEM = re.compile(r"\*\*C(\d\d)\*\*")
IN_NAME = re.compile(r"C(\d\d)(?=[_A-Z])")
GUESTS = {"guests": "Debian 12, kernel 6.1, rdma-core 44", "guests_trixie": "Debian 13, kernel 6.12, rdma-core 56"}

HEAD = """# Conformance

Written by `tools/conformance.py` from the reports of a `scripts/check --all`. Each check, whether or not with --all, fails when
its verdicts differ.

## Items of the device specification

An item of [device-spec.md](device-spec.md) passes when every test that carries its number does. Tests are counted once
per program; those of guests run on unmodified Linux guests.

| item | what | device tests | guest tests | verdict |
|---|---|---|---|---|
"""


PROGRAMS = "\n## Programs and suites of others"
IPOIB = "\n## IP over InfiniBand"
SUITE = "\n## rdma-core's own test suite"


def spec_items():
    """{number: text}; one line of the list may have several numbers."""
    items = {}
    for line in (ROOT / "docs" / "device-spec.md").read_text().splitlines():
        if not line.startswith("- **C"):
            continue
        text = re.sub(r"^- (\*\*C\d\d\*\*(, )?)+:? *", "", line)
        for number in ITEM.findall(line):
            items[number] = text
    return items


def unit_verdicts(reports):
    root = ElementTree.parse(reports / "sanitizers.xml").getroot()
    return [(case.get("name"), case.get("status") == "run" and case.find("failure") is None)
            for case in root.iter("testcase")]


def guest_verdicts(reports):
    return [(case["name"], case["verdict"] == "passed") for stage in GUESTS
            for case in json.loads((reports / f"{stage}.json").read_text())]


def by_item(verdicts):
    found = {}
    for name, passed in verdicts:
        for number in set(IN_NAME.findall(name)):
            found.setdefault(number, []).append(passed)
    return found


def item_table(reports):
    device, guest = by_item(unit_verdicts(reports)), by_item(guest_verdicts(reports))
    rows = []
    for number, text in sorted(spec_items().items()):
        tests = device.get(number, []) + guest.get(number, [])
        verdict = "no test" if not tests else "pass" if all(tests) else "**fail**"
        rows.append(f"| C{number} | {text} | {len(device.get(number, []))} | {len(guest.get(number, []))} | {verdict} |")
    return "\n".join(rows) + "\n"


def programs_section(reports):
    text = (f"{PROGRAMS}\n\nA program passes when every test in tests/guests that runs it does; what some of them need is in "
            "[programs.md](programs.md). Versions are those of Debian's packages in the run that wrote this page, and of the guest's "
            "kernel where the program is a part of it. A run with newer ones has the same verdicts, or the check fails.\n")
    for stage, guest in GUESTS.items():
        report = reports / f"{stage}-programs.json"
        if not report.exists():
            continue
        run = json.loads(report.read_text())
        rows = [f"| {one['program']} | {one['version']} | {one['tests']} | {one['verdict']} |" for one in run["programs"]]
        text += (f"\n### Programs in {guest}\n\nKernel {run['release']} ({run['kernel']}).\n\n| program or suite | version | tests "
                 "| verdict |\n|---|---|---|---|\n" + "\n".join(rows) + "\n")
    return text


def suite_section(reports):
    text = (f"{SUITE}\n\nBetween the device's own queue pairs, in one guest. \"Skipped\" is the suite's "
            "own word, with its reason; what an adapter of another maker would need is left out (mlx5, EFA, CUDA).\n")
    for stage, guest in GUESTS.items():
        for report in sorted(reports.glob(f"{stage}-pyverbs-*.json")):
            run = json.loads(report.read_text())
            rows, others = [], 0
            for case, verdict in sorted(run["verdicts"].items()):
                if re.search(r"MLX5|mlx5|EFA|[Cc]uda", verdict):
                    others += 1
                    continue
                rows.append(f"| {case.removeprefix('tests.')} | {verdict.replace('|', '/')} |")
            text += (f"\n### {guest}, {run['how']}\n\n{len(run['verdicts'])} tests, of which {others} are for other adapters.\n\n"
                     "| test | verdict |\n|---|---|\n" + "\n".join(rows) + "\n")
    return text


def verdicts_of(page):
    """What must not differ: each row's heading, first cell, and the first word of its last.
    Numbers of tests and reasons may."""
    heading, verdicts = "", {}
    for line in page.splitlines():
        if line.startswith("#"):
            heading = line.strip("# ")
        cells = [cell.strip() for cell in line.strip("|").split(" | ")] if line.startswith("| ") else []
        if len(cells) > 1:
            verdicts[f"{heading}: {cells[0]}"] = cells[-1].split(" ")[0]
    return verdicts


def known_to_both(told, shown):
    """Without what a run left out, which shows no test of an item, and no row of a program."""
    shown = {name: verdict for name, verdict in shown.items() if verdict != "no"}
    return {name: verdict for name, verdict in told.items() if name in shown}, shown


def parts_of(page):
    """What comes before the programs of others, these, and what comes after."""
    before, _, rest = page.partition(SUITE)
    before, heading, programs = before.partition(PROGRAMS)
    return before, heading + programs, SUITE + rest


def ipoib_section(page):
    """Kept as it is: no report tells it."""
    _, heading, rest = page.partition(IPOIB)
    return heading + rest.partition(PROGRAMS)[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--reports", type=pathlib.Path, default=ROOT / "build" / "check")
    parser.add_argument("--compare", action="store_true")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--programs", action="store_true")
    options = parser.parse_args()
    old = PAGE.read_text() if PAGE.exists() else ""
    before, old_programs, after = parts_of(old)
    page = programs_section(options.reports)
    if not options.programs:
        page = HEAD + item_table(options.reports) + ipoib_section(old) + page + suite_section(options.reports)
    if not options.compare:
        PAGE.write_text(before + page + after if options.programs else page)
        return 0
    told, shown = verdicts_of(old_programs if options.programs else old), verdicts_of(page)
    if not options.all:
        told, shown = known_to_both(told, shown)
    differ = [name for name in sorted(told | shown) if told.get(name) != shown.get(name)]
    for name in differ:
        print(f"{name}: docs/conformance.md says {told.get(name, 'nothing')}, this run {shown.get(name, 'nothing')}")
    print(f"{len(shown)} verdicts, {len(differ)} differ")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
