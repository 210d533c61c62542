"""The time of day of a host's daemon, which can be set (tests/cluster/clock_offset.cc)."""
import pathlib
import struct

from guests import BUILD
from rig import Failed

LIBRARY = BUILD / "tests" / "cluster" / "libclock_offset.so"
DAY_S = 24 * 3600


class Clock:
    def __init__(self, host):
        """Before its daemon is started: `host` is the lab's."""
        if not LIBRARY.exists():
            raise Failed(f"{LIBRARY} is not there: cmake --build --preset release --target clock_offset")
        self.file = pathlib.Path(host.folder) / "clock"
        self.file.parent.mkdir(exist_ok=True)
        self.file.write_bytes(struct.pack("q", 0))
        self.file.chmod(0o644)
        host.environment |= {"LD_PRELOAD": str(LIBRARY), "CLOCK_OFFSET_FILE": str(self.file)}

    def set(self, offset_s):
        """In place: the daemon has the file mapped."""
        with self.file.open("r+b") as file:
            file.write(struct.pack("q", offset_s))
