"""A paravaned for this lab alone, for use by hand: started when nobody named a
daemon (--api), ended with the lab's last VM.

Tests start their own daemon, to see its log and to stop it, and name it.
"""

import os
import shutil
import time

from . import processes
from .device_arguments import paravane, program_path
from .errors import LabError
from .places import tail

START_SECONDS = 20

CONFIG = """\
[api]
socket = "{folder}/api.sock"
[state]
directory = "{folder}/state"
[vfio_user]
socket_directory = "{folder}/vms"
[sandbox]
user = "nobody"
"""


def folder_of(state):
    return os.path.join(state.folder, "daemon")


def ensure(state, paravane_option):
    """Returns the API socket of a daemon that answers."""
    folder = folder_of(state)
    api = os.path.join(folder, "api.sock")
    options = {"paravane": paravane_option, "api": api}
    if processes.recall(os.path.join(folder, "pid")) is None:
        start(folder, os.path.join(os.path.dirname(program_path(options)), "paravaned"))
    limit = time.monotonic() + START_SECONDS
    while paravane(options, "status")[0] != 0:
        ended = processes.recall(os.path.join(folder, "pid")) is None
        if ended or time.monotonic() > limit:
            raise LabError("the lab's paravaned", "ended at once" if ended else
                           f"did not answer within {START_SECONDS} s",
                           f"see its log above, and {folder}/paravaned.toml",
                           tail(os.path.join(folder, "paravaned.log")))
        time.sleep(0.05)
    return api


def write_config(folder, more=""):
    """A daemon's folders and its configuration, whose path it returns."""
    for name in ("", "state", "vms"):  # the daemon makes no folders
        os.makedirs(os.path.join(folder, name), mode=0o700, exist_ok=True)
        if os.geteuid() == 0:
            shutil.chown(os.path.join(folder, name), "nobody")
    config = os.path.join(folder, "paravaned.toml")
    with open(config, "w", encoding="utf-8") as file:
        file.write(CONFIG.format(folder=folder) + more)
    return config


def start(folder, program):
    config = write_config(folder)
    with open(os.path.join(folder, "paravaned.log"), "ab") as log:
        try:
            processes.start(os.path.join(folder, "pid"), [program, "--config", config], stdout=log)
        except OSError as error:
            raise LabError(program, error.strerror,
                           "build it (cmake --preset release; cmake --build --preset release), "
                           "name a running one with --api, or use --no-rdma") from error


def remove(state):
    folder = folder_of(state)
    processes.stop(os.path.join(folder, "pid"))
    shutil.rmtree(folder, ignore_errors=True)
