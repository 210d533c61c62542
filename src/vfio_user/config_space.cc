#include "vfio_user/config_space.h"

#include <cassert>

namespace paravane::vfio_user {
namespace {

// PCI Local Bus Specification 3.0, 6.1 and 6.7, and the ECNs for MSI-X and
// Advanced Features.
constexpr std::size_t kVendor = 0x00;
constexpr std::size_t kDevice = 0x02;
constexpr std::size_t kCommand = 0x04;
constexpr std::size_t kStatus = 0x06;
constexpr std::size_t kRevision = 0x08;
constexpr std::size_t kClassCode = 0x09;
constexpr std::size_t kCacheLine = 0x0C;
constexpr std::size_t kLatency = 0x0D;
constexpr std::size_t kFirstBar = 0x10;
constexpr std::size_t kBarBytes = 6 * 4;
constexpr std::size_t kSubsystemVendor = 0x2C;
constexpr std::size_t kSubsystem = 0x2E;
constexpr std::size_t kCapabilities = 0x34;
constexpr std::size_t kInterruptLine = 0x3C;

constexpr std::uint8_t kBusMaster = 1U << 2;
// Memory space, bus master, parity, SERR, INTx disable.
constexpr std::uint16_t kCommandWritable =
    (1U << 1) | (1U << 2) | (1U << 6) | (1U << 8) | (1U << 10);
constexpr std::uint16_t kHasCapabilities = 1U << 4;

constexpr std::uint64_t kBarIs64Bit = 1U << 2;

constexpr std::uint8_t kMsixId = 0x11;
constexpr std::uint16_t kMsixWritable = (1U << 15) | (1U << 14);  // enable, mask function

constexpr std::uint8_t kAdvancedFeaturesId = 0x13;
constexpr std::uint8_t kTransactionsPending = 1U << 0;
constexpr std::uint8_t kFunctionLevelReset = 1U << 1;
constexpr std::uint8_t kInitiateFlr = 1U << 0;

}  // namespace

ConfigSpace::ConfigSpace(const DeviceSpec& spec) : link_at_(kCapabilities) {
  put(kVendor, spec.vendor, 2);
  put(kDevice, spec.device, 2);
  put(kStatus, kHasCapabilities, 2);
  put(kRevision, spec.revision, 1);
  put(kClassCode, spec.class_code, 3);
  put(kSubsystemVendor, spec.subsystem_vendor, 2);
  put(kSubsystem, spec.subsystem, 2);
  allow(kCommand, kCommandWritable, 2);
  allow(kCacheLine, 0xFF, 1);
  allow(kLatency, 0xFF, 1);
  allow(kInterruptLine, 0xFF, 1);
  for (std::size_t i = 0; i < spec.bars.size(); ++i) add_bar(i, spec.bars[i]);
  if (spec.msix.vectors > 0) add_msix(spec.msix);
  add_advanced_features();
  reset();
}

void ConfigSpace::add_bar(std::size_t index, const BarSpec& bar) {
  if (bar.size == 0) return;
  const std::size_t at = kFirstBar + 4 * index;
  const std::size_t bytes = bar.is_64_bit ? 8 : 4;
  put(at, bar.is_64_bit ? kBarIs64Bit : 0, bytes);
  allow(at, ~(bar.size - 1), bytes);
}

void ConfigSpace::add_msix(const MsixSpec& msix) {
  const std::size_t at = add_capability(kMsixId, 12);
  put(at + 2, msix.vectors - 1U, 2);
  put(at + 4, msix.table_offset | msix.table_bar, 4);
  put(at + 8, msix.pba_offset | msix.pba_bar, 4);
  allow(at + 2, kMsixWritable, 2);
}

void ConfigSpace::add_advanced_features() {
  const std::size_t at = add_capability(kAdvancedFeaturesId, 6);
  put(at + 2, 6, 1);
  put(at + 3, kTransactionsPending | kFunctionLevelReset, 1);
  flr_at_ = at + 4;
}

std::size_t ConfigSpace::add_capability(std::uint8_t id, std::size_t bytes) {
  const std::size_t at = free_at_;
  free_at_ = (at + bytes + 3) & ~std::size_t{3};
  put(link_at_, at, 1);
  put(at, id, 1);
  link_at_ = at + 1;
  return at;
}

void ConfigSpace::put(std::size_t at, std::uint64_t value, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i)
    initial_[at + i] = static_cast<std::uint8_t>(value >> (8 * i));
}

void ConfigSpace::allow(std::size_t at, std::uint64_t mask, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i)
    writable_[at + i] = static_cast<std::uint8_t>(mask >> (8 * i));
}

void ConfigSpace::read(std::uint64_t offset, std::span<std::byte> out) const {
  assert(offset <= kConfigBytes && out.size() <= kConfigBytes - offset);
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = std::byte{bytes_[offset + i]};
}

ConfigSpace::Effects ConfigSpace::write(std::uint64_t offset, std::span<const std::byte> in) {
  assert(offset <= kConfigBytes && in.size() <= kConfigBytes - offset);
  const bool was_master = bus_master();
  Effects effects;
  for (std::size_t i = 0; i < in.size(); ++i) {
    const std::size_t at = offset + i;
    const std::uint8_t value = std::to_integer<std::uint8_t>(in[i]);
    const std::uint8_t mask = writable_[at];
    bytes_[at] = static_cast<std::uint8_t>((bytes_[at] & ~mask) | (value & mask));
    if (at == flr_at_ && (value & kInitiateFlr) != 0) effects.function_reset = true;
  }
  effects.bus_master_moved = bus_master() != was_master;
  return effects;
}

bool ConfigSpace::has_address() const {
  for (std::size_t at = kFirstBar; at < kFirstBar + kBarBytes; ++at) {
    if ((bytes_[at] & writable_[at]) != 0) return true;
  }
  return false;
}

bool ConfigSpace::bus_master() const {
  return (bytes_[kCommand] & kBusMaster) != 0;
}

}  // namespace paravane::vfio_user
