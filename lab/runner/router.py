"""A router between Ethernets: a network namespace that forwards what comes for other subnets."""

from . import processes

LAST = 253  # of its address in each subnet
DROPPED = "ipproto udp dport 4791 blackhole"


class Router:
    """Nothing is kept here but its name: the kernel has the rest."""

    def __init__(self, name):
        self.name = name

    def add(self, subnets):
        """`subnets`: the first three numbers of each, by the Bridge that is its Ethernet."""
        processes.run("ip", "netns", "add", self.name)
        for number, (bridge, subnet) in enumerate(subnets.items()):
            leg = f"eth{number}"
            bridge.join("router", self.name, leg)
            processes.run("ip", "-n", self.name, "address", "add", f"{subnet}.{LAST}/24", "dev", leg)
        processes.run("ip", "netns", "exec", self.name, "sh", "-c", "echo 1 > /proc/sys/net/ipv4/ip_forward")

    def set_roce(self, passes):
        """False: it drops RoCE v2, as a firewall might, and routes all else."""
        processes.run("ip", "-n", self.name, "rule", "del" if passes else "add", *DROPPED.split())

    def remove(self):
        processes.run("ip", "netns", "delete", self.name, check=False)
