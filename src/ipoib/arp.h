// ARP and RARP for IPv4 (RFC 826, RFC 903) as VMs have it on Ethernet, 28 bytes, and as nodes of a
// subnet have it on InfiniBand, 56 bytes (RFC 4391, 9.2); and how one becomes the other.
//
// The packets are those without a header of Ethernet or InfiniBand before them. What is accepted
// has the form of its link, one of the four operations, and a sender that can be one station. The
// addresses need not be true: whatever translates decides which stand in the other form.
//
// Plain values and pure functions; any thread. Nothing is allocated.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <span>

#include "wire/infiniband/ip_over_infiniband.h"
#include "wire/roce/headers.h"

namespace paravane::ipoib {

using wire::infiniband::IpoibAddress;
using wire::infiniband::Ipv4Address;
using wire::roce::MacBytes;

enum class ArpOperation : std::uint16_t {
  kRequest = 1,
  kReply = 2,
  kReverseRequest = 3,
  kReverseReply = 4,
};

// The Ethernet type that carries it.
constexpr std::uint16_t type_of(ArpOperation operation) {
  return operation <= ArpOperation::kReply ? wire::infiniband::kEtherTypeArp
                                           : wire::infiniband::kEtherTypeRarp;
}

template <typename Address>
struct Arp {
  ArpOperation operation = ArpOperation::kRequest;
  Address sender{};
  Ipv4Address sender_ipv4{};
  Address target{};  // of a request: anything; commonly zero
  Ipv4Address target_ipv4{};

  friend bool operator==(const Arp&, const Arp&) = default;
};
using EthernetArp = Arp<MacBytes>;
using InfinibandArp = Arp<IpoibAddress>;

inline constexpr std::size_t kEthernetArpBytes = 28;
inline constexpr std::size_t kInfinibandArpBytes = 56;

enum class ArpRefusal : std::uint8_t {
  kShort,
  kLong,       // on InfiniBand; on Ethernet, what follows is the padding of a short frame
  kHardware,   // another link's, or an address of another length
  kProtocol,   // not IPv4
  kOperation,  // none of ArpOperation
  kSender,     // zero or a group
};

std::expected<EthernetArp, ArpRefusal> read_ethernet_arp(std::span<const std::byte> packet);
std::expected<InfinibandArp, ArpRefusal> read_infiniband_arp(std::span<const std::byte> packet);

std::array<std::byte, kEthernetArpBytes> ethernet_arp(const EthernetArp& arp);
std::array<std::byte, kInfinibandArpBytes> infiniband_arp(const InfinibandArp& arp);

// `sender`: the interface that stands for the VM. `target`: nullopt for one that is not known, as a
// request's is not.
InfinibandArp to_infiniband(const EthernetArp& arp, const IpoibAddress& sender,
                            const std::optional<IpoibAddress>& target);
// `sender`: the MAC that stands for the interface; `target`: zero for one that is not known.
EthernetArp to_ethernet(const InfinibandArp& arp, const MacBytes& sender, const MacBytes& target);

}  // namespace paravane::ipoib
