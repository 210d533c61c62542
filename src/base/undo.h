// Undo: rolls back an operation unless the steps after it succeed too, so that an early return or
// a failed allocation leaves nothing half done.

#pragma once

#include <utility>

namespace paravane {

template <typename Act>
class Undo {
 public:
  // `act` throws nothing.
  explicit Undo(Act act) : act_(std::move(act)) {}
  ~Undo() {
    if (!is_kept_) act_();
  }
  Undo(const Undo&) = delete;
  Undo& operator=(const Undo&) = delete;

  // All is done, and stays.
  void keep() { is_kept_ = true; }

 private:
  Act act_;
  bool is_kept_ = false;
};

}  // namespace paravane
