"""What must be so when nothing happens: the cluster is whole, its hosts have one configuration, and each VM has what it
should and nothing has more."""
import json
import time

from api import get
from guests import Failed, wait_for
from runner import processes

WHOLE_S = 120  # twice what tests/cluster grants, whose hosts have no VMs
SETTLED_S = 60


def hosts_of(rig):
    """(name, Guests) of the hosts of a cluster; of a host alone none."""
    return [(f"h{number}", host) for number, host in enumerate(rig.hosts, 1)] if len(rig.hosts) > 1 else []


def unwell(name, status, names, generation):
    """What is wrong with the cluster as a host sees it, in words."""
    for problem in (status["problem"], status["certificate_problem"]):
        if problem:
            return f"{name}: {problem}"
    if not status["connected"]:
        return f"{name} is not connected"
    if [one["name"] for one in status["hosts"] if one["present"]] != names:
        return f"{name} sees {status['hosts']}"
    for one in status["hosts"]:
        if one["name"] != name and one["channel"] != "encrypted":
            return f"{name} has no channel to {one['name']}: {one['channel_problem']}"
        if one["generation"] < generation:
            return f"{name} says that {one['name']} follows generation {one['generation']}"
    return f"{name} follows generation {status['generation']}" if status["generation"] < generation else ""


def wait_whole(rig, etcd_ended=None):
    """All hosts see one another over channels, and follow what any of them has followed by now. `etcd_ended`: when, by
    time.monotonic(), for hosts that may not have noticed yet. Returns after how many seconds."""
    hosts, began = hosts_of(rig), time.monotonic()
    names = [name for name, _ in hosts]
    generation = max((get(host, "/v1/cluster").get("generation", 0) for _, host in hosts), default=0)
    last = []

    def look(name, host):
        status = get(host, "/v1/cluster")
        if etcd_ended and status["since_s"] > time.monotonic() - etcd_ended:
            return f"{name} has not noticed that etcd ended"
        return unwell(name, status, names, generation)

    def is_whole():
        last[:] = [look(name, host) for name, host in hosts]
        return not any(last)
    try:
        wait_for("the cluster is whole", is_whole, WHOLE_S, 0.1)
    except Failed as failed:
        raise Failed(f"{failed}; generation {generation}; {last}") from None
    return time.monotonic() - began


def configuration(host):
    """The switches and port groups that a host has, without what is its own of them."""
    return ({one["name"]: (one["mtu"], sorted((member["host"], member["uplink"]) for member in one["hosts"]))
             for one in get(host, "/v1/vds")["vds"]},
            {one["name"]: (one["vds"], one["vlan"]) for one in get(host, "/v1/portgroups")["portgroups"]})


def disagreements(rig):
    """Of the hosts on their configuration, once nobody changes it."""
    hosts = hosts_of(rig)
    if not hosts:
        return []
    seen = {}

    def is_same():
        for name, host in hosts:
            status = get(host, "/v1/cluster")
            seen[name] = status["generation"], *configuration(host), status["lost"], status["odd_keys"]
            if any(one["generation"] != status["generation"] for one in status["hosts"]):
                return False
        return len({json.dumps(one) for one in seen.values()}) == 1
    try:
        wait_for("all hosts agree", is_same, SETTLED_S, 0.2)
    except Failed:
        return [f"hosts do not agree: {name} has {one}" for name, one in seen.items()]
    _, _, _, lost, odd = seen["h1"]
    return [f"claims do not count: {lost}"] * bool(lost) + [f"{odd} keys in etcd are odd"] * bool(odd)


def adapters_of(host):
    return {(vm["name"], adapter["number"]): adapter for vm in get(host, "/v1/vms")["vms"] for adapter in vm["adapters"]}


def taps_of(lab_host):
    words = "ip", "-j", "-n", lab_host.space, "link", "show"
    return {link["ifname"] for link in json.loads(processes.run(*words)) if link["ifname"].startswith("pv-")}


def misfits(rig):
    """VMs without a port and ports without a VM: by sockets, by what the worker counts, by taps, and by what others know."""
    last = []

    def is_well():
        complaints = []
        for number, host in enumerate(rig.hosts, 1):
            adapters = adapters_of(host)
            complaints += [f"{name} on host {number}: {one['state']} {one['problem']}" for name, one in adapters.items()
                           if one["problem"] or one["state"] == "failed"]
            pairs = [("sockets", {one["socket"].rpartition("/")[2] for one in adapters.values()},
                      {path.name for path in (host.folder / "vms").glob("*.sock")}),
                     ("ports", set(adapters), {(one["vm"], one["adapter"]) for one in ports_of(host)})]
            if hosts_of(rig):
                pairs.append(("taps", {one["tap"] for one in adapters.values() if one["tap"]}, taps_of(host.host)))
                pairs += [(f"adapters as {name} knows them", len(adapters), known_adapters(other, number))
                          for name, other in hosts_of(rig)]
            complaints += [f"host {number}: {what}: {have}, and should have {want}" for what, want, have in pairs if want != have]
        last[:] = complaints
        return not complaints
    try:
        wait_for("each VM has its ports", is_well, SETTLED_S, 0.5)
    except Failed:
        return last
    return []


def ports_of(host):
    return [{"vm": one["name"], "adapter": one["adapter"]} for one in get(host, "/v1/stats")["vms"]]


def known_adapters(host, number):
    return next(one["adapters"] for one in get(host, "/v1/cluster")["hosts"] if one["name"] == f"h{number}")
