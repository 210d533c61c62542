# shellcheck shell=bash
# Compiles what the demo needs, and shows how far it is.
#
# Sourced by scripts/demo.

compile_log=build/release/demo.log

# Reads what ninja prints. A terminal gets one line that changes, anything else a line every ten seconds.
show_progress() {
  local line finished left said=$SECONDS began=$SECONDS text
  while IFS= read -r line; do
    printf '%s\n' "$line" >>"$compile_log"
    [[ $line =~ ^\[([0-9]+)/([0-9]+)\] ]] || continue
    finished=${BASH_REMATCH[1]}
    text="$finished of ${BASH_REMATCH[2]} steps"
    if ((finished > 1 && SECONDS - began >= 5)); then
      left=$(((SECONDS - began) * (BASH_REMATCH[2] - finished) / finished))
      text+=", $(roughly "$left") left"
    fi
    if [ -t 1 ]; then
      printf '\r\033[K  %s' "$text"
    elif ((SECONDS - said >= 10)); then
      printf '  %s\n' "$text"
      said=$SECONDS
    fi
  done
  [ ! -t 1 ] || printf '\r\033[K'
}

compile() {
  local began=$SECONDS
  mkdir -p "$(dirname "$compile_log")"
  if cmake --preset release -DCMAKE_CXX_COMPILER_LAUNCHER=ccache >"$compile_log" 2>&1 &&
    NINJA_STATUS='[%f/%t] ' cmake --build --preset release --target "${targets[@]}" 2>&1 | show_progress; then
    remember_sources
    echo "  compiled in $((SECONDS - began)) s"
    return
  fi
  tail -n 25 "$compile_log" | sed 's/^/  | /' >&2
  echo "demo: it does not compile; all that the compiler said is in $PWD/$compile_log" >&2
  return 1
}
