"""Programs of others that real guests run for the benchmark, and the figures that are made of what they say."""
import re
import statistics
import sys

PORT = 18515
LIMIT_S = 180


class Perftest:
    """An RDMA device in both guests. `rounds`: of writes, and of round trips; `makes`: what makes the device."""

    WRITES = ["ib_write_bw", "-s", "65536"]
    SHORT_WRITES = ["ib_write_bw", "-s", "64"]
    ROUND_TRIPS = ["ib_write_lat", "-s", "8"]

    def __init__(self, device, name, rounds, *options, makes=""):
        self.device, self.name, self.rounds, self.options, self.makes = device, name, rounds, options, makes

    def bandwidth(self, exchange):
        """MB/s of writes of 64 KiB."""
        return self.run(exchange, self.WRITES, self.rounds[0], 3)

    def message_rate(self, exchange):
        """Writes of 64 bytes, thousands per second."""
        return 1000 * self.run(exchange, self.SHORT_WRITES, self.rounds[1], 4)

    def latency(self, exchange):
        """Microseconds of half a round trip."""
        return self.run(exchange, self.ROUND_TRIPS, self.rounds[1], 4)

    def run(self, exchange, words, rounds, column):
        words = [*words, "-d", self.device, *self.options, "-F", "-p", str(PORT), "-n", str(rounds)]
        # With -R the connection manager listens, and ss does not show it.
        listens = {"cm_port": PORT} if "-R" in self.options else {"port": PORT}
        _, text = exchange.run(words, [*words, exchange.address], timeout=LIMIT_S, **listens)
        rows = [line.split() for line in text.splitlines() if line.split()[:1] == [words[2]]]
        if not rows:
            sys.exit(f"{sys.argv[0]}: no result in the output of {' '.join(words)}:\n{text}")
        return float(rows[-1][column])


def spread(values):
    return {"median": statistics.median(values), "min": min(values), "max": max(values)}


def figure(name, unit, more_is_better, target, other, pairs):
    """The same shape as paravane_bench's JSON; the ratio says how many times better we are. `pairs`: ours, and theirs."""
    ratios = [ours / theirs if more_is_better else theirs / ours for ours, theirs in pairs]
    return {"name": f"{name}, beside {re.split('[ ,]', other)[0]}", "unit": unit, "value": spread([ours for ours, _ in pairs]),
            "floor": spread([theirs for _, theirs in pairs]),
            "floor_name": f"{other}; the ratio is how many times better vmw_pvrdma is",
            "ratio": spread(ratios), "target": f">= {target} x" if target else "",
            "met": statistics.median(ratios) >= target if target else None}


def show(figures):
    for one in figures:
        print(f"{one['name']:48} {one['value']['median']:10.2f} {one['unit']:5} {one['floor']['median']:10.2f} {one['unit']:5}"
              f"{one['ratio']['median']:8.1f} times better   {one['target']}")


def status_of(figures):
    """3: a target was missed."""
    return 0 if all(one["met"] is not False for one in figures) else 3
