// The acts of command_fuzz, for it and its seeds.

#pragma once

#include <cstdint>

namespace paravane::fake {

enum class CommandAct : std::uint8_t {
  kBent,       // which, count, then per word: place, kind, value
  kRaw,        // opcode, 43 words
  kControl,    // CTL value
  kRegion,     // place, value: the shared region is bent and announced
  kRegister,   // offset, size, value
  kTime,       // microseconds
  kBusMaster,  // on or off
  kCount,
};

}  // namespace paravane::fake
