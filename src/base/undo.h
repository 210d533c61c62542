// Undo: takes back what was begun, unless what comes after it is done as well: an early return or
// a failed allocation leaves nothing half made.

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
