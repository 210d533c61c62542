#include "scsi/device_identity.h"

#include <fmt/core.h>

#include <optional>
#include <utility>

#include "scsi/inquiry.h"
#include "scsi/text.h"
#include "wire/roce/header_at.h"
#include "wire/scsi/data.h"

namespace paravane::scsi {
namespace {

using wire::scsi::CodeSet;
using wire::scsi::DesignatorType;

constexpr std::uint8_t kLowBits = 0x0F;
constexpr std::uint8_t kAssociationBits = 0x30;  // 0: the logical unit
constexpr std::size_t kVendorBytes = 8;          // at the beginning of a T10 name

struct Candidate {
  int rank = 0;  // the higher, the better
  std::string name{};
};

std::string joined_name(const std::string& vendor, const std::string& own) {
  return "t10." + (vendor.empty() ? own : vendor + "_" + own);
}

int rank_of_naa(unsigned kind) {
  switch (kind) {
    case 6: return 9;
    case 5: return 8;
    case 2: return 7;
    case 3: return 6;
    default: return 0;
  }
}

Result<std::optional<Candidate>> naa_name(std::span<const std::byte> value) {
  const unsigned kind = value.empty() ? 0 : std::to_integer<unsigned>(value[0]) >> 4;
  const int rank = rank_of_naa(kind);
  if (rank == 0) return std::nullopt;
  const std::size_t bytes = kind == 6 ? 16 : 8;
  if (value.size() != bytes)
    return fail(Errc::kIo, fmt::format("an NAA {} name of the logical unit has {} bytes, and must "
                                       "have {}",
                                       kind, value.size(), bytes));
  return Candidate{.rank = rank, .name = "naa." + hex_text(value)};
}

Result<std::optional<Candidate>> eui_name(std::span<const std::byte> value) {
  if (value.size() != 8 && value.size() != 12 && value.size() != 16)
    return fail(Errc::kIo, fmt::format("an EUI-64 name of the logical unit has {} bytes, and must "
                                       "have 8, 12 or 16",
                                       value.size()));
  return Candidate{.rank = 5, .name = "eui." + hex_text(value)};
}

Result<std::optional<Candidate>> t10_name(std::span<const std::byte> value) {
  if (value.size() < kVendorBytes)
    return fail(Errc::kIo, fmt::format("a T10 name of the logical unit has {} bytes, and must have "
                                       "{} at least",
                                       value.size(), kVendorBytes));
  // A vendor alone names no device.
  const std::string own = clean_name(value.subspan(kVendorBytes));
  if (own.empty()) return std::nullopt;
  return Candidate{.rank = 4, .name = joined_name(clean_name(value.first(kVendorBytes)), own)};
}

Result<std::optional<Candidate>> candidate_of(const wire::scsi::DesignatorHeader& header,
                                              std::span<const std::byte> value) {
  if ((header.type & kAssociationBits) != 0) return std::nullopt;
  const auto set = static_cast<CodeSet>(header.code_set & kLowBits);
  const auto type = static_cast<DesignatorType>(header.type & kLowBits);
  if (type == DesignatorType::kT10)
    return set == CodeSet::kBinary ? Result<std::optional<Candidate>>{std::nullopt}
                                   : t10_name(value);
  if (set != CodeSet::kBinary) return std::nullopt;
  if (type == DesignatorType::kNaa) return naa_name(value);
  if (type == DesignatorType::kEui64) return eui_name(value);
  return std::nullopt;
}

}  // namespace

Result<DeviceIdentity> parse_identification(std::span<const std::byte> bytes) {
  const auto body = vital_page_body(bytes, wire::scsi::vital_page::kIdentification);
  if (!body) return std::unexpected(body.error());
  Candidate best;
  for (std::span<const std::byte> rest = *body; !rest.empty();) {
    if (rest.size() < sizeof(wire::scsi::DesignatorHeader))
      return fail(Errc::kIo, "page 83 of vital product data ends within a designator");
    const auto header = wire::roce::header_at<wire::scsi::DesignatorHeader>(rest);
    rest = rest.subspan(sizeof header);
    if (header.length > rest.size())
      return fail(Errc::kIo, fmt::format("a designator in page 83 of vital product data says that "
                                         "it has {} bytes, and {} are left",
                                         header.length, rest.size()));
    auto candidate = candidate_of(header, rest.first(header.length));
    if (!candidate) return std::unexpected(candidate.error());
    if (*candidate && (*candidate)->rank > best.rank) best = std::move(**candidate);
    rest = rest.subspan(header.length);
  }
  if (best.rank == 0)
    return fail(Errc::kNotFound, "page 83 of vital product data names no logical unit");
  return DeviceIdentity{.name = std::move(best.name)};
}

Result<std::string> parse_serial(std::span<const std::byte> bytes) {
  const auto body = vital_page_body(bytes, wire::scsi::vital_page::kSerialNumber);
  if (!body) return std::unexpected(body.error());
  std::string serial = clean_text(*body);
  if (serial.empty())
    return fail(Errc::kNotFound, "page 80 of vital product data has no serial number");
  return serial;
}

DeviceIdentity identity_of_serial(const std::string& vendor, const std::string& serial) {
  return {.name = joined_name(clean_name(std::as_bytes(std::span(vendor))),
                              clean_name(std::as_bytes(std::span(serial))))};
}

}  // namespace paravane::scsi
