// The acts of doorbell_fuzz, for it and its seeds.

#pragma once

#include <cstdint>

namespace paravane::fake {

enum class DoorbellAct : std::uint8_t {
  kStore,    // page, offset, word
  kMessage,  // offset, word, size
  kProduce,  // process, completions
  kTime,     // microseconds
  kPoll,     // process, arm?
  kOpen,     // a process starts
  kKill,     // one dies
  kCount,
};

}  // namespace paravane::fake
