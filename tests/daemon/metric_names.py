"""Which metrics are asked for, and which there are."""

import json
import pathlib
import re

PACKAGING = pathlib.Path(__file__).resolve().parents[2] / "packaging"
METRIC = re.compile(r"\b(?:node_infiniband|paravane)_[a-z0-9_]+")


def names_in(page):
    """The families of a page of metrics."""
    return set(re.findall(r"^# TYPE (\S+)", page, re.M))


def named_by_dashboard():
    """Every metric that Grafana's dashboard and Prometheus' rules ask for."""
    dashboard = json.loads((PACKAGING / "grafana" / "paravane.json").read_text())
    expressions = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    expressions += [one["query"] for one in dashboard["templating"]["list"] if one["type"] == "query"]
    rules = (PACKAGING / "prometheus" / "paravane.rules.yml").read_text()
    expressions += re.findall(r"expr: (.*)", rules)
    return set(METRIC.findall("\n".join(expressions)))
