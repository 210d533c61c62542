"""A thread of traffic, and what a talk came to."""
import dataclasses
import threading
import traceback


@dataclasses.dataclass
class Outcome:
    name: str
    good: bool
    wrong_bytes: bool
    text: str


class Busy(threading.Thread):
    """A thread that cannot end unnoticed."""

    def __init__(self, book):
        super().__init__(daemon=True)
        self.book = book

    def run(self):
        try:
            self.work()
        except Exception:  # pylint: disable=broad-except
            self.book.fail(f"{type(self).__name__} broke off:\n{traceback.format_exc()}")

    def work(self):
        raise NotImplementedError
