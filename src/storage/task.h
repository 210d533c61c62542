// Task: a SCSI command for a logical unit at a target, and what became of it; TaskPath: one way to
// the target.
//
// Owner thread only.

#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "scsi/lun.h"
#include "scsi/request.h"
#include "scsi/sense.h"

namespace paravane::storage {

struct Task {
  scsi::Lun lun{};
  scsi::Request request{};
  // The place of its payload in the service's memory, if it has one. It stays taken until the task
  // is done.
  std::optional<std::uint32_t> payload{};
  std::uint32_t offset = 0;  // of its first byte there
};

struct TaskResult {
  enum class Kind : std::uint8_t {
    kGood,
    kSense,     // CHECK CONDITION: `sense` says why
    kBusy,      // BUSY or TASK SET FULL: later
    kConflict,  // RESERVATION CONFLICT
    kAborted,   // the target has ended it without an answer of its own
    kOther,     // another status, or a target that refuses the function
    kLost,      // the path ended before an answer came: the task may have been executed, or not
  };
  Kind kind = Kind::kGood;
  scsi::Sense sense{};
  std::uint32_t missing = 0;  // bytes of the payload that were not moved

  bool is_good() const { return kind == Kind::kGood; }
};

using TaskDone = std::function<void(const TaskResult&)>;

class TaskPath {
 public:
  virtual ~TaskPath() = default;
  // `done` is called once, never from within. REQUIRES: the path is up.
  virtual void execute(const Task& task, TaskDone done) = 0;
  // LOGICAL UNIT RESET: when it is good, no task that the unit had before can change it any more,
  // whichever path that came by.
  virtual void reset_unit(scsi::Lun lun, TaskDone done) = 0;
  virtual bool is_up() const = 0;
};

}  // namespace paravane::storage
