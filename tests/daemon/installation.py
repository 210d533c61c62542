"""What an installation leaves on a machine, as scripts for a host of a test's own: a namespace of mounts and of the host name, in
a namespace of networks, in which /etc, /run, /srv, /var/lib and /usr/share/paravane are its own.
"""

import pathlib

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
VM_USER = 64991

# Its words: the name of the host, a file that is made when it is done, the folder of the programs. What packages and
# systemd-sysusers leave on a machine; the links keep what else /etc and /usr/share have, to read.
INSTALL = f"""
set -e
hostname "$1"
mount -t tmpfs -o mode=755 tmpfs /run
mkdir /run/machine /run/share
mount --bind /etc /run/machine && mount -o remount,ro,bind /run/machine
mount --bind /usr/share /run/share && mount -o remount,ro,bind /run/share
for folder in /etc /srv /var/lib /usr/share; do mount -t tmpfs -o mode=755 tmpfs $folder; done
for file in $(ls -A /run/share); do [ "$file" = paravane ] || ln -s "/run/share/$file" /usr/share/; done
for file in $(ls -A /run/machine); do
  case "$file" in
    paravane | systemd | .pwd.lock | *-) ;;
    passwd | group | shadow | gshadow | subuid | subgid) cp -p "/run/machine/$file" /etc/ ;;
    *) ln -s "/run/machine/$file" /etc/ ;;
  esac
done
for file in passwd group shadow gshadow; do [ ! -e /etc/$file ] || sed -i /^paravane/d /etc/$file; done
grep -q ^kvm: /etc/group || echo kvm:x:64992: >>/etc/group
sed -i '/^kvm:/s/$/,paravane-vm/; s/:,/:/' /etc/group
for user in paravane:64990 paravane-vm:{VM_USER} paravane-sm:64993; do
  name=${{user%:*}} id=${{user#*:}}
  echo "$name:x:$id:$id::/:/usr/sbin/nologin" >>/etc/passwd
  echo "$name:x:$id:" >>/etc/group
done
mkdir -p /etc/paravane /etc/systemd/system /usr/share/paravane/bin /usr/share/paravane/prometheus
cp {ROOT}/packaging/paravaned.toml {ROOT}/packaging/opensm.conf /etc/paravane/
cp {ROOT}/packaging/*.conf {ROOT}/packaging/network/*.conf {ROOT}/packaging/network/uplink.network /usr/share/paravane/
cp {ROOT}/packaging/prometheus/paravane.rules.yml /usr/share/paravane/prometheus/
for name in connectx_port_config esxcfg-advcfg esxcfg-module esxcfg-mpath esxcfg-nics esxcfg-rescan esxcfg-scsidevs esxcfg-vmknic esxcli ibstat mgmt-mlx vicfg-module vmkload_mod; do ln -s "$3/paravane" /usr/share/paravane/bin/$name; done
cp {ROOT}/packaging/esxupdate /usr/share/paravane/bin/
touch "$2"
exec sleep infinity
"""

# Stands in for systemctl: `start paravaned` does what the unit does. HOST_LOG: where the daemon logs.
SYSTEMCTL = """#!/bin/sh
set -e
[ "$*" != daemon-reload ] || exit 0
[ "$*" = "start paravaned" ]
while pgrep -x paravaned --ns $$ --nslist net >/dev/null; do sleep 0.05; done  # one that is ending
install -d -o paravane -g paravane /run/paravane /run/paravane/vm
install -d -o paravane -g paravane -m 0700 /var/lib/paravane
setsid paravaned </dev/null >>"$HOST_LOG" 2>&1 &
for _ in $(seq 200); do
  ! paravane status >/dev/null 2>&1 || exit 0
  sleep 0.1
done
exit 1
"""
