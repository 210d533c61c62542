// FastPath carries the simple requests of a connection directly to a peer in this host: one piece
// of memory on either side, no observer, no impairment. Most requests are like that.
//
// It never refuses a request, it only declines. A request that is not simple, or that something is
// wrong with, is left as it was, and the transport carries it or refuses it. The checks of a
// request are the same on both paths, because both use the tables of memory regions and the
// functions of the responder. Only a copy that fails (SIGBUS) ends a request here, with the outcome
// that the transport gives.
//
// A FastPath exists while one queue pair executes its requests in one turn, so the state of both
// queue pairs changes only by what the requests themselves cause. Owner thread only.

#pragma once

#include <cstdint>
#include <optional>

#include "guestmem/extent.h"
#include "verbs/hidden_completions.h"
#include "verbs/queue_pair.h"
#include "verbs/region_view.h"
#include "verbs/work_request.h"

namespace paravane::verbs {

class FastPath {
 public:
  explicit FastPath(QueuePair& qp);
  // Counts what was carried.
  ~FastPath();
  FastPath(const FastPath&) = delete;
  FastPath& operator=(const FastPath&) = delete;

  // Whether there is a peer to which requests can be carried.
  bool is_open() const { return peer_ != nullptr; }
  // Executes the request at the peer. nullopt: it is left to the transport. REQUIRES: is_open().
  std::optional<Outcome> carry(const SendRequest& request);

 private:
  std::optional<Outcome> send(const SendRequest& request, std::uint64_t length);
  // A write or a read.
  std::optional<Outcome> copy(const SendRequest& request, std::uint64_t length);
  std::optional<Outcome> change_word(const SendRequest& request, std::uint64_t length);
  // The memory of this side.
  std::optional<Extent> local(const SendRequest& request, std::uint64_t length, AccessMask need);
  // The memory of the peer that the request names.
  std::optional<Extent> remote(const SendRequest& request, std::uint64_t length, AccessMask need);

  QueuePair& qp_;
  QueuePair* peer_ = nullptr;
  Transport* transport_ = nullptr;
  bool may_fetch_ = false;  // whether requests may bring bytes back
  AccessMask rights_ = 0;   // of requests at the peer
  std::uint64_t messages_ = 0;
  std::uint64_t bytes_ = 0;
  std::uint64_t writes_ = 0;  // of the messages
  std::uint64_t write_bytes_ = 0;
  RegionView ours_;
  RegionView theirs_;         // what requests name
  RegionView receives_;       // where sends go
  HiddenCompletions hidden_;  // of the peer's receives
};

// A copy between the two failed (SIGBUS). Finds out whose memory it was, fails the peer if it was
// the peer's, and returns the outcome of the request.
Outcome blame(QueuePair& qp, QueuePair& peer);

}  // namespace paravane::verbs
