#include "vfio_user/interrupts.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace paravane::vfio_user {

Interrupts::Interrupts(std::uint16_t vectors) : vectors_(vectors) {}

void Interrupts::signal(std::uint16_t vector) {
  assert(vector < vectors_.size());
  Vector& v = vectors_[vector];
  ++v.signalled;
  v.pending = true;
  deliver(v);
}

void Interrupts::attach(std::uint16_t vector, UniqueFd eventfd) {
  assert(vector < vectors_.size());
  vectors_[vector].eventfd = std::move(eventfd);
  deliver(vectors_[vector]);
}

void Interrupts::detach(std::uint16_t vector) {
  assert(vector < vectors_.size());
  vectors_[vector].eventfd.reset();
}

void Interrupts::detach_all() {
  for (Vector& v : vectors_) v.eventfd.reset();
}

void Interrupts::set_enabled(bool enabled) {
  enabled_ = enabled;
  if (!enabled) return;
  for (Vector& v : vectors_) deliver(v);
}

bool Interrupts::has_eventfds() const {
  return std::ranges::any_of(vectors_,
                             [](const Vector& v) { return static_cast<bool>(v.eventfd); });
}

void Interrupts::clear_pending() {
  for (Vector& v : vectors_) v.pending = false;
}

void Interrupts::deliver(Vector& vector) {
  if (!vector.pending || !enabled_ || !vector.eventfd) return;
  vector.pending = false;
  if (signal_ != nullptr) {
    signal_->raise(vector.eventfd.get());
  } else {
    raise_by_write(vector.eventfd.get());
  }
}

}  // namespace paravane::vfio_user
