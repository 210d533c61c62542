// Impairments holds an entry for each impairment (a set of faults that an operator injects) on this
// host. An entry contains the impairment and the transports that inject its faults. Impairments
// also gives these transports their share of the worker's time.
//
// A queue pair can refer to an entry until the queue pair next uses its path. An entry is therefore
// never destroyed. When its impairment is removed, the entry is reused for another impairment.
//
// Worker thread only.

#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/turn_clock.h"
#include "fabric/directory.h"
#include "model/impairment.h"
#include "model/stats.h"
#include "transport/impaired/impaired_transport.h"
#include "worker/tenant.h"

namespace paravane::worker {

class Impairments final : public Tenant {
 public:
  // Returns the name of the VM to which an adapter belongs; empty: none.
  using VmOf = std::function<std::string(verbs::AdapterId)>;

  // All outlive this, but for `vm_of`.
  // `carriers`: the transports that are impaired.
  Impairments(fabric::Directory& directory, std::vector<verbs::Transport*> carriers,
              const TurnClock& clock, VmOf vm_of);
  // REQUIRES: no adapter is left in the directory that could look up a path.
  ~Impairments() override;
  Impairments(const Impairments&) = delete;
  Impairments& operator=(const Impairments&) = delete;

  // nullopt: the maximum number of impairments is reached. REQUIRES: check_impairment().
  std::optional<model::ImpairmentStatus> set(const model::Impairment& impairment);
  // False: there were none.
  bool clear(const std::optional<std::string>& vm);
  // The VM was removed. Removes the impairments of this VM, and those of other VMs that name it as
  // the peer.
  void forget_vm(const std::string& vm);
  // The adapter was removed, and its id may be used again.
  void forget_adapter(verbs::AdapterId adapter);
  std::vector<model::ImpairmentStatus> list() const;
  std::vector<model::CounterGroup> counters() const;

  bool has_work() const override;
  Instant next_look() override;
  bool turn(Instant now, verbs::Budget& budget) override;

 private:
  using ImpairedTransport = transport_impaired::ImpairedTransport;
  struct Place {
    std::optional<model::Impairment> spec{};                 // nullopt: the entry is free
    std::optional<verbs::Gid> peer{};                        // if the peer is given by its address
    std::vector<std::unique_ptr<ImpairedTransport>> ways{};  // by carrier
  };

  std::unique_ptr<Place> make_place();
  static void set(Place& place, const transport_impaired::Impairment& impairment);
  static void free(Place& place);
  Place* pick(const model::Impairment& impairment);
  Place* match(verbs::AdapterId from, const verbs::Gid& dgid,
               std::optional<verbs::AdapterId> peer) const;
  verbs::Transport* detour(const fabric::Directory::Leg& leg) const;
  static model::ImpairmentStatus status_of(const Place& place);

  fabric::Directory& directory_;
  const std::vector<verbs::Transport*> carriers_;
  const TurnClock& clock_;
  VmOf vm_of_;
  std::vector<std::unique_ptr<Place>> places_;
};

}  // namespace paravane::worker
