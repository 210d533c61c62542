"""What an intruder in a host's engine could ask of etcd: it has that host's certificate and password."""
import base64
import json
import subprocess

ROOT = "/paravane/v1/"
PATIENCE_S = 60


def coded(text):
    return base64.b64encode(text.encode()).decode()


def gid_of(mac):
    """fe80:: and the EUI-64, as keys have it."""
    byte = [int(part, 16) for part in mac.split(":")]
    return "fe80" + "0" * 12 + bytes([byte[0] ^ 2, *byte[1:3], 0xFF, 0xFE, *byte[3:]]).hex()


def ask_etcd(inside, cluster_directory, path, *bodies, user=None, password=None):
    """etcd's answer to the last body. `inside`: the words that enter the host's namespace; the folder is its daemon's."""
    membership = json.loads((cluster_directory / "membership.json").read_text())
    user, password = user or membership["etcd_user"], password or membership["etcd_password"]
    url = membership["etcd"][0]

    def ask(where, what, token=None):
        words = ["curl", "-s", "--cacert", cluster_directory / "authority.pem", "--cert", cluster_directory / "host.pem",
                 "--key", cluster_directory / "host.pem", "-d", json.dumps(what)]
        words += ["-H", f"Authorization: {token}"] if token else []
        done = subprocess.run([*inside, *words, url + where], capture_output=True, text=True, timeout=PATIENCE_S, check=True)
        return json.loads(done.stdout)
    token = ask("/v3/auth/authenticate", {"name": user, "password": password})["token"]
    return [ask(path, body, token) for body in bodies][-1]


def put(ask, key, value, **who):
    """`ask`: ask_etcd() or like it, of a host."""
    return ask("/v3/kv/put", {"key": coded(ROOT + key), "value": coded(json.dumps(value))}, **who)


def lease_of(ask, prefix):
    """The lease of a key below that prefix; an error if none has one."""
    end = prefix[:-1] + chr(ord(prefix[-1]) + 1)
    found = ask("/v3/kv/range", {"key": coded(ROOT + prefix), "range_end": coded(ROOT + end)})
    return next(key["lease"] for key in found["kvs"] if key.get("lease", "0") != "0")


def keep_alive(ask, lease):
    """For as long again as it was given."""
    return ask("/v3/lease/keepalive", {"ID": lease})
