// LostUplinks: the IPoIB uplinks of which a tap was lost or could not be used, until the host is
// told, which has the keeper open their taps again. The first loss is told at once. One that is
// lost again soon afterwards is told later, after 1 s to 64 s: what deletes a tap may go on to
// delete it, and what is lacking may go on to lack.
//
// The subnet's thread only.

#pragma once

#include <chrono>
#include <map>
#include <string>

#include "base/instant.h"

namespace paravane::subnet_host {

class LostUplinks {
 public:
  static constexpr Duration kFirstPause = std::chrono::seconds(1);
  static constexpr Duration kLastPause = std::chrono::seconds(64);
  // One whose taps stay for so long has its first loss before it again.
  static constexpr Duration kCalm = 2 * kLastPause;

  // Before it can be lost: from then on lost() takes no memory. Throws std::bad_alloc.
  void expect(const std::string& uplink) { losses_[uplink]; }
  // Throws std::bad_alloc, if it was not expected: it is not told then.
  void lost(const std::string& uplink, Instant now);
  // It is not wanted any more: what is not told yet is not told.
  void cancel(const std::string& uplink);
  // One that is to be told now; nullptr: there is no other.
  const std::string* take_due(Instant now);
  Instant next_deadline() const;

 private:
  struct Loss {
    Instant due = kNever;
    Instant told{};
    Duration pause{};  // before the next one is told; zero: it is told at once
  };
  std::map<std::string, Loss> losses_;  // as many as there are names of uplinks
};

}  // namespace paravane::subnet_host
