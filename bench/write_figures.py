#!/usr/bin/env python3
"""Puts figures into a page, between its two markers; the rest of the page stays.

Usage: bench/write_figures.py PAGE NAME=FIGURES.json...
NAME is that of the markers: <!-- figures:NAME --> and <!-- end of figures:NAME -->.
"""
import json
import pathlib
import sys


def number(value):
    return f"{value:.0f}" if value >= 1000 else f"{value:.1f}" if value >= 10 else f"{value:.3g}"


def cell(spread):
    return "" if spread is None else f"{number(spread['median'])} ({number(spread['min'])} - {number(spread['max'])})"


def table(results):
    yield "| figure | unit | median (least - most) | floor | ratio | cores | target | |"
    yield "|---|---|---|---|---|---|---|---|"
    for f in results["figures"]:
        verdict = {True: "met", False: "**missed**", None: ""}[f["met"]]
        yield (f"| {f['name']} | {f['unit']} | {cell(f['value'])} | {cell(f['floor'])} | {cell(f['ratio'])} "
               f"| {f.get('cores', '')} | {f['target']} | {verdict} |")
    yield ""
    yield f"Medians of {results['repetitions']} repetitions. Floors, from the same run:"
    yield ""
    for f in results["figures"]:
        if f["floor"] is not None:
            yield f"- {f['name']}: {f['floor_name']}"


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    page = pathlib.Path(sys.argv[1])
    text = page.read_text()
    for word in sys.argv[2:]:
        name, _, path = word.partition("=")
        begin, end = f"<!-- figures:{name} -->", f"<!-- end of figures:{name} -->"
        if begin not in text or end not in text:
            sys.exit(f"write_figures: {page} has no place for figures named {name}")
        results = json.loads(pathlib.Path(path).read_text())
        before, after = text.split(begin)[0], text.split(end)[1]
        text = f"{before}{begin}\n" + "\n".join(table(results)) + f"\n{end}{after}"
    page.write_text(text)


if __name__ == "__main__":
    main()
