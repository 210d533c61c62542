#include "ethernet/tap.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <sys/ioctl.h>

#include <cerrno>

#include "base/unique_fd.h"

namespace paravane::ethernet {
namespace {

// With headers in which a VMM says what is left of checksums and segments.
constexpr int kFlags = IFF_TAP | IFF_NO_PI | IFF_VNET_HDR | IFF_TUN_EXCL;

std::unexpected<Error> cannot(const char* what) {
  const Errc code = errno == EBUSY ? Errc::kBadState : Errc::kIo;
  return fail_by_system(code, fmt::format("cannot {}", what), errno);
}

Result<UniqueFd> open_new_tap(const std::string& name) {
  UniqueFd tap(::open("/dev/net/tun", O_RDWR | O_CLOEXEC));
  if (!tap) return cannot("open /dev/net/tun");
  ifreq request{};
  name.copy(request.ifr_name, sizeof request.ifr_name - 1);
  request.ifr_flags = static_cast<short>(kFlags);
  if (::ioctl(tap.get(), TUNSETIFF, &request) != 0) return cannot("make a tap");
  return tap;
}

// With neither owner nor group anybody may open it; of both, both must fit. The kernel
// takes neither away again.
Status give_access(const UniqueFd& tap, const TapAccess& access) {
  if (access.group) {
    if (::ioctl(tap.get(), TUNSETGROUP, static_cast<unsigned long>(*access.group)) == 0) return {};
    return cannot("set the group of a tap");
  }
  if (::ioctl(tap.get(), TUNSETOWNER, 0UL) == 0) return {};
  return cannot("set the owner of a tap");
}

}  // namespace

Status make_tap(const std::string& name, const TapAccess& access) {
  const Result<UniqueFd> tap = open_new_tap(name);
  if (!tap) return std::unexpected(tap.error());
  if (Status given = give_access(*tap, access); !given) return given;
  if (::ioctl(tap->get(), TUNSETPERSIST, 1) != 0) return cannot("keep a tap");
  return {};
}

}  // namespace paravane::ethernet
