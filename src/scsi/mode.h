// ModeParameters: whether a logical unit may be written, and whether it has a cache that loses
// writes when the power fails (SPC-4, MODE SENSE; SBC-3, the caching page 08).
//
// A logical unit may answer without the page: then nothing is said of its cache.
//
// Pure functions; any thread.

#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "base/result.h"

namespace paravane::scsi {

struct ModeParameters {
  bool is_write_protected = false;
  bool takes_force_unit_access = false;  // DPOFUA
  std::optional<bool> has_write_cache{};

  friend bool operator==(const ModeParameters&, const ModeParameters&) = default;
};

// Of MODE SENSE (6) and (10), for the caching page or for all. Refuse block descriptors and pages
// that reach beyond the data, and data that reach beyond `bytes`.
Result<ModeParameters> parse_mode6(std::span<const std::byte> bytes);
Result<ModeParameters> parse_mode10(std::span<const std::byte> bytes);

}  // namespace paravane::scsi
