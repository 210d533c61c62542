"""The modules a guest gets: the named ones with everything they depend on. One named
with a question mark is left out where the kernel has no such module."""

import os


def name_of(path):
    return os.path.basename(path).split(".ko")[0].replace("-", "_")


def read_dependencies(folder):
    """modules.dep as {module name: (path, [paths it needs])}."""
    modules = {}
    with open(os.path.join(folder, "modules.dep"), encoding="ascii") as file:
        for line in file:
            path, _, needs = line.strip().partition(":")
            modules[name_of(path)] = (path, needs.split())
    return modules


def read_builtin(folder):
    with open(os.path.join(folder, "modules.builtin"), encoding="ascii") as file:
        return {name_of(line.strip()) for line in file}


def closure(folder, names):
    """Paths relative to `folder`. Raises KeyError for a module that is nowhere."""
    modules = read_dependencies(folder)
    builtin = read_builtin(folder)
    chosen = set()
    for wanted in names:
        name = wanted.removesuffix("?")
        if name in builtin or (name not in modules and wanted != name):
            continue
        path, needs = modules[name]
        chosen.update([path, *needs])
    return sorted(chosen)
