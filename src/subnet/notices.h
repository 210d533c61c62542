// Notices: the traps that a node sends to the subnet manager, each sent again until the manager
// represses it (IBTA volume 1, 13.4.9 and 14.3). The times between grow, so that a subnet without a
// manager is not busy with them.
//
// Bounded: a notice that is told anew replaces the older of its kind and details, and is sent no
// sooner than a pause after that; when there are too many, the oldest is forgotten. Those of
// security, which strangers cause with their packets, have a rate together, and are forgotten
// before others. No clock; the subnet's thread only.

#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/instant.h"
#include "subnet/mad_address.h"
#include "subnet/notices_image.h"
#include "wire/infiniband/subnet_management.h"

namespace paravane::subnet {

// A generic notice of a node, without its details.
wire::infiniband::Notice notice_of(std::uint16_t trap, wire::infiniband::NoticeType type,
                                   wire::infiniband::NodeType node);
// With details: one of the structs that subnet_management.h has for traps.
template <typename Details>
wire::infiniband::Notice notice_of(std::uint16_t trap, wire::infiniband::NoticeType type,
                                   wire::infiniband::NodeType node, const Details& details) {
  wire::infiniband::Notice notice = notice_of(trap, type, node);
  static_assert(sizeof details <= sizeof notice.details);
  std::memcpy(notice.details.data(), &details, sizeof details);
  return notice;
}
// Trap 256: a request came from this LID with a wrong management key.
wire::infiniband::Notice bad_management_key(wire::infiniband::NodeType node, const MadAddress& from,
                                            const wire::infiniband::SubnetManagementPacket& smp);

class Notices {
 public:
  static constexpr std::size_t kMost = NoticesImage::kMost;
  static constexpr Duration kFirstPause = std::chrono::milliseconds(500);
  static constexpr Duration kLongestPause = std::chrono::seconds(16);
  static constexpr Duration kSecurityPause = std::chrono::milliseconds(100);  // of all of them

  // All memory for later: news come when a program goes, too.
  Notices() { waiting_.reserve(kMost); }

  void tell(const wire::infiniband::Notice& notice, Instant now);
  // The manager has heard the trap with this transaction.
  void repress(std::uint64_t transaction);
  // A new manager, or a new LID: what waits is told at once.
  void tell_again(Instant now);

  struct Due {
    std::uint64_t transaction = 0;
    wire::infiniband::Notice notice;
  };
  // What is due, each once; the next time of each is set.
  std::vector<Due> take_due(Instant now);
  // The trap of what is due, from a node that has this LID now: when the notice was told it may
  // have had none. It has no management key (o14-1).
  static wire::infiniband::SubnetManagementPacket trap_of(const Due& due, Be16 lid);
  // kNever: nothing waits.
  Instant next_deadline() const;
  bool empty() const { return waiting_.empty(); }

  // ---- From one engine to the next ----
  NoticesImage image() const;
  // In the place of what waits; each is told at once, with the transaction that it had.
  void adopt(const NoticesImage& image, Instant now);

 private:
  struct Waiting {
    Due due;
    Instant at;
    Duration pause{};
    Instant sent = Instant::min();  // the last time
  };
  std::vector<Waiting> waiting_;
  std::uint32_t next_transaction_ = 1;
  Instant next_security_ = Instant::min();
};

}  // namespace paravane::subnet
