"""A mishap: something that happens to a VM, a host or the cluster, and is over when it returns."""
import dataclasses
import time
from collections.abc import Callable


@dataclasses.dataclass(frozen=True)
class Mishap:
    """act: takes (rig, number of the VM or host, chance), returns when all has recovered, and gives the seconds of
    that if it held the fault for a time of its own choice. weight: how often it is chosen beside the others.
    ends_daemon: the host has another one afterwards."""
    name: str
    text: str
    act: Callable
    weight: float
    ends_daemon: bool = False

    def __call__(self, rig, number, chance):
        """Returns how many seconds it took until all was back."""
        began = time.monotonic()
        recovered = self.act(rig, number, chance)
        return time.monotonic() - began if recovered is None else recovered


def mishap(weight, **more):
    """Makes one of a function, whose docstring is what the log says."""
    def made(act):
        return Mishap(act.__name__.replace("_", "-"), act.__doc__, act, weight, **more)
    return made
