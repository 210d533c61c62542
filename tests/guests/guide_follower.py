"""Follows a guide of docs/guides: each block is typed where it says, and must show what the guide shows (docs/guides/README.md).

Hosts and VMs are a rig's: machine(NAME) has run(SCRIPT) and write(PATH, TEXT); number(NAME), spawn(VM, WORDS...), listeners(VM),
prepare_vms(HOST), note_started() and daemon_log() are as in guide_hosts.GuideHosts.
"""
import time

import guide_text

PATIENCE_S = 30  # of a block that says `wait`


class Follower:
    """Follows one guide, block by block."""

    def __init__(self, rig):
        self.rig, self.background = rig, []

    def follow(self, guide):
        for step in guide_text.steps(guide):
            if step.reason_not_to_run:
                continue
            for name in step.hosts:
                self.on_host(step, self.rig.machine(name))
            for name in step.vms:
                self.in_guest(step, name)
        self.finish()

    def on_host(self, step, host):
        if "file" in step.attributes:
            host.write(step.attributes["file"], guide_text.numbered("\n".join(step.lines) + "\n", host.name))
        for command, shown in step.commands:
            if "vm check" in command or "vm start" in command:
                self.rig.prepare_vms(host)
            self.judge(step, host.name, command, shown, host.run)
            if "vm start" in command:
                self.rig.note_started()

    def in_guest(self, step, name):
        vm = self.rig.number(name)
        for command, shown in step.commands:
            if "background" in step.attributes:
                before = self.rig.listeners(vm)
                running = self.rig.spawn(vm, "sh", "-c", guide_text.numbered(command, name))
                self.background.append((step, name, command, shown, running))
                if step.attributes["background"] == "listening":
                    self.await_listener(step, vm, before)
            else:
                self.judge(step, name, command, shown, lambda typed, vm=vm: self.rig.spawn(vm, "sh", "-c", typed).finish(120))
        if "background" not in step.attributes:
            self.finish()

    def await_listener(self, step, vm, before):
        end = time.monotonic() + PATIENCE_S
        while self.rig.listeners(vm) <= before:
            if time.monotonic() > end:
                raise AssertionError(f"docs/guides/{step.place}: nothing listens\n{self.background[-1][-1].finish(1)[1]}")
            time.sleep(0.1)

    def finish(self):
        """What went on in the background has come to its end by now."""
        while self.background:
            *typed, running = self.background.pop(0)
            self.compare(*typed, *running.finish(60))

    def judge(self, step, name, command, shown, run):
        end = time.monotonic() + (PATIENCE_S if "wait" in step.attributes else 0)
        while True:
            try:
                self.compare(step, name, command, shown, *run(guide_text.numbered(command, name)))
                return
            except AssertionError:
                if time.monotonic() >= end:
                    raise
            time.sleep(0.5)

    def compare(self, step, name, command, shown, status, text):
        shown = guide_text.numbered("\n".join(shown), name).splitlines()
        seen = guide_text.without_remarks(text.replace("\r", "")).splitlines()
        good = status == int(step.attributes.get("exit", "0"))
        if "titles" in step.attributes:
            good = good and guide_text.titles(shown) == guide_text.titles(seen)
        else:
            good = good and guide_text.same_shape(shown, seen)
        if not good:
            raise AssertionError("\n".join([f"docs/guides/{step.place}, on {name}: {command}", f"exit status {status}, and it shows", text,
                                    "where the guide has", *shown, self.rig.daemon_log()[-1500:]]))
