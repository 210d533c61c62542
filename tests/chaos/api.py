"""Requests to a daemon's API, as a client of its own makes them, which can tell a refusal from no answer."""
import http.client
import json
import socket

from guests import Failed

PATIENCE_S = 60


class NotThere(Exception):
    """Nobody was asked."""


class Unanswered(Exception):
    """It may have been done."""


class Connection(http.client.HTTPConnection):
    """To a socket file."""

    def __init__(self, path):
        super().__init__("paravane", timeout=PATIENCE_S)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(PATIENCE_S)
        self.sock.connect(str(self.path))


def call(host, method, path, value=None):
    """Returns (status, value). `host`: its Guests."""
    connection = Connection(host.folder / "api.sock")
    try:
        try:
            connection.connect()
        except OSError as error:
            raise NotThere(f"{method} {path}: {error}") from None
        try:
            connection.request(method, path, json.dumps(value) if value is not None else None,
                               {"Content-Type": "application/json"})
            answer = connection.getresponse()
            text = answer.read()
        except (OSError, http.client.HTTPException) as error:
            raise Unanswered(f"{method} {path}: {error!r}") from None
        return answer.status, json.loads(text) if text else None
    finally:
        connection.close()


def get(host, path):
    """Must be answered."""
    try:
        status, answer = call(host, "GET", path)
    except (NotThere, Unanswered) as error:
        raise Failed(str(error)) from None
    if status != 200:
        raise Failed(f"GET {path}: {status} {answer}")
    return answer
