#include "subnet_host/waiting_taps.h"

#include <algorithm>

namespace paravane::subnet_host {

bool WaitingTaps::turn() {
  const Instant end = time_() + kTimePerTurn;
  std::size_t left = kFramesPerTurn;
  while (left > 0) {
    const Tap* tap = line_.call();
    if (tap == nullptr) return false;
    // The tap may be gone after this, its reader is not.
    Reader& reader = tap->reader;
    const std::uint16_t key = tap->key;
    const std::size_t most = std::min(left, kFramesAtOnce);
    const std::size_t frames = reader.read(key, most);
    left -= frames;
    if (frames == most) reader.wait_again(key);
    if (time_() >= end) break;
  }
  return !line_.empty();
}

}  // namespace paravane::subnet_host
