// FrameFilter: a set of conditions on the bytes of an Ethernet frame, all of which must hold, as a
// program of classic BPF for the kernel's classifier `bpf` (linux/filter.h, tc-bpf(8)).
//
// The classifier is chosen because it is the only one that can tell a priority tag (VID 0) from a
// tag of a VLAN: the kernel keeps the tag apart from the frame, where u32 does not see it, and
// flower matches no bytes at an offset. Classic programs need no right beyond CAP_NET_ADMIN, and
// cannot loop, write or keep anything.
//
// A value without a thread.

#pragma once

#include <linux/filter.h>

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace paravane::ethernet {

// The bytes of a MAC address in the order in which they are sent.
using MacBytes = std::array<std::uint8_t, 6>;

class FrameFilter {
 public:
  // Offsets are in bytes from the first byte of the destination address, in a frame without a tag:
  // the kernel removes the outer tag before the filter looks. Fields are big endian. A frame that
  // ends before the field does not match.
  FrameFilter& byte_is(std::uint32_t offset, std::uint8_t value, std::uint8_t mask = 0xFF);
  FrameFilter& half_is(std::uint32_t offset, std::uint16_t value, std::uint16_t mask = 0xFFFF);
  FrameFilter& mac_is(std::uint32_t offset, const MacBytes& mac);
  FrameFilter& has_no_tag();
  // No tag, or one that has a priority and no VLAN (VID 0, IEEE 802.1Q).
  FrameFilter& has_no_vlan();

  // The program, whose result is not 0 for a frame that fulfills all conditions.
  std::vector<sock_filter> program() const;
  // The program of a rule that is the verdict itself (RuleAct::kDrop): it drops the frames that
  // fulfill all conditions of none of the filters, and leaves the others to rules that follow.
  static std::vector<sock_filter> drop_all_but(std::span<const FrameFilter> filters);

 private:
  void load(std::uint16_t size, std::uint32_t offset);
  void require(std::uint32_t value);

  std::vector<sock_filter> code_;
  std::uint32_t end_ = 0;            // of the last byte that is looked at
  std::vector<std::size_t> checks_;  // instructions that go to the end if their condition fails
};

}  // namespace paravane::ethernet
