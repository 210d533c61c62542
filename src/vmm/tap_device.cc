#include "vmm/tap_device.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <sys/ioctl.h>

#include <cerrno>
#include <cstring>

namespace paravane::vmm {

bool tap_exists(const std::string& name) {
  return ::if_nametoindex(name.c_str()) != 0;
}

Result<UniqueFd> open_tap(const std::string& name) {
  const auto failed = [&name] {
    return fail(Errc::kIo,
                fmt::format("tap {}: {}", name,
                            errno == EBUSY ? "in use by another VMM" : std::strerror(errno)),
                errno);
  };
  UniqueFd file(::open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC));
  if (!file) return failed();
  ifreq request{};
  request.ifr_flags = IFF_TAP | IFF_NO_PI | IFF_VNET_HDR;
  name.copy(request.ifr_name, sizeof request.ifr_name - 1);
  if (::ioctl(file.get(), TUNSETIFF, &request) != 0) return failed();
  return file;
}

}  // namespace paravane::vmm
