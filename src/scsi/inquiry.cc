#include "scsi/inquiry.h"

#include <fmt/core.h>

#include "scsi/text.h"
#include "wire/roce/header_at.h"
#include "wire/scsi/data.h"

namespace paravane::scsi {
namespace {

constexpr std::uint8_t kFormatBits = 0x0F;
constexpr std::uint8_t kFormat = 2;
constexpr std::uint8_t kRemovable = 0x80;
constexpr std::uint8_t kTypeBits = 0x1F;

}  // namespace

Result<StandardInquiry> parse_inquiry(std::span<const std::byte> bytes) {
  if (bytes.size() < sizeof(wire::scsi::StandardInquiryData))
    return fail(Errc::kIo, fmt::format("the answer to INQUIRY has {} bytes, and must have {}",
                                       bytes.size(), sizeof(wire::scsi::StandardInquiryData)));
  const auto data = wire::roce::header_at<wire::scsi::StandardInquiryData>(bytes);
  const auto qualifier = static_cast<Qualifier>(data.peripheral >> 5);
  if ((data.format & kFormatBits) != kFormat)
    return fail(Errc::kUnsupported, fmt::format("the answer to INQUIRY has format {}, and not {}",
                                                data.format & kFormatBits, kFormat));
  constexpr std::size_t kLeastAdditional =
      sizeof data - offsetof(wire::scsi::StandardInquiryData, additional_bytes) - 1;
  if (data.additional_bytes < kLeastAdditional)
    return fail(Errc::kIo,
                fmt::format("the answer to INQUIRY says that it has {} bytes, and must "
                            "have {}",
                            data.additional_bytes + sizeof data - kLeastAdditional, sizeof data));
  return StandardInquiry{.type = static_cast<DeviceType>(data.peripheral & kTypeBits),
                         .qualifier = qualifier,
                         .is_removable = (data.removable & kRemovable) != 0,
                         .vendor = clean_text(std::as_bytes(std::span(data.vendor))),
                         .product = clean_text(std::as_bytes(std::span(data.product))),
                         .revision = clean_text(std::as_bytes(std::span(data.revision)))};
}

Result<std::span<const std::byte>> vital_page_body(std::span<const std::byte> bytes,
                                                   std::uint8_t page) {
  if (bytes.size() < sizeof(wire::scsi::VitalPageHeader))
    return fail(Errc::kIo, fmt::format("the answer with page {:02x} of vital product data has {} "
                                       "bytes",
                                       page, bytes.size()));
  const auto header = wire::roce::header_at<wire::scsi::VitalPageHeader>(bytes);
  if (header.page != page)
    return fail(Errc::kIo, fmt::format("the answer has page {:02x} of vital product data, and page "
                                       "{:02x} was asked for",
                                       header.page, page));
  const std::span<const std::byte> rest = bytes.subspan(sizeof header);
  if (header.length.get() > rest.size())
    return fail(Errc::kIo, fmt::format("page {:02x} of vital product data says that it has {} "
                                       "bytes, and {} have come",
                                       page, header.length.get(), rest.size()));
  return rest.first(header.length.get());
}

Result<std::vector<std::uint8_t>> parse_supported_pages(std::span<const std::byte> bytes) {
  const auto body = vital_page_body(bytes, wire::scsi::vital_page::kSupportedPages);
  if (!body) return std::unexpected(body.error());
  std::vector<std::uint8_t> pages;
  for (const std::byte page : *body) pages.push_back(std::to_integer<std::uint8_t>(page));
  return pages;
}

}  // namespace paravane::scsi
