#include "testing/fake_scsi_disk.h"

#include <algorithm>
#include <array>
#include <ranges>
#include <utility>

#include "wire/roce/header_at.h"
#include "wire/scsi/command.h"
#include "wire/scsi/data.h"

namespace paravane::fake {
namespace {

using wire::roce::header_at;
using wire::scsi::Operation;
using wire::scsi::SenseKey;
using wire::scsi::Status;

constexpr SenseCode kNoCommand{.key = SenseKey::kIllegalRequest, .asc = 0x20};
constexpr SenseCode kOutside{.key = SenseKey::kIllegalRequest, .asc = 0x21};
constexpr SenseCode kBadField{.key = SenseKey::kIllegalRequest, .asc = 0x24};
constexpr SenseCode kBadParameter{.key = SenseKey::kIllegalRequest, .asc = 0x26};
constexpr SenseCode kProtected{.key = SenseKey::kDataProtect, .asc = 0x27};

template <typename T>
std::vector<std::byte> bytes_of_data(const T& data) {
  const auto bytes = std::as_bytes(std::span(&data, 1));
  return {bytes.begin(), bytes.end()};
}

void append(std::vector<std::byte>& to, std::span<const std::byte> more) {
  // GCC 12 takes insert() here for one that overflows.
  const std::size_t before = to.size();
  to.resize(before + more.size());
  std::ranges::copy(more, to.begin() + static_cast<std::ptrdiff_t>(before));
}

void append_text(std::vector<std::byte>& to, const std::string& text, std::size_t width = 0) {
  std::string padded = text;
  if (width != 0) padded.resize(width, ' ');
  append(to, std::as_bytes(std::span(padded)));
}

template <std::size_t kBytes>
std::array<char, kBytes> text_field(const std::string& text) {
  std::array<char, kBytes> field;
  field.fill(' ');
  std::copy_n(text.begin(), std::min(text.size(), kBytes), field.begin());
  return field;
}

DiskAnswer failed(const SenseCode& code) {
  return {.status = Status::kCheckCondition, .sense = fixed_sense(code)};
}

DiskAnswer answered(std::vector<std::byte> data, std::size_t most) {
  if (data.size() > most) data.resize(most);
  return {.data = std::move(data)};
}

void append_designator(std::vector<std::byte>& page, wire::scsi::CodeSet set,
                       wire::scsi::DesignatorType type, std::span<const std::byte> value) {
  append(page, bytes_of_data(wire::scsi::DesignatorHeader{
                   .code_set = static_cast<std::uint8_t>(set),
                   .type = static_cast<std::uint8_t>(type),
                   .length = static_cast<std::uint8_t>(value.size())}));
  append(page, value);
}

std::vector<std::byte> with_page_header(std::uint8_t page, std::span<const std::byte> body) {
  wire::scsi::VitalPageHeader header{.page = page};
  header.length.set(static_cast<std::uint16_t>(body.size()));
  std::vector<std::byte> bytes = bytes_of_data(header);
  append(bytes, body);
  return bytes;
}

bool wants_transfer(Operation operation) {
  return operation == Operation::kRead16 || operation == Operation::kWrite16;
}

Operation operation_of(const scsi::Cdb& cdb) {
  return static_cast<Operation>(cdb[0]);
}

}  // namespace

std::vector<std::byte> fixed_sense(const SenseCode& code, bool is_deferred) {
  return bytes_of_data(wire::scsi::FixedSense{
      .code = is_deferred ? wire::scsi::kFixedDeferred : wire::scsi::kFixedCurrent,
      .key = static_cast<std::uint8_t>(code.key),
      .additional_bytes = 10,
      .asc = code.asc,
      .ascq = code.ascq});
}

std::vector<std::byte> descriptor_sense(const SenseCode& code, bool is_deferred) {
  return bytes_of_data(wire::scsi::DescriptorSense{
      .code = is_deferred ? wire::scsi::kDescriptorDeferred : wire::scsi::kDescriptorCurrent,
      .key = static_cast<std::uint8_t>(code.key),
      .asc = code.asc,
      .ascq = code.ascq});
}

FakeScsiDisk::FakeScsiDisk(const Config& config)
    : config_(config), bytes_(config.blocks * config.block_bytes) {}

DiskAnswer FakeScsiDisk::execute(const scsi::Cdb& cdb, std::span<const std::byte> out) {
  ++executed[std::to_integer<std::uint8_t>(cdb[0])];
  if (!failures_.empty() && operation_of(cdb) != Operation::kInquiry) {
    const SenseCode code = failures_.front();
    failures_.pop_front();
    return failed(code);
  }
  switch (operation_of(cdb)) {
    case Operation::kTestUnitReady: return {};
    case Operation::kInquiry: return inquiry(cdb);
    case Operation::kModeSense6: return mode_sense(cdb, false);
    case Operation::kModeSense10: return mode_sense(cdb, true);
    case Operation::kReadCapacity10: return capacity10();
    case Operation::kServiceActionIn16: return capacity16(cdb);
    case Operation::kRead16:
    case Operation::kWrite16:
    case Operation::kWriteSame16:
    case Operation::kSynchronizeCache16: return blocks(cdb, out);
    case Operation::kUnmap: return unmap(cdb, out);
    case Operation::kReportLuns: break;  // the target's
  }
  return failed(kNoCommand);
}

std::size_t FakeScsiDisk::wants(const scsi::Cdb& cdb) const {
  const auto block = header_at<wire::scsi::BlocksCdb>(cdb);
  const Operation operation = operation_of(cdb);
  if (operation == Operation::kWrite16)
    return std::size_t{block.blocks.get()} * config_.block_bytes;
  if (operation == Operation::kWriteSame16) return config_.block_bytes;
  if (operation == Operation::kUnmap) return header_at<wire::scsi::UnmapCdb>(cdb).length.get();
  return 0;
}

DiskAnswer FakeScsiDisk::inquiry(const scsi::Cdb& cdb) const {
  const auto block = header_at<wire::scsi::InquiryCdb>(cdb);
  if ((block.vital & 1) == 0) {
    return answered(
        bytes_of_data(wire::scsi::StandardInquiryData{.version = 6,
                                                      .format = 2,
                                                      .additional_bytes = 31,
                                                      .flags = {0, 0, 2},
                                                      .vendor = text_field<8>(config_.vendor),
                                                      .product = text_field<16>(config_.product),
                                                      .revision = text_field<4>("4.0")}),
        block.length.get());
  }
  auto page = vital_page(block.page);
  return page ? answered(std::move(*page), block.length.get()) : failed(kBadField);
}

std::optional<std::vector<std::byte>> FakeScsiDisk::vital_page(std::uint8_t page) const {
  namespace vital = wire::scsi::vital_page;
  std::vector<std::byte> body;
  switch (page) {
    case vital::kSupportedPages:
      for (const std::uint8_t one :
           {vital::kSupportedPages, vital::kSerialNumber, vital::kIdentification,
            vital::kBlockLimits, vital::kProvisioning}) {
        body.push_back(std::byte{one});
      }
      return with_page_header(page, body);
    case vital::kSerialNumber:
      append_text(body, config_.serial);
      body.push_back(std::byte{0});
      return with_page_header(page, body);
    case vital::kIdentification: {
      std::vector<std::byte> naa{std::byte{0x60}, std::byte{0x01}, std::byte{0x40},
                                 std::byte{0x50}};
      for (std::size_t i = 0; naa.size() < 16; ++i)
        naa.push_back(static_cast<std::byte>(i < config_.serial.size() ? config_.serial[i] : 0));
      append_designator(body, wire::scsi::CodeSet::kBinary, wire::scsi::DesignatorType::kNaa, naa);
      std::vector<std::byte> t10;
      append_text(t10, config_.vendor, 8);
      append_text(t10, config_.product + ":" + config_.serial);
      append_designator(body, wire::scsi::CodeSet::kAscii, wire::scsi::DesignatorType::kT10, t10);
      return with_page_header(page, body);
    }
    case vital::kBlockLimits: {
      wire::scsi::BlockLimitsPage limits{.write_same_not_zero = 1};
      limits.granularity.set(1);
      limits.most_transfer_blocks.set(config_.most_transfer_blocks);
      limits.optimal_blocks.set(config_.most_transfer_blocks);
      limits.most_unmap_blocks.set(config_.is_thin ? 0xFFFF : 0);
      limits.most_unmap_descriptors.set(config_.is_thin ? config_.most_unmap_ranges : 0);
      limits.most_write_same_blocks.set(0xFFFF);
      const std::vector<std::byte> all = bytes_of_data(limits);
      body.assign(all.begin() + sizeof(wire::scsi::VitalPageHeader), all.end());
      body.resize(0x3C);
      return with_page_header(page, body);
    }
    case vital::kProvisioning: {
      const wire::scsi::ProvisioningPage provisioning{
          .flags = static_cast<std::uint8_t>(config_.is_thin ? 0xE4 : 0)};
      const std::vector<std::byte> all = bytes_of_data(provisioning);
      body.assign(all.begin() + sizeof(wire::scsi::VitalPageHeader), all.end());
      return with_page_header(page, body);
    }
    default: return std::nullopt;
  }
}

DiskAnswer FakeScsiDisk::capacity10() const {
  wire::scsi::Capacity10Data data;
  data.last_block.set(
      static_cast<std::uint32_t>(std::min<std::uint64_t>(config_.blocks - 1, 0xFFFF'FFFF)));
  data.block_bytes.set(config_.block_bytes);
  return {.data = bytes_of_data(data)};
}

DiskAnswer FakeScsiDisk::capacity16(const scsi::Cdb& cdb) const {
  const auto block = header_at<wire::scsi::ReadCapacity16Cdb>(cdb);
  if (block.action != wire::scsi::ReadCapacity16Cdb::kReadCapacityAction) return failed(kBadField);
  wire::scsi::Capacity16Data data;
  data.last_block.set(config_.blocks - 1);
  data.block_bytes.set(config_.block_bytes);
  if (config_.is_thin)
    data.provisioning.set(wire::scsi::kThinProvisioned | wire::scsi::kUnmappedReadsZero);
  return answered(bytes_of_data(data), block.length.get());
}

DiskAnswer FakeScsiDisk::mode_sense(const scsi::Cdb& cdb, bool is_long) const {
  std::vector<std::byte> page(20);
  page[0] = std::byte{wire::scsi::kCachingPageCode};
  page[1] = std::byte{18};
  if (config_.has_write_cache) page[2] = std::byte{wire::scsi::kWriteCache};
  const auto device = static_cast<std::uint8_t>(
      wire::scsi::kTakesForceUnitAccess |
      (config_.is_write_protected ? wire::scsi::kWriteProtected : std::uint8_t{0}));
  std::vector<std::byte> data;
  if (is_long) {
    wire::scsi::ModeHeader10 header{.device = device};
    header.length.set(static_cast<std::uint16_t>(sizeof header - 2 + page.size()));
    data = bytes_of_data(header);
    append(data, page);
    return answered(std::move(data), header_at<wire::scsi::ModeSense10Cdb>(cdb).length.get());
  }
  data = bytes_of_data(wire::scsi::ModeHeader6{
      .length = static_cast<std::uint8_t>(sizeof(wire::scsi::ModeHeader6) - 1 + page.size()),
      .device = device});
  append(data, page);
  return answered(std::move(data), header_at<wire::scsi::ModeSense6Cdb>(cdb).length);
}

DiskAnswer FakeScsiDisk::blocks(const scsi::Cdb& cdb, std::span<const std::byte> out) {
  const auto block = header_at<wire::scsi::BlocksCdb>(cdb);
  const Operation operation = operation_of(cdb);
  const std::uint64_t first = block.block.get();
  const std::uint64_t blocks = block.blocks.get();
  const std::uint64_t there = bytes_.size() / config_.block_bytes;
  if (first > there || blocks > there - first) return failed(kOutside);
  if (wants_transfer(operation) && blocks > config_.most_transfer_blocks) return failed(kBadField);
  if (operation == Operation::kSynchronizeCache16) return {};
  const auto part = bytes().subspan(first * config_.block_bytes, blocks * config_.block_bytes);
  if (operation == Operation::kRead16) return {.data = {part.begin(), part.end()}};
  if (config_.is_write_protected) return failed(kProtected);
  const std::size_t wanted = wants(cdb);
  if (out.size() < wanted) return failed(kBadParameter);
  for (std::size_t at = 0; at < part.size(); at += wanted)
    std::ranges::copy(out.first(wanted), part.subspan(at).begin());
  return {.taken = wanted};
}

DiskAnswer FakeScsiDisk::unmap(const scsi::Cdb& cdb, std::span<const std::byte> out) {
  if (!config_.is_thin) return failed(kNoCommand);
  if (config_.is_write_protected) return failed(kProtected);
  using wire::scsi::UnmapDescriptor;
  using wire::scsi::UnmapHeader;
  const std::size_t bytes = wants(cdb);
  if (out.size() < bytes || bytes < sizeof(UnmapHeader)) return failed(kBadParameter);
  const auto header = header_at<UnmapHeader>(out);
  const std::size_t list = header.descriptors_bytes.get();
  if (list > bytes - sizeof(UnmapHeader) || list % sizeof(UnmapDescriptor) != 0 ||
      header.length.get() != list + sizeof(UnmapHeader) - 2 ||
      list / sizeof(UnmapDescriptor) > config_.most_unmap_ranges) {
    return failed(kBadParameter);
  }
  const std::uint64_t there = bytes_.size() / config_.block_bytes;
  for (std::size_t at = sizeof(UnmapHeader); at < sizeof(UnmapHeader) + list;
       at += sizeof(UnmapDescriptor)) {
    const auto range = header_at<UnmapDescriptor>(out, at);
    if (range.block.get() > there || range.blocks.get() > there - range.block.get())
      return failed(kOutside);
    std::ranges::fill(bytes_ | std::views::drop(range.block.get() * config_.block_bytes) |
                          std::views::take(std::uint64_t{range.blocks.get()} * config_.block_bytes),
                      std::byte{0});
  }
  return {.taken = bytes};
}

}  // namespace paravane::fake
