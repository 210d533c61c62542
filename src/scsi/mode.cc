#include "scsi/mode.h"

#include <fmt/core.h>

#include <cstdint>
#include <string_view>

#include "base/wire_int.h"
#include "wire/roce/header_at.h"
#include "wire/scsi/data.h"

namespace paravane::scsi {
namespace {

// Pages of two forms: with a length of one byte, and with a subpage and a length of two.
struct LongPageHeader {
  std::uint8_t page = 0;
  std::uint8_t subpage = 0;
  Be16 length;
};

Status read_pages(std::span<const std::byte> rest, ModeParameters& parameters) {
  while (!rest.empty()) {
    const auto code = std::to_integer<std::uint8_t>(rest[0]);
    const bool is_long = (code & wire::scsi::kSubpageFormat) != 0;
    const std::size_t header = is_long ? sizeof(LongPageHeader) : 2;
    if (rest.size() < header) return fail(Errc::kIo, "the mode parameters end within a page");
    const std::size_t length = is_long ? wire::roce::header_at<LongPageHeader>(rest).length.get()
                                       : std::to_integer<std::size_t>(rest[1]);
    if (length > rest.size() - header)
      return fail(Errc::kIo,
                  fmt::format("mode page {:02x} says that it has {} bytes, and {} are "
                              "left",
                              code & wire::scsi::kPageCodeBits, length, rest.size() - header));
    if (!is_long && (code & wire::scsi::kPageCodeBits) == wire::scsi::kCachingPageCode) {
      if (length == 0) return fail(Errc::kIo, "the caching page of the mode parameters is empty");
      const auto page = wire::roce::header_at<wire::scsi::CachingPage>(rest);
      parameters.has_write_cache = (page.flags & wire::scsi::kWriteCache) != 0;
    }
    rest = rest.subspan(header + length);
  }
  return {};
}

// `data`: what the header's length covers and the length itself.
Result<ModeParameters> parameters_of(std::span<const std::byte> bytes, std::size_t data,
                                     std::size_t header, std::size_t descriptors,
                                     std::uint8_t device) {
  if (data > bytes.size())
    return fail(Errc::kIo, fmt::format("the mode parameters say that they have {} bytes, and {} "
                                       "have come",
                                       data, bytes.size()));
  if (data < header || descriptors > data - header)
    return fail(Errc::kIo, fmt::format("the mode parameters have {} bytes, and say that {} of them "
                                       "are block descriptors",
                                       data, descriptors));
  ModeParameters parameters{
      .is_write_protected = (device & wire::scsi::kWriteProtected) != 0,
      .takes_force_unit_access = (device & wire::scsi::kTakesForceUnitAccess) != 0};
  const std::size_t before = header + descriptors;
  if (auto read = read_pages(bytes.subspan(before, data - before), parameters); !read)
    return std::unexpected(read.error());
  return parameters;
}

template <typename Header>
Result<ModeParameters> parse(std::span<const std::byte> bytes) {
  if (bytes.size() < sizeof(Header))
    return fail(Errc::kIo, fmt::format("the mode parameters have {} bytes, and must have {} at "
                                       "least",
                                       bytes.size(), sizeof(Header)));
  const auto header = wire::roce::header_at<Header>(bytes);
  if constexpr (sizeof(Header) == sizeof(wire::scsi::ModeHeader6)) {
    return parameters_of(bytes, std::size_t{header.length} + sizeof header.length, sizeof header,
                         header.descriptors_bytes, header.device);
  } else {
    return parameters_of(bytes, std::size_t{header.length.get()} + sizeof header.length,
                         sizeof header, header.descriptors_bytes.get(), header.device);
  }
}

}  // namespace

Result<ModeParameters> parse_mode6(std::span<const std::byte> bytes) {
  return parse<wire::scsi::ModeHeader6>(bytes);
}

Result<ModeParameters> parse_mode10(std::span<const std::byte> bytes) {
  return parse<wire::scsi::ModeHeader10>(bytes);
}

}  // namespace paravane::scsi
