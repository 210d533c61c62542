// The acts of neighbour_frames_fuzz's input, each one byte and then what it takes.

#pragma once

#include <cstdint>

namespace paravane::fake {

enum class NeighbourAct : std::uint8_t {
  kFrame,  // how many bytes u8, and these
  kAsk,    // for an address: u8 what it begins with, u16 its last bytes
  kTime,   // milliseconds u16
  kWay,    // the way to the network is made anew: u8, even: there is none
  kCount
};

}  // namespace paravane::fake
