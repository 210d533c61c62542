// What a script of port_state_fuzz begins with. What it does then: state_changes.h.

#pragma once

#include <cstdint>

namespace paravane::fake {

// The adapter when it was saved.
enum class PortScene : std::uint8_t {
  kRest,      // objects of all kinds
  kBusy,      // the same, in the middle of requests
  kNative,    // connected with a native endpoint, that has not answered
  kNoDriver,  // a VMM alone
  kNoVmm,
  kKept,  // as the holder has it, of an engine that was killed
  kCount
};

// Bits: what happens to the adapter after it was adopted.
enum PortLife : std::uint8_t {
  kLeaves = 1,     // it is removed; else another engine takes it over
  kSpeaks = 2,     // its VMM sends requests
  kHangsUp = 4,    // its VMM goes
  kHasDoor = 8,    // a RoCE port is opened for it
  kIsCutOff = 16,  // its VMM is not served any more
};

}  // namespace paravane::fake
