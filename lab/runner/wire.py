"""A lab/wire that runs: a cable with faults to order."""

import json
import os
import subprocess

from .errors import LabError
from .places import lab_folder


class Wire:
    """Between two NICs that it makes. Returns when they are there."""

    def __init__(self, one, other, *options):
        """`one`, `other`: NIC@NAMESPACE; `options`: of lab/wire."""
        self.process = subprocess.Popen([os.path.join(lab_folder(), "wire"), one, other, *options],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        if self.process.stdout.readline() != "ready\n":
            raise LabError("lab/wire", "did not start", "see its complaint above")

    def order(self, line):
        """A line of lab/wire's, such as "down" or "loss 1%"; its answer."""
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline().strip()
        if not answer or answer.startswith("error"):
            raise LabError(f"lab/wire: {line}", answer or "it has ended", "see lab/wire --help")
        return answer

    def counts(self):
        """What happened to frames from one ("a_to_b") and to it."""
        return json.loads(self.order("counts"))

    def end(self):
        self.process.terminate()
        try:
            self.process.communicate(timeout=10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.communicate()
