# shellcheck shell=bash
# What the person at the terminal sees while the lab is made: one line when a
# step starts to be slow, one when it ends, and the end of its log when it fails.
#
# Sourced by the steps. Needs LAB_CACHE (steps/cache.sh) for the logs.

say() { printf 'lab: %s\n' "$*" >&2; }

# die OBJECT CAUSE REMEDY: every failure of the lab has these three parts.
die() {
  printf 'lab: error: %s: %s\n' "$1" "$2" >&2
  [[ -z ${3-} ]] || printf 'lab: remedy: %s\n' "$3" >&2
  exit 1
}

now_ms() { date +%s%3N; }

seconds_since() {
  local ms=$(($(now_ms) - $1))
  printf '%d.%d s' $((ms / 1000)) $((ms % 1000 / 100))
}

# with_progress NAME WHAT COMMAND...: runs COMMAND with its output in
# logs/NAME.log and says every five seconds that it is still at it.
with_progress() {
  local name=$1 what=$2 log pid start status=0 ticks=0
  shift 2
  log=$LAB_CACHE/logs/$name.log
  mkdir -p "$LAB_CACHE/logs"
  start=$(now_ms)
  say "$what ..."
  # A process group of its own, so that an interrupted run can end all of it.
  set -m
  "$@" >"$log" 2>&1 </dev/null &
  pid=$!
  set +m
  # shellcheck disable=SC2064
  trap "end_group $pid; exit 130" INT TERM
  while kill -0 "$pid" 2>/dev/null; do
    sleep 0.1
    ticks=$((ticks + 1))
    ((ticks % 50)) || say "$what: $(seconds_since "$start") so far: $(last_line "$log")"
  done
  wait "$pid" || status=$?
  trap - INT TERM
  if ((status)); then
    tail -n 15 "$log" | sed 's/^/lab: | /' >&2
    die "$what" "exit status $status (whole log: $log)" "see the last lines above; then run the same command again"
  fi
  say "$what: done ($(seconds_since "$start"))"
}

end_group() {
  kill -TERM -- "-$1" 2>/dev/null || true
  wait "$1" 2>/dev/null || true
}

last_line() { tail -n 1 "$1" | tr '\r' '\n' | tail -n 1 | cut -c 1-90; }
