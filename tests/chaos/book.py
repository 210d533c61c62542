"""What has happened, written down by several threads at once."""
import contextlib
import threading
import time

LONGEST_WAIT_US = 1_000_000
WENT_WELL = "talks that went well"


class Book:
    """failures: texts. counts: how often what happened. recoveries: of each mishap, the seconds until all was back. longest: seconds
    of what is to be short. over: set when it is time to end."""

    def __init__(self):
        self.over = threading.Event()
        self.failures, self.counts, self.recoveries, self.longest_wait_us = [], {}, {}, 0.0
        self.longest = {}
        self._lock, self._began = threading.Lock(), time.monotonic()
        self._touched = {}  # by thing (scene.py): how often; odd while something happens to it

    def say(self, text):
        print(f"chaos: [{time.monotonic() - self._began:5.1f} s] {text}", flush=True)

    def count(self, name):
        with self._lock:
            self.counts[name] = self.counts.get(name, 0) + 1

    def recovered(self, name, seconds):
        with self._lock:
            self.recoveries.setdefault(name, []).append(seconds)

    def fail(self, text):
        self.say(f"FAILED {text}")
        with self._lock:
            self.failures.append(text)

    @contextlib.contextmanager
    def touching(self, things):
        """Around what happens to them, until they have recovered."""
        self._touch(things)
        try:
            yield
        finally:
            self._touch(things)

    def _touch(self, things):
        with self._lock:
            for thing in things:
                self._touched[thing] = self._touched.get(thing, 0) + 1

    def state(self, *things):
        """Equal before and after, and calm() before: nothing happened to them meanwhile."""
        with self._lock:
            return [self._touched.get(thing, 0) for thing in things]

    def calm(self, state):
        return all(count % 2 == 0 for count in state)

    def judge(self, outcome, undisturbed):
        """An outcome of traffic.talk()."""
        if outcome.wrong_bytes:
            self.fail(f"{outcome.name}: wrong bytes\n{outcome.text}")
        elif undisturbed and not outcome.good:
            self.fail(f"{outcome.name}: failed though nothing happened to what it stands on\n{outcome.text}")
        else:
            self.count(WENT_WELL if outcome.good else "talks that a mishap ended")

    def lasted(self, name, seconds):
        with self._lock:
            self.longest[name] = max(self.longest.get(name, 0), seconds)

    def waited(self, microseconds):
        """The longest that one of those left in peace has waited in a run."""
        with self._lock:
            self.longest_wait_us = max(self.longest_wait_us, microseconds)
        if microseconds > LONGEST_WAIT_US:
            self.fail(f"those left in peace waited {microseconds / 1e6:.2f} s")
