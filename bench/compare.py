#!/usr/bin/env python3
"""Compares the ratios of a benchmark's run with those of a baseline.

usage: bench/compare.py BASELINE.json FIGURES.json
       bench/compare.py --write BASELINE.json FIGURES.json...

A figure has fallen if even the best of its repetitions is more than a tenth worse than the baseline's median: the median of a
busy machine moves by more than that. Figures of near and of distant cores are compared apart, and a figure without a
baseline for its cores is named and not compared. Ends with 3 if a figure has fallen. --write puts the medians of runs
into the baseline; what it has of other figures stays.
"""
import json
import pathlib
import sys

MOST = 0.1
LOWER_IS_BETTER = ("us", "ms", "s", "s/GiB", "wake-ups", "B per byte")


def figures_of(path):
    return [one for one in json.loads(pathlib.Path(path).read_text())["figures"] if one["ratio"] is not None]


def key_of(figure):
    """One name may have several floors, which are apart."""
    return f"{figure['name']}, beside {figure['floor_name']}"


def write(baseline, paths):
    kept = json.loads(baseline.read_text()) if baseline.exists() else {}
    for path in paths:
        for figure in figures_of(path):
            kept.setdefault(key_of(figure), {})[figure["cores"]] = float(f"{figure['ratio']['median']:.3g}")
    baseline.write_text(json.dumps(dict(sorted(kept.items())), indent=1) + "\n")


def fall_of(figure, before):
    """How much worse the best repetition is than the baseline, as a part of it; below 0: it is better."""
    if figure["unit"] in LOWER_IS_BETTER:
        return figure["ratio"]["min"] / before - 1
    return 1 - figure["ratio"]["max"] / before


def compare(baseline, path):
    kept = json.loads(baseline.read_text())
    fallen = 0
    for figure in figures_of(path):
        before = kept.get(key_of(figure), {}).get(figure["cores"])
        line = f"{figure['name']:<44} {figure['cores']:<8} {figure['ratio']['median']:>8.3g}"
        if before is None:
            print(f"{line}   no baseline for these cores")
            continue
        worse = fall_of(figure, before) > MOST
        fallen += worse
        print(f"{line} {before:>8.3g} before{'   FALLEN' if worse else ''}")
    return 3 if fallen else 0


def main():
    words = sys.argv[1:]
    if words[:1] == ["--write"] and len(words) >= 3:
        write(pathlib.Path(words[1]), words[2:])
        return 0
    if len(words) != 2 or words[0].startswith("-"):
        sys.exit(__doc__)
    return compare(pathlib.Path(words[0]), words[1])


if __name__ == "__main__":
    sys.exit(main())
