# shellcheck shell=bash
# RDMA writes from a VM to another: a table, and a sentence that compares.
#
# Sourced by scripts/demo, which has in_vm() and paravane_for().

sizes=(64 4096 65536 1048576)
compared_size=65536

# start_size SERVER CLIENT DEVICE SIZE: starts the client, whose table goes to write-DEVICE-SIZE.txt, and
# sets client_pid. Of three seconds the middle one counts: the first warms up. An answer may take a second (-u 18),
# since a VM that is emulated may get no processor for half of one, after which ib_write_bw has given up by itself.
start_size() {
  local words=(ib_write_bw -d "$3" -F -s "$4" -D 3 -f 1 -u 18) log="$folder/write-$3-$4"
  in_vm "$1" "${words[@]}" >"$log-server.txt" 2>&1 &
  server_pid=$!
  # shellcheck disable=SC2016  # the VM's shell expands it
  in_vm "$1" sh -c 'tries=0
    until grep -qi ":4853 [0-9A-F:]* 0A" /proc/net/tcp /proc/net/tcp6 || [ $tries -ge 100 ]; do
      sleep 0.1; tries=$((tries + 1)); done'
  in_vm "$2" "${words[@]}" "10.77.0.$1" >"$log.txt" 2>&1 &
  client_pid=$!
}

end_size() { wait "$client_pid" && wait "$server_pid"; }

# rate_of DEVICE SIZE: "WRITES_PER_SECOND GB_PER_SECOND", out of what ib_write_bw counted in its second. What it makes of
# that itself depends on how it measures the processor's clock, which is wrong in a VM that has to wait.
rate_of() {
  awk -v size="$2" '$1 == size && NF >= 5 {printf "%.0f %.4f\n", $2, $2 * size / 1e9; found = 1}
    END {exit !found}' "$folder/write-$1-$2.txt"
}

# The path that the connection of VM $1 takes, asked while it is there.
path_of() {
  local path=''
  while kill -0 "$client_pid" 2>/dev/null; do
    path=$(paravane_for "$1" --formatter=csv path list --vm "vm$1" 2>/dev/null | grep -oE '\b(local|tcp|hca|roce)\b' | head -1 || true)
    [ -z "$path" ] || break
    sleep 0.05
  done
  echo "${path:-?}"
}

in_words() {
  if [ "$1" -ge 1048576 ]; then echo "$(($1 / 1048576)) MiB"
  elif [ "$1" -ge 1024 ]; then echo "$(($1 / 1024)) KiB"
  else echo "$1 B"; fi
}

# The same writes over rdma_rxe on the NICs of the same VMs; prints GB/s, or fails.
software_rdma() {
  local vm
  for vm in "$1" "$2"; do
    in_vm "$vm" sh -c 'modprobe rdma_rxe && rdma link add rxe0 type rxe netdev eth0' >"$folder/rxe-vm$vm.txt" 2>&1 || return 1
  done
  start_size "$1" "$2" rxe0 "$compared_size" || return 1
  end_size || return 1
  for vm in "$1" "$2"; do
    in_vm "$vm" rdma link delete rxe0 >>"$folder/rxe-vm$vm.txt" 2>&1 || true
  done
  rate_of rxe0 "$compared_size" | cut -d ' ' -f 2
}

# compare GB_PER_SECOND SERVER CLIENT
compare() {
  local ours=$1 theirs
  [ ! -t 1 ] || printf '  the same over rdma_rxe ...'
  theirs=$(software_rdma "$2" "$3") || theirs=0
  [ ! -t 1 ] || printf '\r\033[K'
  awk -v ours="$ours" -v theirs="$theirs" -v size="$(in_words "$compared_size")" 'BEGIN {
    if (theirs == 0) {
      print "There is no comparison: rdma_rxe did not work in the VMs."
      exit
    }
    times = ours / theirs
    digits = times < 10 ? 1 : 0
    if (times >= 100) times = 10 * int(times / 10 + 0.5)
    printf "%s: %.2f GB/s, %.*f x rdma_rxe (RDMA in software) over the NICs of the same VMs (%.3f GB/s)\n", size, ours, digits, times, theirs}'
}

# write_bandwidth SERVER CLIENT
write_bandwidth() {
  local size path writes gigabytes compared=''
  printf '  %8s  %12s  %10s   %s\n' size writes/s GB/s path
  for size in "${sizes[@]}"; do
    start_size "$1" "$2" vmw_pvrdma0 "$size"
    path=$(path_of "$2")
    end_size
    read -r writes gigabytes <<<"$(rate_of vmw_pvrdma0 "$size")"
    printf '  %8s  %12s  %10.3f   %s\n' "$(in_words "$size")" "$writes" "$gigabytes" "$path"
    [ "$size" -ne "$compared_size" ] || compared=$gigabytes
  done
  compare "$compared" "$1" "$2"
}

# Once, after all tables.
say_accelerator() {
  [ "$(lab/vm accel)" = kvm ] ||
    echo "KVM is not usable here, so QEMU emulates the VMs: look at the ratio, not at the figures."
}
