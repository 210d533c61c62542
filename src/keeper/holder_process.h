// HolderProcess is the keeper's side of the holder (holder/holder.h): a child that holds what must
// not end with the engine.
//
// One thread. Calls do not block.

#pragma once

#include <sys/types.h>

#include <array>
#include <functional>
#include <optional>
#include <utility>

#include "base/result.h"
#include "base/unique_fd.h"

namespace paravane::keeper {

class HolderProcess {
 public:
  // `body` runs in the child, with its line to the keeper, and returns the exit status. REQUIRES:
  // this process has one thread. Errors: kIo.
  using Body = std::function<int(UniqueFd keeper)>;
  static Result<HolderProcess> start(const Body& body);

  // One that the program before this one in this process has started.
  HolderProcess(pid_t pid, UniqueFd line) : pid_(pid), line_(std::move(line)) {}

  pid_t pid() const { return pid_; }
  int line() const { return line_.get(); }  // stays ours

  // A line over which an engine puts parcels; its side. The holder hears it in place of the one
  // before it. Errors: kIo.
  Result<UniqueFd> new_engine();
  // The two steps of it, for an engine that is not to be heard yet: the engine's side first.
  static Result<std::array<UniqueFd, 2>> make_engine_line();
  // False: the holder has ended.
  bool hear_engine(const UniqueFd& holders_side) const;
  // Has it give everything over this side of an estate line.
  bool give(const UniqueFd& estate) const;

  // In another child: the line is not its own.
  void close() { line_.reset(); }

 private:
  pid_t pid_;
  UniqueFd line_;
};

// What is kept of the engine. Without a holder, an engine that is killed leaves nothing.
struct Holding {
  std::optional<HolderProcess> holder{};
  std::function<Result<HolderProcess>()> start_another{};
};

}  // namespace paravane::keeper
