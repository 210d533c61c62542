"""Monitor: QEMU's own commands to a guest of the lab, behind the back of the daemon."""
import json
import os
import shlex
import shutil
import socket
import sys

from guests import ROOT, Failed, wait_for

sys.path.insert(0, str(ROOT / "lab"))
from runner import network, places, processes  # noqa: E402  (the line above makes it importable)


class Monitor:
    """A QMP session. QEMU has one at a time."""

    def __init__(self, folder):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.settimeout(60)
        # By way of the descriptor: the path itself may be too long for a socket.
        self.folder = os.open(folder, os.O_PATH | os.O_DIRECTORY)
        wait_for("QEMU's monitor", self._connects)
        self.answers = self.socket.makefile("rb")
        self.answers.readline()
        self.ask("qmp_capabilities")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.answers.close()
        self.socket.close()
        os.close(self.folder)

    def _connects(self):
        try:
            self.socket.connect(f"/proc/self/fd/{self.folder}/qmp.sock")
        except OSError:
            return False
        return True

    def ask(self, command, **arguments):
        """Waits for the answer; `a_b` stands for an argument a-b."""
        arguments = {name.replace("_", "-"): value for name, value in arguments.items()}
        self.socket.sendall(json.dumps({"execute": command, "arguments": arguments}).encode() + b"\n")
        while True:
            answer = json.loads(self.answers.readline())
            if "error" in answer:
                raise Failed(f"{command}: {answer['error']}")
            if "return" in answer:
                return answer["return"]

    def line(self, words):
        """A line for people, such as savevm. It says nothing when all is well."""
        said = self.ask("human-monitor-command", command_line=words).strip()
        if said:
            raise Failed(f"{words}: {said}")

    def job(self, command, **arguments):
        self.ask(command, job_id="job", **arguments)
        done = wait_for(command, lambda: [one for one in self.ask("query-jobs") if one["status"] == "concluded"])
        self.ask("job-dismiss", id="job")
        if "error" in done[0]:
            raise Failed(f"{command}: {done[0]['error']}")

    def add_snapshot_disk(self, path):
        """QEMU keeps the states of savevm in it."""
        self.job("blockdev-create", options={"driver": "file", "filename": str(path), "size": 0})
        self.ask("blockdev-add", driver="file", node_name="file", filename=str(path))
        self.job("blockdev-create", options={"driver": "qcow2", "file": "file", "size": 1 << 20})
        self.ask("blockdev-add", driver="qcow2", node_name="disk", file="file")


def start_twin(rig, one, other, *arguments):
    """A QEMU as guest `one` has, with the adapter and the NIC of VM `other`, which the daemon knows. It is guest `other`
    of the lab from then on. Returns its folder."""
    lab = places.State(str(rig.folder / "lab"))
    folder = rig.folder / "lab" / f"vm{other}"
    network.add_taps(lab.namespace, other, 1, 1500)
    folder.mkdir()
    first = rig.folder / "lab" / f"vm{one}"
    shutil.copy(first / "options.json", folder)
    sockets = {vm["name"]: vm["adapters"][0]["socket"] for vm in json.loads(rig.cli("--formatter=json", "vm", "list").stdout)}
    words = [word.replace(sockets[f"vm{one}"], sockets[f"vm{other}"])
             .replace(f"ifname={network.tap_name(one)}", f"ifname={network.tap_name(other)}")
             for word in shlex.split((first / "qemu.command").read_text())]
    with (folder / "qemu.log").open("wb") as log:
        processes.start(str(folder / "pid"), [*network.inside(lab.namespace), *words, *arguments], cwd=str(folder), stdout=log)
    return folder
