// Interrupts: the MSI-X vectors of one function, as the VMM has connected them.
//
// Signalling writes to the vector's eventfd. A vector that fires while no eventfd is attached, or
// while bus mastering is off, is latched and fires when that ends: no interrupt is lost. Replacing
// an eventfd never races with a signal, since both happen on the owner thread. Signalling never
// blocks.

#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/event_signal.h"
#include "base/unique_fd.h"

namespace paravane::vfio_user {

class Interrupts {
 public:
  explicit Interrupts(std::uint16_t vectors);

  // REQUIRES: vector < vectors().
  void signal(std::uint16_t vector);

  std::uint16_t vectors() const { return static_cast<std::uint16_t>(vectors_.size()); }
  std::uint64_t signalled(std::uint16_t vector) const { return vectors_[vector].signalled; }

  // ---- For the server ----
  // Borrowed; the worker's. Null: a plain write, which a hostile VMM could block.
  void signal_through(EventSignal* signal) { signal_ = signal; }
  void attach(std::uint16_t vector, UniqueFd eventfd);
  void detach(std::uint16_t vector);
  void detach_all();
  // Bus mastering gates MSI: messages are DMA writes.
  void set_enabled(bool enabled);
  // Reset: forgets what is latched, keeps eventfds.
  void clear_pending();

 private:
  struct Vector {
    UniqueFd eventfd;
    bool pending = false;
    std::uint64_t signalled = 0;
  };
  void deliver(Vector& vector);

  EventSignal* signal_ = nullptr;
  std::vector<Vector> vectors_;
  bool enabled_ = false;
};

}  // namespace paravane::vfio_user
