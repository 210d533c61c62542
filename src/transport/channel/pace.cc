#include "transport/channel/pace.h"

#include <algorithm>

namespace paravane::transport_channel {
namespace {

// A socket takes much at once and then nothing for a while: what is measured begins and
// ends with its taking something.
constexpr Duration kStretch = 2 * Pace::kPieceTime;

}  // namespace

void Pace::on_moved(std::uint64_t bytes, Instant now) {
  const Duration passed = now - since_;
  if (passed >= kStretch) {
    // A socket that took all that there was could take more.
    const std::uint64_t fitting = was_blocked_
                                      ? bytes_ * static_cast<std::uint64_t>(kPieceTime.count()) /
                                            static_cast<std::uint64_t>(passed.count())
                                      : 2 * piece_bytes_;
    piece_bytes_ = std::clamp(fitting, kLeast, kMost);
    begin(now);
  }
  bytes_ += bytes;
}

}  // namespace paravane::transport_channel
