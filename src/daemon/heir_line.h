// HeirLine is the part of an engine that replaces another one: what it says to the keeper, and what
// it waits for, before it may serve guests (keeper/succession.h has the order).
//
// Control thread only. Calls block until the keeper ends this process, or has decided.

#pragma once

#include <string>
#include <utility>

#include "base/result.h"
#include "base/unique_fd.h"
#include "daemon/gap.h"
#include "host/inheritance.h"
#include "privsep/process_link.h"

namespace paravane::daemon {

class HeirLine {
 public:
  // `keeper` outlives us. `estate`: this side of the estate line.
  HeirLine(const privsep::ProcessLink& keeper, UniqueFd estate)
      : keeper_(keeper), estate_(std::move(estate)) {}

  // Says that this engine is ready, and waits for what the other one leaves. Errors: as
  // EstateLine::receive() and sort_estate().
  Result<host::Inheritance> receive();

  // Says that this engine has everything, and waits until it may serve. Returns the version of the
  // engine that was replaced. Errors: kIo (the keeper has ended).
  Result<std::string> await_go();

  // What is known of it after await_go(): all but its two ends.
  const Gap& gap() const { return gap_; }

 private:
  const privsep::ProcessLink& keeper_;
  UniqueFd estate_;
  Gap gap_;
};

// Tells the keeper why this process cannot be an heir, and ends it at once: nothing of the other
// engine's may be closed in an orderly way.
[[noreturn]] void refuse_to_take_over(const privsep::ProcessLink& keeper, const std::string& cause);

}  // namespace paravane::daemon
