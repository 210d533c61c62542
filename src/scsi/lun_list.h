// LunList: the logical units that a target has (SPC-4, REPORT LUNS).
//
// Taken are addresses of a single level (lun.h), of each number the first, and of them at most
// kMost. All others are counted: of several levels or well known ones, repeated ones, and those
// beyond kMost.
//
// Pure functions; any thread.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "scsi/lun.h"

namespace paravane::scsi {

struct LunList {
  static constexpr std::size_t kMost = 256;
  // An answer to ask for: more than kMost, so that some addresses of another kind may be among
  // them.
  static constexpr std::uint32_t kAnswerBytes = 8 + 8 * 1024;

  std::vector<Lun> luns{};   // in ascending order of their numbers
  std::uint32_t others = 0;  // that were not taken, as far as they have come
  bool is_cut = false;       // the target has more than came

  friend bool operator==(const LunList&, const LunList&) = default;
};

// Refuses a length that is no multiple of an address, or fewer bytes than a header.
Result<LunList> parse_lun_list(std::span<const std::byte> bytes);

}  // namespace paravane::scsi
