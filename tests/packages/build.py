"""Builds the packages on a Debian, as scripts/package does there for anybody."""

import pathlib
import re
import shutil
import subprocess
import sys

from debian import CACHE, Debian, PATIENCE_TO_BUILD_S, ROOT

sys.path.insert(0, str(ROOT / "tests" / "releases"))
import history  # pylint: disable=wrong-import-position

BUILT = ROOT / "build" / "packages-of"


def build(suite, log):
    """Into build/packages-of/SUITE; the log gets all that is said."""
    output = BUILT / suite
    shutil.rmtree(output, ignore_errors=True)
    output.mkdir(parents=True)
    with Debian(suite, "builder") as builder:
        subprocess.run(["git", "clone", "-q", ROOT, builder.root / "src/paravane"], check=True)
        package(builder, output, log)
        # What an installation without packages has, to compare.
        builder.run("env", "DESTDIR=/installed", "sh", "-c",
                    "cmake --install /src/paravane/build/package/paravane/obj-*")
        installed = subprocess.run(["find", ".", "-not", "-type", "d", "-printf", "%P\n"], cwd=builder.root / "installed",
                                   check=True, capture_output=True, text=True).stdout
        (output / "installed").write_text(installed)


def package(builder, output, log):
    """What is in src/paravane there."""
    builder.bind(CACHE.parent / "ccache", "ccache")
    builder.bind(output, "output")
    said = builder.try_run("nice", "-n", "5", "/src/paravane/scripts/package", "--output", "/output", patience_s=PATIENCE_TO_BUILD_S,
                           env={"CCACHE_DIR": "/ccache", **history.PACKAGE_SETTINGS})
    log.write(said.stdout)
    if said.returncode:
        raise AssertionError(f"scripts/package: exit status {said.returncode}\n{said.stdout[-6000:]}")


def build_release(release, suite, log):
    """That of packaging/releases, where it is not kept."""
    def make(packages):
        with Debian(suite, "builder") as builder:
            history.check_out(release, builder.root / "src/paravane")
            package(builder, packages, log)

    history.keep_packages(release, suite, make)


def built(suite, name):
    """The package of that name."""
    return next((BUILT / suite).glob(f"{name}_*.deb"))


def newer(package, folder):
    """The same package with a higher version."""
    tree = pathlib.Path(folder) / "tree"
    subprocess.run(["dpkg-deb", "--raw-extract", package, tree], check=True)
    control = tree / "DEBIAN" / "control"
    control.write_text(re.sub(r"(?m)^(Version: .*)$", r"\1+later", control.read_text()))
    later = pathlib.Path(folder) / package.name.replace("_amd64", "+later_amd64")
    subprocess.run(["dpkg-deb", "--root-owner-group", "--build", tree, later], check=True, stdout=subprocess.DEVNULL)
    shutil.rmtree(tree)
    return later
