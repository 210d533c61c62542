# shellcheck shell=bash disable=SC2034
# Which guest is being made, and where its parts are kept.

LAB_GUEST=${LAB_GUEST:-bookworm}
[[ -f $LAB_DIR/guests/$LAB_GUEST.conf ]] ||
  die "guest '$LAB_GUEST'" "no file lab/guests/$LAB_GUEST.conf" "choose one of: $(cd "$LAB_DIR/guests" && echo *.conf)"
# shellcheck source=lab/guests/bookworm.conf
. "$LAB_DIR/guests/$LAB_GUEST.conf"

GUEST_HOME=$LAB_CACHE/guest-$LAB_GUEST
GUEST_TREE=$GUEST_HOME/packages   # unpacked programs and kernel
BUILD_TREE=$GUEST_HOME/build      # unpacked compiler, headers, kernel source
GUEST_KERNEL=$GUEST_HOME/kernel   # vmlinux, modules, agent
GUEST_IMAGE=$GUEST_HOME/image     # what a VM boots: vmlinux, initramfs.cpio
TREES_KEY=$(recipe_key "$GUEST_SUITE" "${GUEST_PACKAGES[@]}" "${GUEST_BUILD_PACKAGES[@]}" -- "$LAB_DIR/steps/tree.sh")

join_commas() { local IFS=,; printf '%s' "$*"; }

# in_build_tree DIRECTORY COMMAND...: a command of the guest's distribution. It sees
# /proc, which the build of newer kernels' modules asks for limits.
in_build_tree() {
  local directory=$1
  shift
  # shellcheck disable=SC2016
  unshare --mount sh -c 'mount -t proc proc "$0/proc" && exec chroot "$0" env -C "$@"' \
    "$BUILD_TREE" "$directory" "$@"
}
