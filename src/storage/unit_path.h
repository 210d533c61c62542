// UnitPath: one way to a device, which is a logical unit at a target of a vmhba.
//
// Owner thread only.

#pragma once

#include <cstdint>
#include <string>

#include "scsi/lun.h"
#include "storage/task.h"

namespace paravane::storage {

struct UnitPath {
  std::string name{};  // "vmhba32:C0:T0:L0"
  // Of the vmhba, the target, the logical unit: paths are in their order.
  struct Place {
    std::uint32_t vmhba = 0;
    std::uint32_t target = 0;
    std::uint32_t lun = 0;
    friend auto operator<=>(const Place&, const Place&) = default;
  } place{};
  scsi::Lun lun{};
  TaskPath* tasks = nullptr;    // null: the path is dead
  std::string problem{};        // why it is dead
  bool has_other_size = false;  // than the device has for its user: why it is dead
};

}  // namespace paravane::storage
