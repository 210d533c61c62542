# shellcheck shell=bash
# Unpacks Debian packages with their dependencies into a private directory,
# without installing or configuring anything (no maintainer script runs).
#
# The suite may be another than the machine's. Signatures are checked with
# Debian's keyring; proxies and other download settings of the machine's apt
# are kept.

debian_keyring() {
  local suite=$1 keyring
  if ! compgen -G "/usr/share/keyrings/debian-archive-$suite-automatic.*" >/dev/null; then
    die "debian-archive-keyring" "it has no keys of Debian '$suite'" \
      "apt-get update && apt-get install --only-upgrade debian-archive-keyring"
  fi
  for keyring in /usr/share/keyrings/debian-archive-keyring.{gpg,pgp}; do
    [[ -s $keyring ]] && { printf '%s\n' "$keyring"; return; }
  done
  die "debian-archive-keyring" "not installed" "apt-get install debian-archive-keyring"
}

# unpack_tree DIRECTORY SUITE PACKAGE,PACKAGE... [mirrors.py option]: with
# --backports the backports suite is preferred.
unpack_tree() {
  local directory=$1 suite=$2 packages=$3 keyring settings lines
  shift 3
  keyring=$(debian_keyring "$suite")
  lines=$("$LAB_DIR/steps/mirrors.py" "$suite" --keyring "$keyring" "$@")
  settings=$(mktemp "$LAB_CACHE/apt-settings.XXXXXX")
  apt-config dump | grep -E '^Acquire::' >"$settings" || true
  if [[ " $* " == *" --backports "* ]]; then
    printf 'APT::Default-Release "%s-backports";\n' "$suite" >>"$settings"
  fi
  # One merged /usr in every tree, so that a file has one path.
  # shellcheck disable=SC2016
  TMPDIR=$LAB_CACHE mmdebstrap --mode=root --variant=extract --aptopt="$settings" \
    --skip=check/empty \
    --setup-hook='for d in bin sbin lib lib64; do mkdir -p "$1/usr/$d"; ln -s "usr/$d" "$1/$d"; done' \
    --include="$packages" "$suite" "$directory" - <<<"$lines"
  rm -f "$settings"
}
