"""Rig: a daemon of our own and a lab of guests, for tests on real guests.

Everything lives in one temporary folder and ends with it.
"""
import pathlib
import shutil
import subprocess
import tempfile

from guests import BUILD, Failed, Guests, engine_of, make_overlay, wait_for

CONFIG = """
[api]
socket = "{folder}/api.sock"
[state]
directory = "{folder}/state"
[vfio_user]
socket_directory = "{folder}/vms"
[sandbox]
user = "nobody"
"""


class Rig(Guests):
    """One daemon and its guests."""

    def __init__(self, extra_config=""):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="paravane-test-"))
        super().__init__(folder, make_overlay(folder))
        (self.folder / "paravaned.toml").write_text(CONFIG.format(folder=self.folder) + extra_config)
        self.daemon = None
        for name in ("", "state", "vms"):
            (self.folder / name).mkdir(exist_ok=True)
            shutil.chown(self.folder / name, "nobody")
        self.start_daemon()

    # ---- the daemon ----

    def start_daemon(self):
        log = (self.folder / "paravaned.log").open("a")
        self.daemon = subprocess.Popen([BUILD / "bin" / "paravaned", "--config", self.folder / "paravaned.toml"],
                                       stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        wait_for("the daemon answers", lambda: self.cli("status", check=False).returncode == 0, 20)

    def engine(self):
        return engine_of(self.daemon.pid)

    def sends(self, vm):
        return self.stats(f"vm{vm}")["sends"]

    # ---- the end ----

    def close(self):
        try:
            self.lab("down")
        finally:
            if self.daemon and self.daemon.poll() is None:
                self.daemon.terminate()
                try:
                    self.daemon.wait(10)
                except subprocess.TimeoutExpired:
                    self.daemon.kill()
                    self.daemon.wait()
            shutil.rmtree(self.folder, ignore_errors=True)


class Exchange:
    """A program's two ends: a server in one guest, a client in another (or the same)."""

    def __init__(self, rig, server=1, client=2):
        self.rig, self.server, self.client = rig, server, client
        self.address = rig.address_of(server)

    def run(self, server_words, client_words, port=None, cm_port=None, timeout=120):
        """Both must succeed. Returns (server output, client output)."""
        server = self.rig.spawn(self.server, *server_words, timeout=timeout)
        try:
            if port:
                self.rig.wait_listening(self.server, port)
            if cm_port:
                self.rig.wait_cm_listening(self.server, cm_port)
            client = self.rig.spawn(self.client, *client_words, timeout=timeout)
            try:
                code, client_output = client.finish(timeout + 10, peer=server)
            except Failed as late:
                server.process.kill()
                raise Failed(f"{late}\n{server.words}:\n{server.finish(20)[1]}") from None
            if code != 0:
                server.process.kill()
                _, server_output = server.finish(20)
                raise Failed(f"{client.words}: exit status {code}\n{client_output}\n{server.words}:\n{server_output}\n"
                             f"daemon: {self.rig.daemon_log()[-2000:]}")
            return server.expect_success(30), client_output
        finally:
            if server.process.poll() is None:
                server.process.kill()
                server.process.communicate()
