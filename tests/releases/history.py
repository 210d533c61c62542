"""The releases of packaging/releases: their packages, built from the clone's history, and the programs in them."""

import os
import pathlib
import platform
import re
import shutil
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
LIST = ROOT / "packaging" / "releases"
BUILT = ROOT / "build" / "releases"
# Packages of a commit are the same for every clone, and take minutes.
KEPT = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache")) / "paravane" / "releases"
COMPARED = 2  # so many of the last are run against what is here
PATIENCE_TO_BUILD_S = 7200


class Release:
    """A version, and the commit that it was made of."""

    def __init__(self, version, commit):
        self.version, self.commit = version, commit

    def programs(self):
        """The folder of its paravaned and paravane."""
        return BUILT / self.version

    def packages(self, suite):
        """The folder of its Debian packages for that Debian."""
        return KEPT / f"{self.version}-{self.commit[:12]}-{suite}"

    def package(self, suite):
        """That of the host's programs."""
        return next(self.packages(suite).glob("paravane_*.deb"))


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


def check_out(release, folder):
    """A clone of what is here, at the release's commit."""
    if missing := why_missing(release):
        raise AssertionError(missing)
    subprocess.run(["git", "clone", "-q", "--no-checkout", ROOT, folder], check=True)
    subprocess.run(["git", "-c", "advice.detachedHead=false", "checkout", "-q", release.commit], cwd=folder, check=True)


def keep_packages(release, suite, make):
    """Those that make(FOLDER) puts into a folder, unless they are kept already. Half of them are never kept."""
    if release.packages(suite).exists():
        return
    KEPT.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="making-", dir=KEPT) as folder:
        made = pathlib.Path(folder) / "packages"
        made.mkdir()
        make(made)
        made.rename(release.packages(suite))


# Debugging symbols take as long as all the rest.
PACKAGE_SETTINGS = {"DEB_CXXFLAGS_STRIP": "-g", "DEB_BUILD_OPTIONS": "terse noautodbgsym"}


def build(release, log):
    """Its packages, as its own scripts/package makes them on this machine, and the programs out of them."""
    def make(packages):
        with tempfile.TemporaryDirectory(prefix="source-", dir=BUILT) as folder:
            source = pathlib.Path(folder) / "paravane"
            check_out(release, source)
            done = subprocess.run(["nice", "-n", "10", "scripts/package", "--output", packages], cwd=source, stdin=subprocess.DEVNULL,
                                  stdout=log, stderr=log, timeout=PATIENCE_TO_BUILD_S, check=False, env={**os.environ, **PACKAGE_SETTINGS})
            if done.returncode:
                raise AssertionError(f"release {release.version}: scripts/package: exit status {done.returncode}; see {log.name}")

    suite = platform.freedesktop_os_release()["VERSION_CODENAME"]
    keep_packages(release, suite, make)
    shutil.rmtree(release.programs(), ignore_errors=True)
    release.programs().mkdir(parents=True)
    with tempfile.TemporaryDirectory(prefix="package-", dir=BUILT) as folder:
        subprocess.run(["dpkg-deb", "--extract", release.package(suite), folder], check=True)
        for program in "usr/sbin/paravaned", "usr/bin/paravane":
            shutil.copy(pathlib.Path(folder) / program, release.programs())
