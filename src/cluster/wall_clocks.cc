#include "cluster/wall_clocks.h"

#include <fmt/chrono.h>

#include <algorithm>

#include "authority/door_message.h"

namespace paravane::cluster {

using authority::Seconds;

bool are_apart(Seconds one, Seconds other) {
  return std::chrono::abs(one - other) > kClocksApart;
}

std::string print_time(Seconds time) {
  const Seconds last{std::chrono::seconds(authority::kMaxDoorClock)};
  return fmt::format("{:%F %T} UTC", std::clamp(time, Seconds{}, last));
}

}  // namespace paravane::cluster
