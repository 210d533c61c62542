#include "vfio_user/spec_check.h"

#include <bit>
#include <string>

#include "guestmem/guest_addr.h"

namespace paravane::vfio_user {
namespace {

constexpr std::uint64_t kSmallestBar = 16;
constexpr std::uint64_t kLargest32BitBar = std::uint64_t{1} << 31;
constexpr std::uint16_t kMostVectors = 2048;

std::unexpected<Error> wrong(std::size_t bar, const char* what) {
  return fail(Errc::kInvalidArgument, "BAR " + std::to_string(bar) + ": " + what);
}

bool inside(std::uint64_t offset, std::uint64_t length, std::uint64_t size) {
  return offset <= size && length <= size - offset;
}

Status check_areas(std::size_t index, const BarSpec& bar) {
  std::uint64_t free_from = 0;
  for (const MmapArea& area : bar.mmap_areas) {
    if (area.size == 0 || area.offset % kPageBytes != 0 || area.size % kPageBytes != 0) {
      return wrong(index, "a mappable area is not page aligned");
    }
    if (area.offset < free_from) return wrong(index, "mappable areas overlap or are out of order");
    if (!inside(area.offset, area.size, bar.size)) {
      return wrong(index, "a mappable area is outside its region");
    }
    free_from = area.offset + area.size;
  }
  if (!bar.mmap_areas.empty() && bar.mmap_fd < 0)
    return wrong(index, "is mappable but has no file");
  return {};
}

Status check_bar(const DeviceSpec& spec, std::size_t index) {
  const BarSpec& bar = spec.bars[index];
  if (bar.size == 0) {
    return bar.mmap_areas.empty() ? Status{} : wrong(index, "is mappable but empty");
  }
  if (!std::has_single_bit(bar.size) || bar.size < kSmallestBar) {
    return wrong(index, "the size is not a power of two of at least 16");
  }
  if (!bar.is_64_bit && bar.size > kLargest32BitBar)
    return wrong(index, "is too large for 32 bits");
  if (bar.is_64_bit && (index + 1 == spec.bars.size() || spec.bars[index + 1].size != 0)) {
    return wrong(index, "is 64 bits wide, but the next BAR is not free");
  }
  return check_areas(index, bar);
}

Status check_msix(const DeviceSpec& spec) {
  const MsixSpec& msix = spec.msix;
  if (msix.vectors == 0) return {};
  if (msix.vectors > kMostVectors) return fail(Errc::kInvalidArgument, "MSI-X: too many vectors");
  if (msix.table_bar >= spec.bars.size() || msix.pba_bar >= spec.bars.size()) {
    return fail(Errc::kInvalidArgument, "MSI-X: no such BAR");
  }
  if (msix.table_offset % 8 != 0 || msix.pba_offset % 8 != 0) {
    return fail(Errc::kInvalidArgument, "MSI-X: table or pending bits not aligned to 8");
  }
  const std::uint64_t table = msix_table_bytes(msix);
  const std::uint64_t pba = msix_pba_bytes(msix);
  if (!inside(msix.table_offset, table, spec.bars[msix.table_bar].size) ||
      !inside(msix.pba_offset, pba, spec.bars[msix.pba_bar].size)) {
    return fail(Errc::kInvalidArgument, "MSI-X: table or pending bits outside their BAR");
  }
  const bool apart = msix.table_bar != msix.pba_bar ||
                     msix.table_offset + table <= msix.pba_offset ||
                     msix.pba_offset + pba <= msix.table_offset;
  if (!apart) return fail(Errc::kInvalidArgument, "MSI-X: table and pending bits overlap");
  return {};
}

}  // namespace

Status check_spec(const DeviceSpec& spec) {
  for (std::size_t i = 0; i < spec.bars.size(); ++i) {
    if (const Status bar = check_bar(spec, i); !bar) return bar;
  }
  return check_msix(spec);
}

}  // namespace paravane::vfio_user
