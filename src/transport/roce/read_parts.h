// ReadParts says how much of a READ is asked for at once, in packets of its answer.
//
// A peer sends all of an answer that it has begun, so what is lost of it costs all that follows. A
// whole READ is asked for until something is lost. Then as much as came without a loss before, and
// twice as much with each part that comes whole: a wire that loses a share of all packets costs
// less than half as many again, whatever the share, and one that loses nothing more has whole READs
// soon.
//
// Owner thread only.

#pragma once

#include <algorithm>
#include <cstdint>

namespace paravane::transport_roce {

class ReadParts {
 public:
  static constexpr std::uint32_t kLeast = 4;
  static constexpr std::uint32_t kMost = 1u << 23;  // a READ of 2 GiB in packets of 256 bytes

  std::uint32_t packets() const { return std::max(part_, run_); }

  // One more packet of a READ's data came in its order.
  void on_data() { run_ = std::min(run_ + 1, kMost); }
  // What was asked for last did not come.
  void on_loss() {
    part_ = std::clamp(run_, kLeast, std::max(kLeast, packets() / 2));
    run_ = 0;
  }

 private:
  std::uint32_t part_ = kMost;
  std::uint32_t run_ = 0;  // packets that came since something was lost
};

}  // namespace paravane::transport_roce
