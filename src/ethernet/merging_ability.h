// MergingAbility: which packets of RoCE v2 this host's kernel can merge into one frame before the
// engine reads them. That needs several parts of the kernel, and what is lacking is put into words
// for an operator. merging_pair.h says how packets are merged.
//
// One thread. Blocks until the kernel responds.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace paravane::ethernet {

enum class Merges : std::uint8_t {
  kNothing,
  kIpv6,  // only RoCE v2 over IPv6
  kAll,   // RoCE v2 over IPv4 too
};

struct MergingAbility {
  Merges merges = Merges::kNothing;
  std::string lacks{};  // why not kAll; empty: it is
};

// What a kernel of this release ("6.12.48+deb13-amd64") can do if it has all parts. Linux 6.2 is
// the first whose taps hand over merged UDP. Before 6.10, GRO merges UDP over IPv4 whatever the
// identifications of the packets are, of which only the first is kept, and RoCE's CRC covers each.
MergingAbility merging_of_release(std::string_view release);

// What this kernel can do. Creates a pair of interfaces with the mark to find out, and removes it.
MergingAbility find_merging(const std::string& mark);

}  // namespace paravane::ethernet
