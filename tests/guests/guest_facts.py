"""What the guests of this run are made of: kernel, and the versions of packages as Debian
counts them. Asked once for each layer that a guest has, and kept for the report."""
import re

seen = set()
facts = {"release": "", "kernel": "", "packages": {}}

ASK = "uname -r; uname -v; cat /usr/lib/lab/packages/*"


def layers_of(options):
    return {option for before, option in zip(options, options[1:]) if before == "--layer"} | {"guest"}


def note(rig, options):
    """Guest 1 of the rig has been started with these words of lab/vm's."""
    if layers_of(options) <= seen:
        return
    seen.update(layers_of(options))
    release, version, *lines = rig.shell(1, ASK).splitlines()
    facts["release"] = release
    facts["kernel"] = re.search(r"Debian (\S+)", version)[1]
    facts["packages"].update(line.split(" ", 1) for line in lines)
