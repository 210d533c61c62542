#include "ethernet/address_announcement.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <set>
#include <string>
#include <utility>

#include "base/unique_fd.h"

namespace paravane::ethernet {
namespace {

constexpr std::uint16_t kTagWord = 0x8100;
constexpr std::uint16_t kRarpWord = 0x8035;
constexpr std::uint16_t kEthernetWord = 1;  // hardware
constexpr std::uint16_t kIpv4Word = 0x0800;
constexpr std::uint16_t kReverseRequestWord = 3;  // "request reverse"
constexpr std::size_t kShortestFrame = 60;        // of a frame, without its checksum

void append(std::vector<std::byte>& frame, std::uint16_t value) {
  frame.push_back(std::byte(value >> 8));
  frame.push_back(std::byte(value & 0xFF));
}

void append(std::vector<std::byte>& frame, const std::array<std::uint8_t, 6>& mac) {
  for (const std::uint8_t byte : mac) frame.push_back(std::byte(byte));
}

// It is gone as soon as it is closed.
Result<UniqueFd> make_passing_tap(const std::string& name) {
  UniqueFd tap(::open("/dev/net/tun", O_RDWR | O_CLOEXEC | O_NONBLOCK));
  if (!tap) return fail_by_system(Errc::kIo, "cannot open /dev/net/tun", errno);
  ifreq request{};
  name.copy(request.ifr_name, sizeof request.ifr_name - 1);
  request.ifr_flags = IFF_TAP | IFF_NO_PI;
  if (::ioctl(tap.get(), TUNSETIFF, &request) == 0) return tap;
  return fail_by_system(Errc::kIo, "cannot create a tap", errno);
}

Status write_all(const UniqueFd& tap, const std::vector<std::vector<std::byte>>& frames) {
  for (const std::vector<std::byte>& frame : frames) {
    if (::write(tap.get(), frame.data(), frame.size()) == static_cast<ssize_t>(frame.size()))
      continue;
    return fail_by_system(Errc::kIo, "cannot write to a tap", errno);
  }
  return {};
}

}  // namespace

std::vector<std::byte> announcement_of(const std::array<std::uint8_t, 6>& mac, std::uint16_t vlan) {
  std::vector<std::byte> frame(6, std::byte{0xFF});
  append(frame, mac);
  if (vlan != 0) {
    append(frame, kTagWord);
    append(frame, vlan);
  }
  for (const std::uint16_t word : {kRarpWord, kEthernetWord, kIpv4Word}) append(frame, word);
  frame.push_back(std::byte{6});  // bytes of a MAC address, and of an IP address
  frame.push_back(std::byte{4});
  append(frame, kReverseRequestWord);
  for (int i = 0; i < 2; ++i) {  // sender and target, without IP addresses
    append(frame, mac);
    frame.insert(frame.end(), 4, std::byte{0});
  }
  frame.resize(std::max(frame.size(), kShortestFrame));
  return frame;
}

std::vector<std::vector<std::byte>> announcements(const std::vector<BridgeAddress>& addresses,
                                                  std::uint16_t untagged,
                                                  const std::vector<std::uint16_t>& tagged) {
  std::set<std::pair<std::uint16_t, std::array<std::uint8_t, 6>>> told;
  std::vector<std::vector<std::byte>> frames;
  for (const BridgeAddress& address : addresses) {
    const bool has_tag = std::ranges::find(tagged, address.vlan) != tagged.end();
    if (!has_tag && address.vlan != untagged) continue;
    const std::uint16_t tag = has_tag ? address.vlan : std::uint16_t{0};
    if (told.emplace(tag, address.mac).second) frames.push_back(announcement_of(address.mac, tag));
  }
  return frames;
}

Status send_through(Links& links, int bridge, const std::vector<std::vector<std::byte>>& frames) {
  if (frames.empty()) return {};
  const std::string name = fmt::format("pvA{}", ::getpid());  // as no other link of ours is called
  const auto tap = make_passing_tap(name);
  if (!tap) return std::unexpected(tap.error());
  const auto all = links.list();
  if (!all) return std::unexpected(all.error());
  const auto made = std::ranges::find(*all, name, &Link::name);
  if (made == all->end()) return fail(Errc::kIo, "a newly created tap disappeared");
  const int index = made->index;
  // A kernel without IPv6 has no such thing to forbid.
  static_cast<void>(links.forbid_own_address(index));
  Status sent = links.set_master(index, bridge);
  if (sent) sent = links.set_up(index);
  if (sent) sent = links.set_up(bridge);
  if (sent) sent = write_all(*tap, frames);
  const Status down = links.set_down(bridge);
  return sent ? down : sent;
}

}  // namespace paravane::ethernet
