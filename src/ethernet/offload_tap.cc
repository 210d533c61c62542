#include "ethernet/offload_tap.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <linux/filter.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <sys/ioctl.h>

#include <cerrno>
#include <climits>
#include <utility>

namespace paravane::ethernet {
namespace {

// The header linux/if_tun.h of Linux 6.1 does not have these two.
constexpr unsigned long kUdp4 = 0x20;
constexpr unsigned long kUdp6 = 0x40;
constexpr std::uint32_t kHeaderBytes = 10;

std::unexpected<Error> cannot_use(const std::string& tap, const char* what) {
  const Errc code = errno == EBUSY ? Errc::kBadState : Errc::kIo;
  return fail_by_system(code, fmt::format("{}: cannot {}", tap, what), errno);
}

Result<UniqueFd> attach(const std::string& name, bool with_header) {
  UniqueFd tap(::open("/dev/net/tun", O_RDWR | O_CLOEXEC | O_NONBLOCK));
  if (!tap) return cannot_use(name, "open /dev/net/tun");
  ifreq request{};
  name.copy(request.ifr_name, sizeof request.ifr_name - 1);
  const int flags = IFF_TAP | IFF_NO_PI | (with_header ? IFF_VNET_HDR : 0);
  request.ifr_flags = static_cast<short>(flags);
  if (::ioctl(tap.get(), TUNSETIFF, &request) != 0) return cannot_use(name, "open the tap");
  // If the tap was gone, the call has just made another.
  if (::ioctl(tap.get(), TUNGETIFF, &request) != 0) return cannot_use(name, "look at the tap");
  if ((request.ifr_flags & IFF_PERSIST) == 0) return fail(Errc::kNotFound, name + ": no such tap");
  return tap;
}

bool segments_udp(const UniqueFd& tap) {
  return ::ioctl(tap.get(), TUNSETOFFLOAD, TUN_F_CSUM | kUdp4 | kUdp6) == 0;
}

Status set_header(const UniqueFd& tap, const std::string& name) {
  int size = static_cast<int>(kHeaderBytes);
  int little = 1;
  if (::ioctl(tap.get(), TUNSETVNETHDRSZ, &size) != 0 ||
      ::ioctl(tap.get(), TUNSETVNETLE, &little) != 0) {
    return cannot_use(name, "set the header of the tap");
  }
  return {};
}

Status take_back(const UniqueFd& tap, const std::string& name) {
  int buffer = INT_MAX;  // as in a new tap
  tun_filter all_addresses{};
  sock_fprog no_program{};
  if (::ioctl(tap.get(), TUNSETOWNER, 0UL) != 0 || ::ioctl(tap.get(), TUNSETSNDBUF, &buffer) != 0 ||
      ::ioctl(tap.get(), TUNSETTXFILTER, &all_addresses) != 0 ||
      ::ioctl(tap.get(), TUNDETACHFILTER, &no_program) != 0) {
    return cannot_use(name, "reset the tap");
  }
  return {};
}

// Without a header.
Result<UniqueFd> attach_without_offloads(const std::string& name) {
  auto tap = attach(name, false);
  if (!tap) return tap;
  if (::ioctl(tap->get(), TUNSETOFFLOAD, 0UL) != 0) {
    return cannot_use(name, "set the offloads of the tap");
  }
  return tap;
}

// What neither depends on the header nor is one of the offloads.
Status set_rest(const UniqueFd& tap, const std::string& name) {
  if (Status reset = take_back(tap, name); !reset) return reset;
  return set_header(tap, name);
}

}  // namespace

Result<OpenTap> open_offload_tap(const std::string& name) {
  auto tap = attach(name, true);
  if (!tap) return std::unexpected(tap.error());
  const bool segments = segments_udp(*tap);
  if (!segments) {
    if (errno != EINVAL) return cannot_use(name, "set the offloads of the tap");
    tap->reset();
    tap = attach_without_offloads(name);
    if (!tap) return std::unexpected(tap.error());
  }
  if (Status set = set_rest(*tap, name); !set) return std::unexpected(set.error());
  return OpenTap{.tap = std::move(*tap), .header_bytes = segments ? kHeaderBytes : 0};
}

Result<UniqueFd> open_frame_tap(const std::string& name) {
  auto tap = attach_without_offloads(name);
  if (!tap) return tap;
  if (Status set = set_rest(*tap, name); !set) return std::unexpected(set.error());
  return tap;
}

}  // namespace paravane::ethernet
