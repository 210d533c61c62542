#include "tap_end.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace paravane::lab {
namespace {

std::unexpected<Error> cannot(const std::string& what) {
  return fail(Errc::kIo, fmt::format("{}: {}", what, std::strerror(errno)));
}

// This thread in another network namespace until it goes.
class Visit {
 public:
  explicit Visit(const std::string& name) {
    if (name.empty()) return;
    const std::string file = name.find('/') == std::string::npos ? "/run/netns/" + name : name;
    home_ = UniqueFd(::open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC));
    const UniqueFd there(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
    good_ = home_ && there && ::setns(there.get(), CLONE_NEWNET) == 0;
  }
  ~Visit() {
    if (home_) static_cast<void>(::setns(home_.get(), CLONE_NEWNET));
  }
  Visit(const Visit&) = delete;
  Visit& operator=(const Visit&) = delete;

  bool good() const { return good_; }

 private:
  UniqueFd home_;
  bool good_ = true;
};

Status bring_up(ifreq request, unsigned mtu) {
  const UniqueFd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  request.ifr_mtu = static_cast<int>(mtu);
  if (!socket || ::ioctl(socket.get(), SIOCSIFMTU, &request) != 0) return cannot("set the MTU");
  if (::ioctl(socket.get(), SIOCGIFFLAGS, &request) != 0) return cannot("look at the NIC");
  request.ifr_flags = static_cast<short>(request.ifr_flags | IFF_UP);
  if (::ioctl(socket.get(), SIOCSIFFLAGS, &request) != 0) return cannot("bring the NIC up");
  return {};
}

}  // namespace

Result<TapEnd> TapEnd::make(const std::string& place, unsigned mtu) {
  const std::size_t at = std::min(place.find('@'), place.size());
  const std::string name = place.substr(0, at);
  ifreq request{};
  if (name.empty() || name.size() >= sizeof request.ifr_name) {
    return fail(Errc::kInvalidArgument, place + ": a NIC's name has 1 to 15 characters");
  }
  const Visit visit(place.substr(std::min(at + 1, place.size())));
  if (!visit.good()) return cannot(place + ": cannot enter the namespace");
  UniqueFd tap(::open("/dev/net/tun", O_RDWR | O_CLOEXEC | O_NONBLOCK));
  if (!tap) return cannot("/dev/net/tun");
  name.copy(request.ifr_name, sizeof request.ifr_name - 1);
  request.ifr_flags = static_cast<short>(IFF_TAP | IFF_NO_PI | IFF_TUN_EXCL);
  if (::ioctl(tap.get(), TUNSETIFF, &request) != 0) return cannot(place + ": cannot make the NIC");
  if (Status up = bring_up(request, mtu); !up) {
    return fail(Errc::kIo, fmt::format("{}: cannot {}", place, up.error().message));
  }
  return TapEnd(std::move(tap), place);
}

Result<std::size_t> TapEnd::read(std::span<char> buffer) const {
  const ssize_t size = ::read(fd_.get(), buffer.data(), buffer.size());
  if (size >= 0) return static_cast<std::size_t>(size);
  // A NIC that somebody has set down has nothing to say.
  if (errno == EAGAIN || errno == EINTR || errno == EIO) return 0;
  return cannot(place_);
}

bool TapEnd::write(std::span<const char> frame) const {
  return ::write(fd_.get(), frame.data(), frame.size()) == static_cast<ssize_t>(frame.size());
}

Status TapEnd::set_carrier(bool on) const {
  int carrier = on ? 1 : 0;
  if (::ioctl(fd_.get(), TUNSETCARRIER, &carrier) == 0) return {};
  return cannot(place_ + ": cannot change the link");
}

}  // namespace paravane::lab
