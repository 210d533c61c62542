#include "qtest/pci_bus.h"

namespace paravane {
namespace {

constexpr std::uint16_t kAddressPort = 0xCF8;
constexpr std::uint16_t kDataPort = 0xCFC;
constexpr std::uint32_t kEnable = 0x8000'0000;
constexpr std::uint32_t kSlot = 16;

constexpr std::uint32_t kMemoryAndMaster = 6;
constexpr std::uint32_t kMsixEnable = 0x8000;

constexpr std::uint64_t kEntryBytes = 16;

}  // namespace

void PciFunction::select(std::uint8_t offset) {
  machine_.out(4, kAddressPort, kEnable | (kSlot << 11) | (function_ << 8) | (offset & 0xFCU));
}

std::uint32_t PciFunction::config_read(unsigned bytes, std::uint8_t offset) {
  select(offset);
  return machine_.in(bytes, static_cast<std::uint16_t>(kDataPort + (offset & 3)));
}

void PciFunction::config_write(unsigned bytes, std::uint8_t offset, std::uint32_t value) {
  select(offset);
  machine_.out(bytes, static_cast<std::uint16_t>(kDataPort + (offset & 3)), value);
}

std::uint8_t PciFunction::find_capability(std::uint8_t id) {
  std::uint8_t at = static_cast<std::uint8_t>(config_read(1, 0x34));
  for (int i = 0; i < 48 && at != 0; ++i) {
    if (config_read(1, at) == id) return at;
    at = static_cast<std::uint8_t>(config_read(1, static_cast<std::uint8_t>(at + 1)));
  }
  return 0;
}

void PciFunction::enable() {
  config_write(4, kFirstBar, kBar0);
  config_write(4, kFirstBar + 4, kBar1);
  config_write(4, kFirstBar + 8, kBar2);
  config_write(2, kCommand, kMemoryAndMaster);
}

void PciFunction::set_msix_entry(unsigned vector, std::uint64_t address, std::uint32_t data,
                                 bool masked) {
  const std::uint64_t entry = kBar0 + kEntryBytes * vector;
  machine_.write(4, entry, address & 0xFFFF'FFFF);
  machine_.write(4, entry + 4, address >> 32);
  machine_.write(4, entry + 8, data);
  mask_msix(vector, masked);
}

void PciFunction::mask_msix(unsigned vector, bool masked) {
  machine_.write(4, kBar0 + kEntryBytes * vector + 12, masked ? 1 : 0);
}

void PciFunction::enable_msix(bool enabled) {
  const auto control = static_cast<std::uint8_t>(find_capability(kMsixId) + 2);
  config_write(2, control, enabled ? kMsixEnable : 0);
}

}  // namespace paravane
