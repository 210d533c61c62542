#!/usr/bin/env python3
"""Stands in for a QEMU with a guest: says which version it is, attaches to each vfio-user socket that it is given, answers
every command of QMP, ends when the power button is pressed, and types back on the console what is typed."""

import json
import os
import pathlib
import socketserver
import sys
import threading
import time


def path_of(words, beginning):
    """The path of the socket that a word of this beginning names."""
    found = [word[len(beginning):].split(",")[0] for word in words if word.startswith(beginning)]
    return found[0] if found else None


def serve(path, handler):
    pathlib.Path(path).unlink(missing_ok=True)
    server = socketserver.ThreadingUnixStreamServer(path, handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()


class Monitor(socketserver.StreamRequestHandler):
    def say(self, **message):
        self.wfile.write(json.dumps(message).encode() + b"\n")

    def handle(self):
        self.say(QMP={"version": {"qemu": {"major": 10, "minor": 1, "micro": 0}}, "capabilities": []})
        for line in self.rfile:
            asked = json.loads(line)
            self.say(**{"return": {}})
            if asked["execute"] in ("system_powerdown", "quit"):
                time.sleep(0.1)  # its answer is heard
                os._exit(0)
            if asked["execute"] == "device_add":
                attach_to([asked["arguments"]])


class Console(socketserver.BaseRequestHandler):
    def handle(self):
        self.request.sendall(b"guest login: \r\n")
        while piece := self.request.recv(4096):
            self.request.sendall(piece)


ATTACHED = []


def attach_to(devices):
    from vmm import attach  # a copy lies beside this file
    for device in devices:
        if device.get("driver") == "vfio-user-pci":
            ATTACHED.append(attach(device["socket"]["path"]))


def main():
    words = sys.argv[1:]
    if "--version" in words:
        print("QEMU emulator version 10.1.0 (a stand-in)")
    elif "vfio-user-pci,help" in words:
        print("vfio-user-pci options:")
    else:
        attach_to([json.loads(word) for word in words if word.startswith("{") and "vfio-user-pci" in word])
        if monitor := path_of(words, "unix:"):
            serve(monitor, Monitor)
        if console := path_of(words, "socket,id=console,path="):
            serve(console, Console)
        while True:
            time.sleep(60)


if __name__ == "__main__":
    main()
