// Interrupts holds the MSI-X vectors of one function, each with the eventfd that the VMM has
// attached to it. Signalling a vector writes to its eventfd and never blocks.
//
// If a vector is signalled while it has no eventfd, or while bus mastering is off, the signal is
// kept and delivered later, so no interrupt is lost. Replacing an eventfd cannot race with a
// signal, because both happen on the owner thread.
//
// Owner thread only.

#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/event_signal.h"
#include "base/unique_fd.h"
#include "state/descriptors.h"
#include "state/reader.h"
#include "state/writer.h"

namespace paravane::vfio_user {

class Interrupts {
 public:
  explicit Interrupts(std::uint16_t vectors);

  // REQUIRES: vector < vectors().
  void signal(std::uint16_t vector);

  std::uint16_t vectors() const { return static_cast<std::uint16_t>(vectors_.size()); }
  std::uint64_t signalled(std::uint16_t vector) const { return vectors_[vector].signalled; }

  // ---- For the server ---- Sets the worker's object for writing to eventfds, which is not owned.
  // Null: a plain write, which a hostile VMM could block.
  void signal_through(EventSignal* signal) { signal_ = signal; }
  void attach(std::uint16_t vector, UniqueFd eventfd);
  void detach(std::uint16_t vector);
  void detach_all();
  // Follows the Bus Master Enable bit, because MSI messages are DMA writes.
  void set_enabled(bool enabled);
  bool enabled() const { return enabled_; }
  bool has_eventfds() const;
  // For a reset: discards pending signals but keeps the eventfds.
  void clear_pending();

  // ---- Into another process ----
  // The eventfds with the signals that wait, and whether bus mastering is on.
  void save(state::Writer& out, state::Descriptors& descriptors) const;
  // Signals nothing. What is not an eventfd refuses the state; no eventfd is attached then.
  // REQUIRES: none was attached.
  void load(state::Reader& in, state::Descriptors& descriptors);

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
