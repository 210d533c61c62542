// What a wire does to frames, and which of them. The fate of the Nth frame of a
// direction follows from the seed alone, whenever it comes and however long it is, so
// that a run can be repeated.

#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace paravane::lab {

using Duration = std::chrono::nanoseconds;

struct Impairment {
  double loss = 0;              // 0 to 1: of frames that vanish
  double duplicate = 0;         // that come twice
  double reorder = 0;           // that come late, by up to reorder_by
  double damage = 0;            // in which one bit is another
  std::size_t damage_from = 0;  // of its bytes, the first that may be hit
  Duration reorder_by = std::chrono::milliseconds(2);
  Duration delay{};
  std::uint64_t rate = 0;     // bits per second; 0: as fast as it goes
  std::size_t queue = 10000;  // frames that wait, of a direction; more are dropped
};

struct Fate {
  bool lost = false;
  bool twice = false;
  Duration late{};  // beyond the delay; 0: in its turn
  // The bit that is inverted: 0 is the first that may be hit, 1 lies behind the frame's last.
  std::optional<double> damaged_at;
};

// `direction`: 0 or 1. `number`: of the frame in it.
Fate fate_of(const Impairment& impairment, std::uint64_t seed, unsigned direction,
             std::uint64_t number);

// Sets one property as an operator writes it: ("loss", "1%"), ("delay", "20ms"), ("rate",
// "100mbit"). What is wrong with it; nullopt: it is set.
std::optional<std::string> set_impairment(std::string_view name, std::string_view value,
                                          Impairment& impairment);

}  // namespace paravane::lab
