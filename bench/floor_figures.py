"""Figures beside their floors, as paravane_bench has them (bench/figure.h): the same JSON, the same verdicts, the same table."""
import statistics

AT_MOST, AT_LEAST = "<=", ">="


def spread(values):
    return {"median": statistics.median(values), "min": min(values), "max": max(values)}


def figure(name, unit, ours, sense="", limit=None, floor=None, floor_name=""):
    """`floor`: of each of ours, from the same run; the ratio is ours by it, pair by pair, and `limit` is that of the ratio then."""
    ratio = spread([one / other for one, other in zip(ours, floor)]) if floor else None
    value = spread(ours)
    judged = (ratio or value)["median"]
    return {"name": name, "unit": unit, "value": value, "floor": spread(floor) if floor else None, "floor_name": floor_name, "ratio": ratio,
            "cores": "", "target": "" if limit is None else f"{sense} {limit}{' x' if floor else ''}",
            "met": None if limit is None else judged <= limit if sense == AT_MOST else judged >= limit}


def status_of(figures):
    """3: a target was missed."""
    return 0 if all(one["met"] is not False for one in figures) else 3


def number(value):
    return f"{value:.0f}" if value >= 1000 else f"{value:.1f}" if value >= 10 else f"{value:.3g}"


def cell(samples):
    return "-" if samples is None else f"{number(samples['median'])} ({number(samples['min'])} - {number(samples['max'])})"


def show(figures):
    row = "{:<50} {:<11} {:<24} {:<24} {:<22} {:<8} {}".format
    print(row("figure", "unit", "median (min - max)", "floor", "ratio", "target", "").rstrip())
    for one in figures:
        cells = [cell(one[key]) for key in ("value", "floor", "ratio")]
        print(row(one["name"], one["unit"], *cells, one["target"], {True: "met", False: "MISSED", None: ""}[one["met"]]).rstrip())
    print("\nfloors:")
    for one in figures:
        if one["floor"]:
            print(f"  {one['name']:<50} {one['floor_name']}")
