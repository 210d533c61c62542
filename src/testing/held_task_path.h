// HeldTaskPath: a TaskPath that holds its tasks until the test answers them. As a login, it gives
// all back as lost when it ends.
//
// Owner thread only.

#pragma once

#include <cstddef>
#include <deque>
#include <utility>

#include "storage/task.h"

namespace paravane::fake {

class HeldTaskPath final : public storage::TaskPath {
 public:
  struct Held {
    storage::Task task{};
    storage::TaskDone done{};
    bool is_reset = false;

    std::byte operation() const { return task.request.cdb[0]; }
  };

  void execute(const storage::Task& task, storage::TaskDone done) override {
    held.push_back({.task = task, .done = std::move(done)});
    ++executed;
  }
  void reset_unit(scsi::Lun lun, storage::TaskDone done) override {
    held.push_back({.task = {.lun = lun}, .done = std::move(done), .is_reset = true});
    ++resets;
  }
  bool is_up() const override { return up; }

  // REQUIRES: there are more than `number`.
  void answer(const storage::TaskResult& result = {}, std::size_t number = 0) {
    const Held one = std::move(held.at(number));
    held.erase(held.begin() + static_cast<std::ptrdiff_t>(number));
    one.done(result);
  }
  void answer_all(const storage::TaskResult& result = {}) {
    for (std::size_t left = held.size(); left > 0; --left) answer(result);
  }
  void end() {
    up = false;
    answer_all({.kind = storage::TaskResult::Kind::kLost});
  }

  std::deque<Held> held{};
  unsigned executed = 0;
  unsigned resets = 0;
  bool up = true;
};

inline storage::TaskResult sense_result(scsi::SenseKey key, std::uint8_t asc = 0,
                                        std::uint8_t ascq = 0) {
  return {.kind = storage::TaskResult::Kind::kSense,
          .sense = {.key = key, .asc = asc, .ascq = ascq}};
}

}  // namespace paravane::fake
