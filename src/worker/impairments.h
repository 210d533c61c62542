// Impairments: the paths of this host on which an operator injects faults, and the transports that
// do it. It also gives these transports their turns.
//
// An entry is reused for another impairment but never destroyed, because queue pairs remember
// their path until they next use it.
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
  // The name of the VM that has that adapter; empty: none.
  using VmOf = std::function<std::string(verbs::AdapterId)>;

  // All outlive this, but for `vm_of`.
  Impairments(fabric::Directory& directory, verbs::Transport& local, verbs::Transport& remote,
              const TurnClock& clock, VmOf vm_of);
  // REQUIRES: the directory has no members that could ask for a path.
  ~Impairments() override;
  Impairments(const Impairments&) = delete;
  Impairments& operator=(const Impairments&) = delete;

  // nullopt: there are as many as there may be. REQUIRES: check_impairment().
  std::optional<model::ImpairmentStatus> set(const model::Impairment& impairment);
  // False: there were none.
  bool clear(const std::optional<std::string>& vm);
  // The VM is no more: what was set for it, or towards it by its name, goes with it.
  void forget_vm(const std::string& vm);
  // The adapter is no more, and its id may be used again.
  void forget_adapter(verbs::AdapterId adapter);
  std::vector<model::ImpairmentStatus> list() const;
  std::vector<model::CounterGroup> counters() const;

  bool has_work() const override;
  Instant next_look() override;
  bool turn(Instant now, verbs::Budget& budget) override;

 private:
  using ImpairedTransport = transport_impaired::ImpairedTransport;
  struct Place {
    Place(verbs::Transport& local_carrier, verbs::Transport& remote_carrier, const TurnClock& clock,
          const ImpairedTransport::FindPath& find_path)
        : local(local_carrier, clock, find_path), remote(remote_carrier, clock, find_path) {}

    std::optional<model::Impairment> spec;  // none: free
    std::optional<verbs::Gid> peer;         // when it is named by its address
    ImpairedTransport local;
    ImpairedTransport remote;
  };

  static void free(Place& place);
  Place* pick(const model::Impairment& impairment);
  Place* match(verbs::AdapterId from, const verbs::Gid& dgid,
               std::optional<verbs::AdapterId> peer) const;
  verbs::Transport* detour(verbs::AdapterId from, const verbs::Gid& dgid,
                           std::optional<verbs::AdapterId> peer);
  static model::ImpairmentStatus status_of(const Place& place);

  fabric::Directory& directory_;
  verbs::Transport& local_;
  verbs::Transport& remote_;
  const TurnClock& clock_;
  VmOf vm_of_;
  std::vector<std::unique_ptr<Place>> places_;
};

}  // namespace paravane::worker
