# shellcheck shell=bash
# Where the lab keeps what it made, and how a step knows that it has nothing to
# do: a product carries a stamp with the hash of the recipe that made it.
#
# A product is made in a temporary directory and moved into place last, so an
# interrupted run leaves nothing that looks finished.

LAB_DIR=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
LAB_CACHE=${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/paravane/lab
export LAB_DIR LAB_CACHE

# recipe_key WORD... -- FILE...: one hash over words and file contents.
recipe_key() {
  local words=()
  while [[ $# -gt 0 && $1 != -- ]]; do
    words+=("$1")
    shift
  done
  shift
  { printf '%s\n' "${words[@]}"; cat "$@"; } | sha256sum | cut -c 1-16
}

# is_made PRODUCT KEY: is the product there and from this very recipe?
is_made() { [[ -f $1/.recipe && $(<"$1/.recipe") == "$2" ]]; }

# discard PRODUCT...: out of sight at once, so that an interrupted removal leaves
# nothing that looks finished either.
discard() {
  local product grave
  for product in "$@"; do
    [[ -e $product ]] || continue
    grave=$(mktemp -d "$LAB_CACHE/making-room.XXXXXX")
    mv "$product" "$grave/"
    rm -rf --one-file-system "$grave"
  done
}

# put_in_place TEMPORARY PRODUCT KEY
put_in_place() {
  printf '%s\n' "$3" >"$1/.recipe"
  discard "$2"
  mkdir -p "$(dirname "$2")"
  mv "$1" "$2"
}

# One maker at a time; two test runs on a fresh machine wait for one another.
lock_cache() {
  mkdir -p "$LAB_CACHE"
  exec {LAB_LOCK_FD}>"$LAB_CACHE/lock"
  if ! flock -n "$LAB_LOCK_FD"; then
    say "another run is preparing the lab; waiting for it (at most 20 minutes)"
    flock -w 1200 "$LAB_LOCK_FD" ||
      die "$LAB_CACHE/lock" "still held after 20 minutes" "end the other lab/prepare, then try again"
  fi
}
