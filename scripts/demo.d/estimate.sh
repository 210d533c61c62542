# shellcheck shell=bash
# How long the demo takes on this machine, said before it does anything.
#
# Sourced by scripts/demo.

# Processor seconds to compile everything, and how many objects that is; docs/lab.md says where they are from.
cold_seconds=600
cold_objects=66
# Processor milliseconds of speed_loop() where that was measured.
reference_ms=45

targets=(paravaned paravane)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/paravane

speed_loop() { local i; for ((i = 0; i < 20000; i++)); do :; done; }

# The processor time of a loop, which says how fast this machine is beside the reference.
loop_ms() {
  local LC_ALL=C TIMEFORMAT=%U spent
  spent=$({ time speed_loop; } 2>&1)
  echo $((10#${spent/./}))
}

objects_left() {
  local steps
  steps=$(ninja -C build/release -n "${targets[@]}" 2>/dev/null) || steps=''
  case "$steps" in
    *"no work to do"*) echo 0 ;;
    *"Building CXX"*) grep -c "Building CXX" <<<"$steps" ;;
    *) echo "$cold_objects" ;;  # not configured, or to be configured again
  esac
}

# One hash over everything that is compiled.
sources_key() {
  { find src cmake -type f -print0 | sort -z | xargs -0 cat; c++ --version; } 2>/dev/null | sha256sum | cut -c 1-16
}

# After a build: the compiler's cache has these sources.
remember_sources() {
  mkdir -p "$cache"
  sources_key >"$cache/demo-compiled"
}

# What the compiler's cache has of them: all, none or some (which is not known).
cached_share() {
  local files
  files=$(ccache --print-stats 2>/dev/null | awk '$1 == "files_in_cache" {print $2}') || files=''
  if [ "${files:-0}" -lt "$cold_objects" ]; then
    echo none
  elif [ "$(cat "$cache/demo-compiled" 2>/dev/null)" = "$(sources_key)" ]; then
    echo all
  else
    echo some
  fi
}

# How many processes have run of late: they go on beside the compiler.
running() { cut -d . -f 1 /proc/loadavg; }

# compile_seconds OBJECTS SHARE PROCESSORS LOOP_MS RUNNING
compile_seconds() {
  if [ "$2" = all ]; then
    echo $((15 + $1 / 4))
  else
    # One object takes longest, and then programs are linked: 30 seconds however many processors there are.
    echo $((30 + cold_seconds * $1 * $4 * ($3 + $5) / (cold_objects * reference_ms * $3 * $3)))
  fi
}

# 40 -> 40 s, 130 -> 2 minutes
roughly() {
  if [ "$1" -lt 90 ]; then
    echo "$((($1 + 9) / 10 * 10)) s"
  else
    echo "$((($1 + 30) / 60)) minutes"
  fi
}

row() {
  seconds_in_all=$((seconds_in_all + $3))
  rows+=("$(printf '  %-8s %-62s %10s' "$1" "$2" "$(roughly "$3")")")
}

# say_how_long HOSTS SETUP_OPTION: a table, below the sum as its heading. Sets packages_missing.
say_how_long() {
  local rows=() seconds_in_all=0 about=about objects share processors in_cache guests
  packages_missing=$(scripts/setup "$2" --list | wc -l)
  [ "$packages_missing" -eq 0 ] || row install "$packages_missing packages" $((10 + packages_missing))
  objects=$(objects_left)
  processors=$(nproc)
  share=$(cached_share)
  case "$share" in
    all) in_cache="all in ccache" ;;
    none) in_cache="none in ccache" ;;
    some) in_cache="sooner if ccache has some"; [ "$objects" -eq 0 ] || about="at most" ;;
  esac
  if [ "$objects" -ne 0 ]; then
    row compile "$objects objects, processors: $processors, $in_cache" \
      "$(compile_seconds "$objects" "$share" "$processors" "$(loop_ms)" "$(running)")"
  fi
  [ -e "$cache/lab/guest-bookworm/image/initramfs.cpio" ] || row prepare "QEMU, and the VMs' kernel and programs" 60
  guests="two VMs"
  [ "$1" -eq 1 ] || guests="$((2 * $1)) VMs on $1 hosts"
  [ -w /dev/kvm ] || guests="$guests; no KVM: QEMU emulates them"
  row run "$guests" $((20 + 30 * $1))
  step "Takes $about $(roughly "$seconds_in_all") on this machine"
  printf '%s\n' "${rows[@]}"
}
