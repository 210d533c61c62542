"""A capture of an InfiniBand port by `paravane sniff`, and what tshark says of its packets."""
import signal
import subprocess

from rig import BIN, PATIENCE_S, wait_for


class Capture:
    """Of the port that makes an uplink, from now until end()."""

    def __init__(self, test, uplink, *words):
        self.test = test
        self.file = test.folder / f"{uplink}.pcapng"
        self.said = test.folder / f"{uplink}.said"
        with self.said.open("w") as said:
            self.process = subprocess.Popen([BIN / "paravane", "--socket", test.api, "sniff", "--uplink", uplink, "-w", self.file, *words],
                                            stdin=subprocess.DEVNULL, stdout=said, stderr=said)
        test.addCleanup(self.process.wait)
        test.addCleanup(self.process.kill)
        wait_for(lambda: "press Ctrl-C to stop" in self.said.read_text() or self.process.poll() is not None, "the capture to begin")

    def end(self):
        self.process.send_signal(signal.SIGINT)
        self.wait()

    def wait(self):
        """Until it ends."""
        self.test.assertEqual(self.process.wait(PATIENCE_S), 0, self.said.read_text())

    def tshark(self, *words):
        done = subprocess.run(["tshark", "-n", "-r", str(self.file), *words], capture_output=True, text=True, timeout=PATIENCE_S, check=False,
                              stdin=subprocess.DEVNULL)
        self.test.assertEqual(done.returncode, 0, f"{words}: {done.stderr}")
        return done.stdout

    def packets(self, condition):
        """What tshark says of each packet that meets the condition, in a line."""
        return self.tshark("-Y", condition).splitlines()

    def fields(self, condition, *names):
        """(values of these fields, each a text) of each packet that meets the condition."""
        chosen = [word for name in names for word in ("-e", name)]
        lines = self.tshark("-Y", condition, "-T", "fields", *chosen).splitlines()
        return [tuple(line.split("\t")) for line in lines]

    def text(self, condition):
        """Packets that meet the condition, with everything that tshark says of them."""
        return self.tshark("-Y", condition, "-V")

    def assert_good(self):
        """That it has packets, and that Wireshark finds nothing wrong with one of them."""
        self.test.assertTrue(self.packets("infiniband"))
        self.test.assertEqual(self.packets("not infiniband"), [])
        wrong = "_ws.malformed or _ws.short or _ws.expert.severity == error or frame.drop_count > 0"
        self.test.assertEqual(self.packets(wrong), [], self.said.read_text())
