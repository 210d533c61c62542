// FastDatagrams carries the simple datagrams of a queue pair directly to a queue pair in this host:
// one piece of memory on either side, no observer, no impairment. Most datagrams are like that.
//
// As FastPath for connections (fast_path.h), it never refuses a request, it only declines: a
// datagram that is not simple, that something is wrong with, or that its recipient does not take is
// left as it was, and the transport carries or drops it. The checks and their order are those of
// the transport's path, because both use the same functions: the sender's GID, the path, the
// sender's memory, the recipient's state and Q_Key, its receive with room for the header, and the
// memory of that receive. Only a copy that fails (SIGBUS) ends a request here, with the outcome
// that the transport gives.
//
// It exists while one queue pair executes its requests in one turn, so what leads to the recipient
// of one datagram leads to that of the next: the fabric, the GIDs, the observers and the queue
// pairs of the host change between turns only. The state of the recipient is looked at for each
// datagram. Owner thread only.

#pragma once

#include <cstdint>
#include <optional>

#include "verbs/hidden_completions.h"
#include "verbs/queue_pair.h"
#include "verbs/region_view.h"
#include "verbs/transport.h"
#include "verbs/work_request.h"

namespace paravane::verbs {

class FastDatagrams {
 public:
  // REQUIRES: `qp` is a queue pair for datagrams.
  explicit FastDatagrams(QueuePair& qp);
  // Counts what was carried, and shows it to the last recipient.
  ~FastDatagrams() { leave(); }
  FastDatagrams(const FastDatagrams&) = delete;
  FastDatagrams& operator=(const FastDatagrams&) = delete;

  // Whether datagrams may be carried at all.
  bool is_open() const { return is_open_; }
  // Delivers the datagram. nullopt: it is left to the transport. REQUIRES: is_open().
  std::optional<Outcome> carry(const SendRequest& request);

 private:
  // Sets recipient_, transport_ and source_ to those of the request. False: there is no recipient.
  bool find_recipient(const SendRequest& request);
  void leave();

  QueuePair& qp_;
  const bool is_open_;
  QueuePair* recipient_ = nullptr;  // of the last datagram; null: there is none
  Transport* transport_ = nullptr;  // to the recipient
  DatagramSource source_;           // of the last datagram
  std::uint8_t sgid_index_ = 0;     // likewise
  std::uint64_t carried_ = 0;       // to the recipient
  RegionView ours_;
  RegionView receives_;       // of the recipient
  HiddenCompletions hidden_;  // of the recipient's receives
};

}  // namespace paravane::verbs
