"""Test classes side by side: each is run by a process of its own, whose verdicts come back when it ends."""
import multiprocessing
import multiprocessing.connection
import os
import signal
import time
import unittest

import guest_facts

FORK = multiprocessing.get_context("fork")  # the tests are loaded already
GIB_FOR_EACH = 6  # few classes have more; eight GiB of one guest are untouched for the most part
MOST = 4  # more of them would make a small machine of a large one, for no test needs more than two processors
SIGNALS = {signal.SIGINT, signal.SIGTERM}


class Interrupted(Exception):
    """An ordinary exception, so that a test's cleanups and its class's are run."""


def usual_jobs():
    with open("/proc/meminfo", encoding="ascii") as file:
        available = next(int(line.split()[1]) for line in file if line.startswith("MemAvailable:"))
    return max(1, min(len(os.sched_getaffinity(0)), available // (GIB_FOR_EACH << 20), MOST))


class Classes:
    """`tests`, by their classes. `alone`: names of classes during which no other runs. `make_result()`: a
    unittest.TestResult with `cases`, a list of what is to come back."""

    def __init__(self, tests, alone, make_result):
        self.alone, self.make_result = alone, make_result
        self.tests, self.cases = {}, {}  # of each class
        for test in tests:
            self.tests.setdefault(type(test), []).append(test)
        self._running = {}  # {pipe: (class, process)}
        self._is_interrupted = False

    def run(self, jobs):
        """All cases, in the order of the tests whatever that of their ends was."""
        for number in SIGNALS:
            signal.signal(number, self._interrupt)
        # The long ones first, or the last would be waited for; those that want to be alone last.
        waiting = sorted(self.tests, key=lambda one: (self._is_alone(one), -len(self.tests[one])))
        while True:
            while waiting and self._may_begin(waiting[0], jobs):
                self._begin(waiting.pop(0))
            if not self._running:
                break
            for pipe in multiprocessing.connection.wait(list(self._running)):
                self._end(pipe)
        return [case for one in self.tests for case in self.cases.get(one, [])]

    def _is_alone(self, one):
        return one.__name__ in self.alone

    def _may_begin(self, one, jobs):
        if self._is_interrupted or len(self._running) >= jobs:
            return False
        return not self._running or not any(map(self._is_alone, [one, *(other for other, _ in self._running.values())]))

    def _begin(self, one):
        ours, theirs = FORK.Pipe(duplex=False)
        process = FORK.Process(target=self._run_class, args=(one, theirs))
        signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)  # until it has handlers of its own
        process.start()
        self._running[ours] = one, process
        signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
        theirs.close()

    def _end(self, pipe):
        one, process = self._running.pop(pipe)
        try:
            self.cases[one], facts, seen = pipe.recv()
            guest_facts.facts["packages"].update(facts.pop("packages"))
            guest_facts.facts.update({name: value for name, value in facts.items() if value})
            guest_facts.seen.update(seen)  # so that those that begin later need not ask
        except EOFError:
            self.cases[one] = [{"name": f"{one.__name__}.ran", "verdict": "failed", "reason": "its process ended by itself"}]
        process.join()
        pipe.close()

    def _interrupt(self, *_):
        self._is_interrupted = True
        for _, process in list(self._running.values()):
            process.terminate()

    # ---- in the process of a class ----

    def _run_class(self, one, pipe):
        began, result = time.monotonic(), self.make_result()

        def interrupt(*_):
            for number in SIGNALS:  # nothing may stop the cleaning
                signal.signal(number, lambda *_: None)
            result.stop()
            raise Interrupted
        for number in SIGNALS:
            signal.signal(number, interrupt)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
        unittest.TestSuite(self.tests[one]).run(result)
        pipe.send((result.cases, guest_facts.facts, guest_facts.seen))
        print(f"guests: {one.__name__}: {time.monotonic() - began:.0f} s with its guests' boots", flush=True)
