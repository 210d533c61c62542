#include "device/pci_identity.h"

#include "abi/registers.h"
#include "abi/uar.h"

namespace paravane::device {
namespace {

constexpr std::uint64_t kInterruptBarBytes = 16384;
constexpr std::uint32_t kPendingBitsAt = 0x2000;
constexpr std::uint64_t kRegisterBarBytes = 4096;

}  // namespace

std::uint32_t doorbell_bar_pages(const DeviceConfig& config) {
  return config.doorbells == DoorbellMode::kMapped ? config.limits.contexts
                                                   : 2 * config.limits.contexts;
}

vfio_user::DeviceSpec make_device_spec(const DeviceConfig& config, const DoorbellPages& pages) {
  vfio_user::DeviceSpec spec;
  spec.vendor = abi::kVendorId;
  spec.device = abi::kDeviceId;
  spec.subsystem_vendor = abi::kVendorId;
  spec.subsystem = abi::kDeviceId;
  spec.class_code = abi::kClassCode;
  spec.revision = 1;

  // A 64-bit BAR would swallow the next index, so these two stay at 32 bits.
  spec.bars[abi::kInterruptBar].size = kInterruptBarBytes;
  spec.bars[abi::kRegisterBar].size = kRegisterBarBytes;

  vfio_user::BarSpec& doorbells = spec.bars[abi::kDoorbellBar];
  doorbells.size = pages.size();
  doorbells.is_64_bit = true;
  doorbells.mmap_fd = pages.fd();
  const std::uint64_t first =
      config.doorbells == DoorbellMode::kMapped ? 1 : doorbell_bar_pages(config) - 1;
  const std::uint64_t offset = first * abi::kUarPageBytes;
  doorbells.mmap_areas = {{offset, pages.size() - offset}};

  spec.msix = {.vectors = abi::kInterruptVectors,
               .table_bar = abi::kInterruptBar,
               .table_offset = 0,
               .pba_bar = abi::kInterruptBar,
               .pba_offset = kPendingBitsAt};
  return spec;
}

}  // namespace paravane::device
