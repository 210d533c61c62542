"""Lanes: stages that need different things of the machine run side by side.

A lane is a list of stages that run one after the other. A stage begins when the one before
it in its lane has ended, and those that it needs; if what it needs is broken it is not run,
and that is a failure. A stage is a process of its own (checks/processes.py).
"""
import multiprocessing
import multiprocessing.connection
import signal

from checks.processes import SIGNALS
from checks.stage import Tally, run_stage

FORK = multiprocessing.get_context("fork")  # a stage is a function, which nothing has to find again


class Lanes:
    """Runs lanes of stages and keeps what each stage found. Ctrl-C, or SIGTERM, ends all that runs, and a second
    one does not wait for programs to end what they made."""

    def __init__(self, options, needs, on_begin, on_end):
        """`options.stages`: those that are wanted; what is not wanted is needed by none. `needs`: {stage: others}.
        `on_begin(stage)` and `on_end(stage, tally)` are for the eyes."""
        self.options, self.needs, self.on_begin, self.on_end = options, needs, on_begin, on_end
        self.tallies = {}
        self.is_interrupted = False
        self._running = {}  # {pipe: (stage, process, its lane)}
        for number in SIGNALS:
            signal.signal(number, self._interrupt)

    def run(self, lanes):
        """Returns when every wanted stage of these lanes has ended."""
        waiting = [[stage for stage in lane if stage in self.options.stages] for lane in lanes]
        try:
            while True:
                # Each again after one that was not run, since another may have waited for it.
                while any([self._begin_what_can(number, lane) for number, lane in enumerate(waiting)]):
                    pass
                if not self._running:
                    break
                for pipe in multiprocessing.connection.wait(list(self._running)):
                    self._end(pipe)
        except BaseException:
            self._interrupt()  # or Python waits for the stages before it says what went wrong
            raise
        if not self.is_interrupted and any(waiting):
            raise ValueError(f"stages that wait for one another: {[one.__name__ for lane in waiting for one in lane]}")

    def _begin_what_can(self, number, lane):
        """Returns whether there is one stage less that waits."""
        before = len(lane)
        while lane and not self.is_interrupted and number not in [one[2] for one in self._running.values()]:
            needed = [one for one in self.needs.get(lane[0], []) if one in self.options.stages]
            if not all(one in self.tallies for one in needed):
                break
            stage = lane.pop(0)
            if broken := [one.__name__ for one in needed if self.tallies[one].is_broken]:
                self._keep(stage, failed_tally(f"{stage.__name__}: not run, for {' and '.join(broken)} failed"))
            else:
                self._begin(stage, number)
        return len(lane) < before

    def _begin(self, stage, number):
        self.on_begin(stage)
        ours, theirs = FORK.Pipe(duplex=False)
        process = FORK.Process(target=run_stage, args=(stage, self.options, theirs.send))
        # An interruption meets a stage that has handlers of its own and is among those that run.
        signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
        process.start()
        self._running[ours] = stage, process, number
        signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
        theirs.close()

    def _end(self, pipe):
        stage, process, _ = self._running[pipe]
        tally, cost = None, (0.0, 0.0)
        try:
            tally = pipe.recv()
            if not isinstance(tally, Tally):
                tally, cost = None, tally
            else:
                cost = pipe.recv()
        except EOFError:
            pass
        process.join()
        pipe.close()
        del self._running[pipe]
        tally = tally or failed_tally(f"{stage.__name__}: ended by itself")
        tally.seconds, tally.processor = cost
        self._keep(stage, tally)

    def _keep(self, stage, tally):
        self.tallies[stage] = tally
        self.on_end(stage, tally)

    def _interrupt(self, *_):
        self.is_interrupted = True
        for _, process, _ in list(self._running.values()):
            process.terminate()


def failed_tally(why):
    tally = Tally()
    tally.is_broken = True
    tally.add(why, False)
    return tally
