// What a scan has found of a logical unit (SPC-4, SBC-3). A plain value; any thread.

#pragma once

#include <cstdint>
#include <string>

#include "scsi/lun.h"

namespace paravane::storage {

struct UnitFacts {
  scsi::Lun lun{};
  std::uint32_t number = 0;
  std::string name{};  // "naa.6001405...", by which it is the same device on every path
  std::string vendor{};
  std::string product{};
  std::string revision{};
  std::uint64_t blocks = 0;
  std::uint32_t block_bytes = 0;
  std::uint32_t most_transfer_blocks = 0;  // of one command; 0: the target names no limit
  std::uint32_t most_unmap_blocks = 0;     // of one command; 0: it cannot unmap
  bool has_write_cache = false;
  bool is_read_only = false;
  // Why it is not offered as a device, in words; empty: it is.
  std::string problem{};

  friend bool operator==(const UnitFacts&, const UnitFacts&) = default;
};

}  // namespace paravane::storage
