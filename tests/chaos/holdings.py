"""What a process of a daemon holds, compared with what it held at the start."""
MORE_KIB = 16384


class Daemon:
    """What one of them held at the start."""

    def __init__(self, host, name):
        self.host, self.name, self.engine = host, name, host.engine()
        self.descriptors, self.anonymous = self.held()

    def held(self):
        status = dict(line.split(":", 1) for line in (self.engine / "status").read_text().splitlines())
        return len(list((self.engine / "fd").iterdir())), int(status["RssAnon"].split()[0])

    def found(self):
        descriptors, anonymous = self.held()
        if descriptors > self.descriptors:
            yield f"{self.name} holds {descriptors} descriptors, at first {self.descriptors}"
        if anonymous > self.anonymous + MORE_KIB:
            yield f"{self.name} holds {anonymous} KiB of memory, at first {self.anonymous}"
