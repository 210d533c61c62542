// Holder is a process of the daemon that holds descriptors, so that they stay open when the engine
// is killed: the sockets of VMMs, the files of guests' memory, eventfds. It understands nothing of
// what it holds, and has no rights. The engine puts parcels into its hands all the time; the keeper
// has it give them all to the next engine.
//
// The keeper says which engine it is to hear, and when it is to give (privsep/holder_word.h). The
// line of the engine before is closed.
//
// The engine is not trusted. What it sends is bounded, and a packet of any other form ends its
// line.
//
// One thread.

#pragma once

#include <optional>

#include "base/unique_fd.h"
#include "holder/shelf.h"
#include "privsep/parcel.h"

namespace paravane::holder {

class Holder {
 public:
  explicit Holder(UniqueFd keeper) : keeper_(std::move(keeper)) {}

  // Returns when the keeper has ended.
  void run();

  // One message of the keeper; false: it has ended. Does not block without one, except while
  // everything is given.
  bool hear_keeper();
  // What the engine has put so far.
  void hear_engine();
  const Shelf& shelf() const { return shelf_; }

 private:
  void give(UniqueFd line);

  UniqueFd keeper_;
  std::optional<privsep::ParcelLine> engine_;
  Shelf shelf_;
};

}  // namespace paravane::holder
