#include "subnet/forwarding.h"

#include <algorithm>
#include <utility>

#include "wire/infiniband/local_route.h"

namespace paravane::subnet {

using wire::infiniband::kNoPort;
using wire::infiniband::LinearBlock;
using wire::infiniband::MulticastBlock;
using wire::infiniband::SwitchInfo;

Forwarding::Forwarding(PortNumber ports) : ports_(ports) {
  info_.linear_entries.set(kLinearEntries);
  info_.multicast_entries.set(kMulticastEntries);
  info_.default_port = kNoPort;
  info_.default_primary_multicast_port = kNoPort;
  info_.default_other_multicast_port = kNoPort;
  info_.life_change = 18 << 3;
  info_.enforced_partitions.set(32);
  info_.abilities = wire::infiniband::kEnforcesIn | wire::infiniband::kEnforcesOut;
}

bool Forwarding::set_info(const SwitchInfo& wish) {
  if (wish.linear_top.get() >= kLinearEntries) return false;
  info_.linear_top = wish.linear_top;
  info_.default_port = wish.default_port;
  info_.default_primary_multicast_port = wish.default_primary_multicast_port;
  info_.default_other_multicast_port = wish.default_other_multicast_port;
  info_.multicast_top = wish.multicast_top;
  // A one clears the change, and the life time is taken (14.2.5.4).
  const bool clears = (wish.life_change & wire::infiniband::kPortStateChanged) != 0;
  const std::uint8_t change =
      clears ? 0 : (info_.life_change & wire::infiniband::kPortStateChanged);
  info_.life_change = static_cast<std::uint8_t>((wish.life_change & 0xF8) | change);
  return true;
}

void Forwarding::mark_port_change() {
  info_.life_change |= wire::infiniband::kPortStateChanged;
}

bool Forwarding::read_linear(std::size_t block, LinearBlock& out) const {
  const std::size_t first = block * out.size();
  if (first >= kLinearEntries) return false;
  out.fill(kNoPort);
  if (first < linear_.size())
    std::copy_n(linear_.begin() + static_cast<long>(first), out.size(), out.begin());
  return true;
}

bool Forwarding::set_linear(std::size_t block, const LinearBlock& entries) {
  const std::size_t first = block * entries.size();
  if (first >= kLinearEntries) return false;
  if (linear_.size() < first + entries.size()) linear_.resize(first + entries.size(), kNoPort);
  std::ranges::copy(entries, linear_.begin() + static_cast<long>(first));
  return true;
}

bool Forwarding::read_multicast(std::size_t block, std::size_t position,
                                MulticastBlock& out) const {
  const std::size_t first = block * out.size();
  const std::size_t shift = position * wire::infiniband::kPortsInMulticastMask;
  if (first >= kMulticastEntries || shift > ports_) return false;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const PortMask mask = first + i < multicast_.size() ? multicast_[first + i] : PortMask{};
    out[i].set(static_cast<std::uint16_t>(mask[shift / 64] >> (shift % 64)));
  }
  return true;
}

bool Forwarding::set_multicast(std::size_t block, std::size_t position,
                               const MulticastBlock& masks) {
  const std::size_t first = block * masks.size();
  const std::size_t shift = position * wire::infiniband::kPortsInMulticastMask;
  if (first >= kMulticastEntries || shift > ports_) return false;
  if (multicast_.size() < first + masks.size()) multicast_.resize(first + masks.size());
  for (std::size_t i = 0; i < masks.size(); ++i) {
    std::uint64_t& word = multicast_[first + i][shift / 64];
    word &= ~(std::uint64_t{0xFFFF} << (shift % 64));
    word |= std::uint64_t{masks[i].get()} << (shift % 64);
  }
  return true;
}

ForwardingImage Forwarding::image() const {
  return {.info = info_, .linear = linear_, .multicast = multicast_};
}

bool Forwarding::can_be(const ForwardingImage& image) const {
  return image.info.linear_top.get() < kLinearEntries && image.linear.size() <= kLinearEntries &&
         image.linear.size() % wire::infiniband::kLidsInLinearBlock == 0 &&
         image.multicast.size() <= kMulticastEntries &&
         image.multicast.size() % wire::infiniband::kLidsInMulticastBlock == 0;
}

void Forwarding::adopt(const ForwardingImage& image) {
  std::vector<std::uint8_t> linear = image.linear;
  std::vector<PortMask> multicast = image.multicast;
  (void)set_info(image.info);
  // As it was: neither cleared nor told anew.
  info_.life_change = image.info.life_change;
  linear_ = std::move(linear);
  multicast_ = std::move(multicast);
}

PortNumber Forwarding::way_to(std::uint16_t lid) const {
  if (lid > info_.linear_top.get() || lid >= linear_.size()) return kNoPort;
  const std::uint8_t way = linear_[lid];
  return way <= ports_ ? way : kNoPort;
}

PortMask Forwarding::ways_to(std::uint16_t multicast_lid) const {
  const std::size_t entry = multicast_lid - wire::infiniband::kFirstMulticastLid;
  return entry < multicast_.size() ? multicast_[entry] : PortMask{};
}

}  // namespace paravane::subnet
