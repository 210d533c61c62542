// LostConfiguration notices that a guest goes on with a function that it has not configured,
// because its VMM has loaded a state of the guest that has no state of the function: an incoming
// migration or a snapshot. QEMU reports success for both, and the guest's addresses then lead
// nowhere.
//
// A VMM resets the function before it loads a state, as it does before a boot. After a boot,
// firmware gives the function addresses, within a quarter of a second of its first change of the
// memory map where that was measured. After a state was loaded, nothing does. So the configuration
// is lost if, since the reset, the VMM has mapped memory, no BAR was given an address, the map has
// rested for kPatience, and it is one that no reset leaves:
//
//   - there is RAM at 0xC0000 to 0xFFFFF, where a reset has ROM, or
//   - another device's memory is mapped, which has an address only after firmware ran, or
//   - there is no RAM at 0, because an IOMMU of the guest translates.
//
// A machine that waits for its start (QEMU's -S), or that is reset while it is paused, has no such
// map or no such change. What cannot be noticed is a state of a guest whose firmware leaves the map
// as it was (UEFI) if no other device has memory. An adapter that is added to a running guest is
// accused only if memory is mapped while the guest hesitates, and a VM that is paused within its
// firmware for as long as that lasts.
//
// Reads do not count, since programs in the guest look at any function, and a write of COMMAND
// does not, since the guest's driver enables a function whose addresses it believes to be there.
//
// Owner thread only.

#pragma once

#include <chrono>
#include <cstdint>

#include "base/instant.h"
#include "base/timers.h"
#include "guestmem/guest_memory.h"
#include "state/reader.h"
#include "state/writer.h"
#include "vfio_user/config_space.h"
#include "vfio_user/protocol.h"

namespace paravane::vfio_user {

class LostConfiguration {
 public:
  static constexpr Duration kPatience = std::chrono::seconds(3);

  // All must outlive it.
  LostConfiguration(const ConfigSpace& config, const GuestMemory& memory, TimerQueue& timers)
      : config_(config), memory_(memory), timers_(timers) {}
  ~LostConfiguration() { forget(); }
  LostConfiguration(const LostConfiguration&) = delete;
  LostConfiguration& operator=(const LostConfiguration&) = delete;

  // The VMM's command was done. `memory_is_private`: RAM has no file, so the map says nothing.
  void look(Command command, bool memory_is_private, Instant now);
  // The VMM has gone.
  void forget();

  bool lost() const { return stage_ == Stage::kLost; }

  // None until the function was reset, and after it was configured.
  void save(state::Writer& out, state::Tag tag) const;
  // Without a record, which older releases do not write, nothing is expected until the next reset.
  void load(state::Reader& in, state::Tag tag, bool memory_is_private, Instant now);

 private:
  enum class Stage : std::uint8_t {
    kSettled,  // configured, or never reset
    kReset,    // and not configured since
    kMapped,   // the VMM has mapped memory since; the timer runs
    kLost,
  };

  void wait_until(Instant due);
  void judge(Instant now);
  bool map_is_of_a_reset() const;

  const ConfigSpace& config_;
  const GuestMemory& memory_;
  TimerQueue& timers_;
  Stage stage_ = Stage::kSettled;
  bool memory_is_private_ = false;
  Instant mapped_at_{};  // the last time
  TimerId timer_ = TimerId::kNone;
};

}  // namespace paravane::vfio_user
