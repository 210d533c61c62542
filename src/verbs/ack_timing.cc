#include "verbs/ack_timing.h"

#include <array>

namespace paravane::verbs {
namespace {

constexpr std::uint8_t kFieldMask = 31;

// In microseconds.
constexpr std::array<std::uint32_t, 32> kRnrMicroseconds = {
    655360, 10,    20,    30,    40,    60,     80,     120,    160,    240,   320,
    480,    640,   960,   1280,  1920,  2560,   3840,   5120,   7680,   10240, 15360,
    20480,  30720, 40960, 61440, 81920, 122880, 163840, 245760, 327680, 491520};

}  // namespace

Duration rnr_wait(std::uint8_t encoded) {
  return std::chrono::microseconds(kRnrMicroseconds[encoded & kFieldMask]);
}

Duration ack_timeout(std::uint8_t encoded) {
  const unsigned exponent = encoded & kFieldMask;
  if (exponent == 0) return Duration::zero();
  return Duration(std::int64_t{4096} << exponent);
}

}  // namespace paravane::verbs
