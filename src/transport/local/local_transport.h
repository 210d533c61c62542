// LocalTransport: between adapters of this host, by one copy from guest to
// guest.
//
// A request is judged by the peer's responder and copied at once, in slices of
// at most 256 KiB; a longer message goes on in later turns. There is no queue in
// between, so a receiver's memory is the only buffer, and an unposted receive is
// the sender's RNR.
//
// A peer counts as present only while its adapter is attached and its QP is
// connected back to ours (number and GID), in RTR or later; otherwise there is
// no answer and the sender's retry timer decides, as it would on a wire.
//
// Owner thread only: all adapters of one LocalTransport belong to one worker.

#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <unordered_map>
#include <vector>

#include "guestmem/extent.h"
#include "verbs/adapter.h"
#include "verbs/transport.h"

namespace paravane::transport_local {

class LocalTransport final : public verbs::Transport {
 public:
  LocalTransport();
  ~LocalTransport() override;

  // REQUIRES: an attached adapter is detached before it is destroyed.
  void attach(verbs::Adapter& adapter);
  void detach(verbs::Adapter& adapter);

  std::string_view name() const override { return "local"; }
  std::optional<verbs::Outcome> submit(verbs::QueuePair& qp, const verbs::Path& path,
                                       const verbs::SendRequest& request,
                                       verbs::Budget& budget) override;
  void cancel(verbs::QueuePair& qp) override;
  verbs::Outcome send_datagram(verbs::QueuePair& qp, const verbs::Path& path,
                               const verbs::DatagramSource& source,
                               const verbs::SendRequest& request) override;
  void poll(Instant now, verbs::Budget& budget) override;
  bool has_work() const override;

 private:
  struct Transfer;  // a message that did not end in its first slice
  std::vector<verbs::Adapter*> adapters_;  // by AdapterId
  std::vector<std::unique_ptr<Transfer>> transfers_;
  ExtentList from_;  // scratch, to avoid an allocation per message
  ExtentList to_;
};

}  // namespace paravane::transport_local
