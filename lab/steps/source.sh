# shellcheck shell=bash
# Unpacks the upstream source of a Debian source package; for parts that Debian
# leaves out of what it builds. Wants tree.sh.

# unpack_source DIRECTORY SUITE PACKAGE
unpack_source() {
  local directory=$1 suite=$2 package=$3 keyring state options
  keyring=$(debian_keyring "$suite")
  state=$(mktemp -d "$LAB_CACHE/making-source.XXXXXX")
  mkdir -p "$state/lists/partial" "$directory"
  "$LAB_DIR/steps/mirrors.py" "$suite" --keyring "$keyring" | sed 's/^deb /deb-src /' >"$state/sources.list"
  options=(-o "Dir::State::lists=$state/lists" -o "Dir::Cache=$state" -o "Dir::Etc::SourceList=$state/sources.list"
    -o Dir::Etc::SourceParts=- -o APT::Sandbox::User=root)
  apt-get "${options[@]}" update
  (cd "$state" && apt-get "${options[@]}" source --download-only "$package")
  tar -C "$directory" --strip-components=1 -xf "$state"/*.orig.tar.[gx]z
  rm -rf "$state"
}
