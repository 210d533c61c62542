#!/usr/bin/env python3
"""Prints apt source lines for a Debian suite, on the machine's own mirrors.

The project names no mirror. What the machine's apt is configured with (both
source formats; apt itself reads them) is asked for the Debian archive and the
security archive, and the wanted suite is put in place of the machine's own.

usage: mirrors.py SUITE [--backports | --offer-backports] [--keyring FILE]

With --backports the caller prefers that suite; with --offer-backports it is there for
packages that are asked for by their version.
"""

import argparse
import re
import subprocess
import sys

FIELDS = "$(REPO_URI)|$(SITE)|$(RELEASE)|$(COMPONENT)|$(CREATED_BY)"


def configured_sources():
    """(uri, suite, component) of every package index apt would fetch."""
    out = subprocess.run(["apt-get", "indextargets", "--format", FIELDS],
                         check=True, capture_output=True, text=True).stdout
    found = []
    for line in out.splitlines():
        repo, site, suite, component, kind = line.split("|")
        uri = site if site and "$(" not in site else repo
        if kind == "Packages" and component == "main" and not uri.startswith("cdrom:"):
            if (uri, suite) not in found:
                found.append((uri, suite))
    return found


def debian_archive(sources):
    """The mirror that also has SUITE-updates is Debian's own; else by its path."""
    suites_of = {}
    for uri, suite in sources:
        suites_of.setdefault(uri, set()).add(suite)
    for uri, suites in suites_of.items():
        if any(s + "-updates" in suites for s in suites):
            return uri
    for uri, suites in suites_of.items():
        path = uri.rstrip("/")
        if path.endswith("/debian") or "debian" in path and not path.endswith("-security"):
            if any("-" not in s for s in suites):
                return uri
    return None


def security_archive(sources):
    for uri, suite in sources:
        if suite.endswith("-security") or suite.endswith("/updates"):
            return uri
    return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("suite")
    parser.add_argument("--backports", "--offer-backports", action="store_true")
    parser.add_argument("--keyring")
    args = parser.parse_args()
    if not re.fullmatch(r"[a-z]+", args.suite):
        sys.exit(f"lab: error: suite {args.suite!r}: not a Debian code name")
    sources = configured_sources()
    archive = debian_archive(sources)
    if archive is None:
        sys.exit("lab: error: apt sources: no Debian archive with component main among "
                 f"{sources or 'none configured'}\n"
                 "lab: remedy: add your Debian mirror to /etc/apt/sources.list.d/debian.sources")
    option = f"[signed-by={args.keyring}] " if args.keyring else ""
    suites = [args.suite, args.suite + "-updates"]
    if args.backports:
        suites.append(args.suite + "-backports")
    for suite in suites:
        print(f"deb {option}{archive} {suite} main")
    security = security_archive(sources)
    if security:
        print(f"deb {option}{security} {args.suite}-security main")


if __name__ == "__main__":
    main()
