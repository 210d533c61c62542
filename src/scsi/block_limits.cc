#include "scsi/block_limits.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <bit>

#include "scsi/inquiry.h"
#include "wire/scsi/data.h"

namespace paravane::scsi {
namespace {

using wire::scsi::BlockLimitsPage;
using wire::scsi::ProvisioningPage;
using wire::scsi::VitalPageHeader;

// A page whose end has not come is read as if zeros followed: fields were appended over the years.
// `least`: of the body.
template <typename Page>
Result<Page> page_of(std::span<const std::byte> bytes, std::uint8_t number, std::size_t least) {
  const auto body = vital_page_body(bytes, number);
  if (!body) return std::unexpected(body.error());
  if (body->size() < least)
    return fail(Errc::kIo, fmt::format("page {:02x} of vital product data has {} bytes, and must "
                                       "have {}",
                                       number, body->size(), least));
  std::array<std::byte, sizeof(Page)> page{};
  const std::size_t taken = std::min(body->size(), sizeof(Page) - sizeof(VitalPageHeader));
  std::ranges::copy(body->first(taken), page.begin() + sizeof(VitalPageHeader));
  return std::bit_cast<Page>(page);
}

}  // namespace

Result<BlockLimits> parse_block_limits(std::span<const std::byte> bytes) {
  constexpr std::size_t kLeast =
      offsetof(BlockLimitsPage, most_prefetch_blocks) - sizeof(VitalPageHeader);
  const auto page = page_of<BlockLimitsPage>(bytes, wire::scsi::vital_page::kBlockLimits, kLeast);
  if (!page) return std::unexpected(page.error());
  return BlockLimits{.most_transfer = page->most_transfer_blocks.get(),
                     .optimal_transfer = page->optimal_blocks.get(),
                     .granularity = page->granularity.get(),
                     .most_unmap = page->most_unmap_blocks.get(),
                     .most_unmap_ranges = page->most_unmap_descriptors.get(),
                     .unmap_granularity = page->unmap_granularity.get(),
                     .most_write_same = page->most_write_same_blocks.get()};
}

Result<Provisioning> parse_provisioning(std::span<const std::byte> bytes) {
  namespace flag = wire::scsi::provisioning_flag;
  constexpr std::size_t kLeast = offsetof(ProvisioningPage, type) - sizeof(VitalPageHeader);
  const auto page = page_of<ProvisioningPage>(bytes, wire::scsi::vital_page::kProvisioning, kLeast);
  if (!page) return std::unexpected(page.error());
  return Provisioning{.has_unmap = (page->flags & flag::kUnmap) != 0,
                      .write_same_unmaps = (page->flags & flag::kWriteSameUnmap) != 0,
                      .unmapped_reads_zero = (page->flags & flag::kReadsZeroes) != 0};
}

}  // namespace paravane::scsi
