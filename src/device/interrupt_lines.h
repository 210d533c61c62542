// InterruptLines: the three interrupt vectors of the device, with the cause register (ICR) and the
// mask register (IMR) that control them. A vector that is raised while it is masked is signaled
// when it is unmasked.
//
// Owner thread only. Source: docs/device-spec.md, section 2.

#pragma once

#include <cstdint>

#include "abi/registers.h"
#include "state/reader.h"
#include "state/writer.h"
#include "vfio_user/interrupts.h"

namespace paravane::device {

class InterruptLines {
 public:
  explicit InterruptLines(vfio_user::Interrupts& interrupts) : interrupts_(interrupts) {}

  void raise(abi::InterruptVector vector) {
    causes_ |= bit(vector);
    if ((mask_ & bit(vector)) != 0) {
      held_ |= bit(vector);
    } else {
      interrupts_.signal(vector);
    }
  }

  // Discards an interrupt that was raised while the vector was masked.
  void forget(abi::InterruptVector vector) { held_ &= ~bit(vector); }

  std::uint32_t take_causes() {
    const std::uint32_t causes = causes_;
    causes_ = 0;
    return causes;
  }

  std::uint32_t mask() const { return mask_; }
  void set_mask(std::uint32_t mask) {
    mask_ = mask;
    for (std::uint16_t vector = 0; vector < abi::kInterruptVectors; ++vector) {
      const std::uint32_t one = 1u << vector;
      if ((held_ & one) == 0 || (mask_ & one) != 0) continue;
      held_ &= ~one;
      interrupts_.signal(vector);
    }
  }

  void reset() {
    mask_ = kAllMasked;
    causes_ = 0;
    held_ = 0;
    interrupts_.clear_pending();
  }

  // (docs/state.md) What Interrupts keeps saves itself.
  void save(state::Writer& out) const;
  void load(state::Reader& in);

 private:
  static constexpr std::uint32_t kAllMasked = 0xFFFF'FFFF;
  static constexpr std::uint32_t bit(abi::InterruptVector vector) { return 1u << vector; }

  vfio_user::Interrupts& interrupts_;
  std::uint32_t mask_ = kAllMasked;
  std::uint32_t causes_ = 0;
  std::uint32_t held_ = 0;
};

}  // namespace paravane::device
