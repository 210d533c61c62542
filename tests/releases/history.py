"""The releases of packaging/releases, and their programs, built from the clone's history."""

import os
import pathlib
import re
import shutil
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
LIST = ROOT / "packaging" / "releases"
BUILT = ROOT / "build" / "releases"
COMPARED = 2  # so many of the last are run against what is here
PATIENCE_TO_BUILD_S = 7200


class Release:
    """A version, and the commit that it was made of."""

    def __init__(self, version, commit):
        self.version, self.commit = version, commit

    def programs(self):
        """The folder of its paravaned and paravane."""
        return BUILT / self.version / "build" / "release" / "bin"


def read_releases(text):
    """In the order of the lines. Each has a version and a whole hash."""
    releases = []
    for line in text.splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        found = re.fullmatch(r"(\d+\.\d+\.\d+) ([0-9a-f]{40})", line)
        if not found:
            raise ValueError(f"packaging/releases: {line!r} is not VERSION COMMIT")
        releases.append(Release(*found.groups()))
    return releases


def releases():
    return read_releases(LIST.read_text())


def git(*words, root=ROOT):
    return subprocess.run(["git", *words], cwd=root, capture_output=True, text=True, check=False)


def why_missing(release, root=ROOT):
    """Empty: its commit is in the history of what is here."""
    if git("merge-base", "--is-ancestor", release.commit, "HEAD", root=root).returncode == 0:
        return ""
    what = f"commit {release.commit} of release {release.version} is not in the history"
    if git("rev-parse", "--is-shallow-repository", root=root).stdout.strip() == "true":
        return what + " of this clone, which is shallow: git fetch --unshallow"
    return what + " of what is checked out: see packaging/releases"


def version_of(commit):
    """As its build files have it."""
    text = git("show", f"{commit}:CMakeLists.txt").stdout
    found = re.search(r"^project\(paravane VERSION ([0-9.]+) ", text, re.MULTILINE)
    return found.group(1) if found else None


def build(release, log):
    """Its programs, as they were shipped: below build/releases, once for each commit."""
    if missing := why_missing(release):
        raise AssertionError(missing)
    tree, stamp = BUILT / release.version, BUILT / f"{release.version}.commit"
    if stamp.exists() and stamp.read_text() == release.commit and (release.programs() / "paravaned").exists():
        return
    stamp.unlink(missing_ok=True)
    shutil.rmtree(tree, ignore_errors=True)
    tree.mkdir(parents=True)
    archive = subprocess.run(["git", "archive", release.commit], cwd=ROOT, check=True, capture_output=True).stdout
    subprocess.run(["tar", "-x"], cwd=tree, input=archive, check=True)
    launcher = ["-DCMAKE_CXX_COMPILER_LAUNCHER=ccache"] if shutil.which("ccache") else []
    # A compiler that is newer than the release may have warnings that it did not.
    for words in (["cmake", "--preset", "release", "-DPARAVANE_BENCH=OFF", "-DPARAVANE_WERROR=OFF", *launcher],
                  ["cmake", "--build", "--preset", "release", "--target", "paravaned", "paravane"]):
        done = subprocess.run(["nice", "-n", "10", *words], cwd=tree, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                              timeout=PATIENCE_TO_BUILD_S, check=False, env={**os.environ, "CLICOLOR_FORCE": "0"})
        if done.returncode:
            raise AssertionError(f"release {release.version}: {' '.join(words)}: exit status {done.returncode}; see {log.name}")
    stamp.write_text(release.commit)
