// Undo: calls a function when it goes out of scope, unless keep() was called first. It rolls back
// the first step of an operation if a later step returns early or fails to allocate memory.

#pragma once

#include <utility>

namespace paravane {

template <typename Act>
class Undo {
 public:
  // `act` must not throw.
  explicit Undo(Act act) : act_(std::move(act)) {}
  ~Undo() {
    if (!is_kept_) act_();
  }
  Undo(const Undo&) = delete;
  Undo& operator=(const Undo&) = delete;

  // The operation is complete, and nothing will be rolled back.
  void keep() { is_kept_ = true; }

 private:
  Act act_;
  bool is_kept_ = false;
};

}  // namespace paravane
