// HeirLine is the part of an engine that replaces another one: what it says to the keeper, and what
// it waits for, before it may serve guests (keeper/succession.h has the order).
//
// Control thread only. Calls block until the keeper ends this process, or has decided.

#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"
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

  // The engine that was replaced.
  struct Predecessor {
    std::string version;
    std::uint64_t gap_ms = 0;  // since it stopped serving
  };
  // Says that this engine has everything, and waits until it may serve. Errors: kIo (the keeper has
  // ended).
  Result<Predecessor> await_go();

 private:
  const privsep::ProcessLink& keeper_;
  UniqueFd estate_;
};

// Tells the keeper why this process cannot be an heir, and ends it at once: nothing of the other
// engine's may be closed in an orderly way.
[[noreturn]] void refuse_to_take_over(const privsep::ProcessLink& keeper, const std::string& cause);

}  // namespace paravane::daemon
