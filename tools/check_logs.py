#!/usr/bin/env python3
"""Fails if a log line is under no limit and is not known to need none.

What a guest, VMM, peer, host, stranger, client of the API or etcd can cause goes through base/limited_log.h (or asks a
LogLimit just before). UNLIMITED has the others: how many lines of a file, and why nobody can have them written again
and again.
"""
import pathlib
import re
import sys

SOURCE = pathlib.Path(__file__).resolve().parent.parent / "src"
LINE = re.compile(r"\blog::(?:info|warn|error|critical)\(")
LIMIT = re.compile(r"\ballow\(|\bkept_back\b")
LINES_ABOVE = 4  # in which a limit may stand

UNLIMITED = {
    "cluster/cluster_accept.cc": (2, "an operator's change of the cluster"),
    "cluster/cluster_authority.cc": (2, "a host has joined, by an operator's token; its key is known, once"),
    "cluster/cluster_backups.cc": (2, "an operator's change of the cluster"),
    "cluster/cluster_change.cc": (3, "an operator's change of the cluster"),
    "cluster/cluster_damage.cc": (2, "the operator's files"),
    "cluster/cluster_files.cc": (3, "an operator's change of the cluster"),
    "cluster/cluster_join.cc": (2, "an operator's change of the cluster"),
    "cluster/cluster_promotion.cc": (1, "an operator's change of the cluster"),
    "cluster/cluster_refusals.cc": (1, "an operator's change of the cluster"),
    "cluster/cluster_service.cc": (1, "the start, or an operator's change of the cluster"),
    "cluster/cluster_succession.cc": (2, "an operator's promotion of a host"),
    "cluster/member_certificate.cc": (2, "a renewal; each reason against one, once"),
    "cluster/promotion_files.cc": (1, "an operator's change of the cluster, once"),
    "daemon/cluster_fabric.cc": (5, "where channels are, by an operator's settings and certificates"),
    "daemon/daemon.cc": (11, "the start, the end, signals, what the keeper says"),
    "daemon/daemon_take_over.cc": (4, "an upgrade, at most once in ten seconds; the ends of engines, eight in a row"),
    "daemon/hand_over.cc": (4, "an upgrade, at most once in ten seconds; for each other host once"),
    "daemon/keeper_run.cc": (1, "the start"),
    "host/host_left_out.cc": (2, "the start"),
    "host/host_start.cc": (3, "the worker is held for five seconds or goes on; a port is put back after a change was refused"),
    "host/machine_view.cc": (3, "a device of this host that was not there before"),
    "host/stale_sockets.cc": (3, "the start"),
    "keeper/keeper.cc": (11, "the start, an upgrade, the end of engines, hung ones included, and holders, a few in a row; the operator's file; a RoCE port, by an operator's change"),
    "keeper/keeper_heir.cc": (3, "an upgrade, the end of engines, a few in a row"),
    "keeper/orphans.cc": (1, "the ends of engines, a few in a row"),
    "keeper/succession.cc": (9, "an upgrade, at most once in ten seconds; the ends of engines, eight in a row"),
    "keeper/switch_follower.cc": (1, "once"),
    "metrics/metrics_port.cc": (2, "at most once a minute"),
    "settings/name_of_host.cc": (1, "the start"),
    "worker/worker.cc": (1, "the start"),
}


def unlimited_lines(text):
    """The numbers of the lines that log without asking a limit."""
    lines = text.splitlines()
    return [number for number, line in enumerate(lines, 1)
            if LINE.search(line) and not any(map(LIMIT.search, lines[max(0, number - 1 - LINES_ABOVE):number]))]


def main():
    problems = []
    for path in sorted(SOURCE.rglob("*.cc")) + sorted(SOURCE.rglob("*.h")):
        if path.name.endswith("_test.cc"):
            continue
        name = path.relative_to(SOURCE).as_posix()
        found = unlimited_lines(path.read_text())
        if len(found) != UNLIMITED.get(name, (0, ""))[0]:
            where = ", ".join(map(str, found)) or "none"
            problems.append(f"src/{name}: log lines without a limit: {where}. Use base/limited_log.h, or say in {__file__} "
                            "why nobody can cause them again and again")
    problems += [f"src/{name} is named in {__file__} and is not there" for name in UNLIMITED if not (SOURCE / name).is_file()]
    print("\n".join(problems) or "logs: ok")
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
