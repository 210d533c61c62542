"""A network namespace with a bridge in it, and others' interfaces at that: the cable between hosts."""

from . import processes

# Where a kernel has br_netfilter, a fresh namespace hands bridged packets to iptables; a host of Paravane's is
# set up otherwise (docs/switch.md).
NOT_TO_IPTABLES = "for setting in /proc/sys/net/bridge/bridge-nf-call-*; do [ ! -e $setting ] || echo 0 > $setting; done"


class Bridge:
    """Nothing is kept here but its name: the kernel has the rest."""

    def __init__(self, name):
        self.name = name

    def add(self):
        processes.run("ip", "netns", "add", self.name)
        processes.run("ip", "-n", self.name, "link", "add", "br0", "type", "bridge")
        processes.run("ip", "-n", self.name, "link", "set", "br0", "up")

    def join(self, port, space, interface):
        ip = ["ip", "-n", self.name]
        processes.run(*ip, "link", "add", port, "type", "veth", "peer", "name", interface, "netns", space)
        processes.run(*ip, "link", "set", port, "master", "br0", "up")
        processes.run("ip", "-n", space, "link", "set", interface, "up")
        processes.run("ip", "netns", "exec", space, "sh", "-c", NOT_TO_IPTABLES)

    def remove(self):
        processes.run("ip", "netns", "delete", self.name, check=False)

    def set_link(self, port, up):
        processes.run("ip", "-n", self.name, "link", "set", port, "up" if up else "down")
