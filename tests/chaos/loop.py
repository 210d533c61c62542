"""What happens, one mishap after the other or two at a time, by chance and seed."""
import random
import subprocess
import threading
import time

NOT_RECOVERED = AssertionError, OSError, ValueError, KeyError, subprocess.SubprocessError


class Happening(threading.Thread):
    """A mishap, until all has recovered."""

    def __init__(self, rig, scene, book, chosen, chance, not_recovered):
        super().__init__(daemon=True)
        self.rig, self.scene, self.book, self.chance, self.not_recovered = rig, scene, book, chance, not_recovered
        self.mishap, self.number, self.name, self.things = chosen

    def run(self):
        with self.book.touching(self.things):
            self.book.say(f"{self.name}: {self.mishap.name}: {self.mishap.text}")
            try:
                took = self.mishap(self.rig, self.number, self.chance)
                self.book.recovered(self.mishap.name, took + self.scene.settle(self.rig, self.things))
            except self.not_recovered as failed:
                self.book.fail(f"{self.name} did not recover of {self.mishap.name}: {failed!r}")


def let_things_happen(rig, scene, book, options, mishaps, not_recovered=NOT_RECOVERED):
    """Returns the numbers of the hosts whose daemon is another one now. `not_recovered`: what a mishap raises that does not end as it should."""
    chance, started_again = random.Random(options.seed), set()
    end = time.monotonic() + options.seconds
    while time.monotonic() < end and not book.failures:
        first = scene.choose(chance, mishaps)
        # A chance of its own for each, so that the next does not depend on how often this one asks.
        happenings = [Happening(rig, scene, book, chosen, random.Random(chance.random()), not_recovered)
                      for chosen in [first, *scene.beside(chance, mishaps, first)]]
        for one in happenings[1:]:
            one.start()
        happenings[0].run()
        for one in happenings[1:]:
            one.join()
        started_again |= {one.number for one in happenings if one.mishap.ends_daemon}
        time.sleep(chance.uniform(0, 1.5))
    return started_again
