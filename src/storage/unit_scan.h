// UnitScan finds the logical units of a target, and what each one is: REPORT LUNS, then INQUIRY,
// identification, limits, capacity and mode of each disk.
//
// It sends one command at a time. A unit that answers oddly is not offered, for a reason that is
// kept; the others are. It ends once: with its result, or without one when the path is lost or
// REPORT LUNS fails.
//
// Owner thread only.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/instant.h"
#include "base/timers.h"
#include "host_verbs/service_memory.h"
#include "scsi/lun_list.h"
#include "storage/task.h"
#include "storage/unit_facts.h"

namespace paravane::storage {

class UnitScan {
 public:
  static constexpr unsigned kMostTries = 20;                          // of one command
  static constexpr Duration kPause = std::chrono::milliseconds(500);  // of a unit that is busy

  struct Outcome {
    std::vector<UnitFacts> units{};
    std::string problem{};  // why there is none
  };
  using Done = std::function<void(Outcome)>;
  // `done` is called when it has ended, and may destroy it. All outlive it. REQUIRES of the end of
  // one that has begun: `done` was called, or the path has ended. While a target may still write an
  // answer, the payload stays taken.
  UnitScan(TaskPath& path, host_verbs::ServiceMemory& memory, TimerQueue& timers, Done done);
  ~UnitScan();
  UnitScan(const UnitScan&) = delete;
  UnitScan& operator=(const UnitScan&) = delete;

  // Needs one payload of the service's memory. False: there is none now.
  bool begin(Instant now);

 private:
  enum class Step : std::uint8_t {
    kReportLuns,
    kInquiry,
    kIdentity,
    kSerial,
    kBlockLimits,
    kProvisioning,
    kCapacity16,
    kCapacity10,
    kMode,
  };
  void ask();
  void on_answer(const TaskResult& result);
  bool repeat(const TaskResult& result);
  void take(const TaskResult& result);
  void take_luns(std::span<const std::byte> bytes, bool is_good);
  Status take_unit(std::span<const std::byte> bytes, bool is_good);
  scsi::Request request() const;
  void next_unit();
  void go_on(const std::function<void()>& act);
  void end(std::string problem);

  TaskPath& path_;
  host_verbs::ServiceMemory& memory_;
  TimerQueue& timers_;
  Done done_;
  std::shared_ptr<UnitScan*> self_ = std::make_shared<UnitScan*>(this);
  std::optional<std::uint32_t> payload_;
  Instant now_{};
  Step step_ = Step::kReportLuns;
  unsigned tries_ = 0;
  TimerId timer_ = TimerId::kNone;
  std::vector<scsi::Lun> luns_;
  std::size_t at_ = 0;
  bool is_thin_ = false;
  std::uint32_t most_unmap_ = 0;
  bool has_unmap_ = false;
  std::vector<UnitFacts> units_;
};

}  // namespace paravane::storage
