// GidReporter calls a function when the GIDs of this host's adapters have changed. It does so at
// most ten times a second, even if guests change their GIDs more often.
//
// Worker thread only.

#pragma once

#include <chrono>
#include <functional>
#include <utility>

#include "fabric/directory.h"
#include "worker/tenant.h"

namespace paravane::worker {

class GidReporter final : public Tenant {
 public:
  explicit GidReporter(const fabric::Directory& directory, std::function<void()> changed)
      : directory_(directory), changed_(std::move(changed)) {}

  bool has_work() const override { return false; }
  Instant next_look() override { return directory_.epoch() == told_ ? kNever : next_; }
  bool turn(Instant now, verbs::Budget& /*budget*/) override {
    if (directory_.epoch() == told_ || now < next_) return false;
    told_ = directory_.epoch();
    next_ = now + kInterval;
    changed_();
    return true;
  }

 private:
  static constexpr Duration kInterval = std::chrono::milliseconds(100);

  const fabric::Directory& directory_;
  std::function<void()> changed_;
  std::uint64_t told_ = 0;
  Instant next_{};
};

}  // namespace paravane::worker
