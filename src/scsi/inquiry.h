// What a logical unit says of itself: the standard data of INQUIRY, and the pages of vital product
// data (SPC-4, INQUIRY and vital product data parameters).
//
// `bytes` is what has come: the memory of the answer without the residual. Where a target counts no
// residual, what lies behind its data is what the memory held before, which should be zeros. A
// header that says more than has come is refused.
//
// Pure functions; any thread.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace paravane::scsi {

enum class DeviceType : std::uint8_t { kDisk = 0x00, kNone = 0x1F };  // others: as they are

enum class Qualifier : std::uint8_t {
  kConnected = 0,
  kNotConnected = 1,  // the target could have a device there, and has none now
  kImpossible = 3,    // there can be none
};

struct StandardInquiry {
  DeviceType type = DeviceType::kNone;
  Qualifier qualifier = Qualifier::kImpossible;
  bool is_removable = false;
  std::string vendor{};  // these three: clean_text()
  std::string product{};
  std::string revision{};

  bool is_disk() const { return qualifier == Qualifier::kConnected && type == DeviceType::kDisk; }
  friend bool operator==(const StandardInquiry&, const StandardInquiry&) = default;
};
// Refuses fewer than 36 bytes, and a format other than 2.
Result<StandardInquiry> parse_inquiry(std::span<const std::byte> bytes);

// The body of a page of vital product data, without its header. Refuses another page than `page`,
// and a length beyond `bytes`.
Result<std::span<const std::byte>> vital_page_body(std::span<const std::byte> bytes,
                                                   std::uint8_t page);

// The numbers of the pages that there are (page 00), in the order in which they came.
Result<std::vector<std::uint8_t>> parse_supported_pages(std::span<const std::byte> bytes);

}  // namespace paravane::scsi
