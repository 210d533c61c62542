"""Many guests at once: what each pair of them, or each two neighbours in a ring, do at the same time."""
import itertools

from guests import Failed

FIRST_PORT = 19000


def all_pairs(vms):
    return list(itertools.combinations(vms, 2))


def ring(vms):
    return [*zip(vms, [*vms[1:], vms[0]], strict=True)]


def talk_at_once(rig, pairs, words, timeout=280):
    """Server and client of each pair; `words`: the program's, without address, of a port. Returns
    what each of them said; all must end well."""
    ports = {pair: FIRST_PORT + number for number, pair in enumerate(pairs)}
    ends = [rig.spawn(pair[0], *words(port), timeout=timeout) for pair, port in ports.items()]
    for server in {server for server, _ in pairs}:
        rig.wait_listening(server, *(port for pair, port in ports.items() if pair[0] == server))
    ends += [rig.spawn(client, *words(ports[server, client]), f"10.77.0.{server}", timeout=timeout) for server, client in pairs]
    said, failures = [], []
    try:
        for one in ends:
            try:
                said.append(one.expect_success(timeout + 10))
            except Failed as failure:  # the other end's may say why
                failures.append(str(failure))
        if failures:
            raise Failed("\n".join(failures))
        return said
    finally:
        for one in ends:
            one.end()
