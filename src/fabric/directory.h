// Directory: who has which GID, and who may talk to whom along which path.
//
// On one host there is one switch and one path (local). First come, first
// served: a GID belongs to the adapter that announced it until it is withdrawn
// or the adapter leaves, and nobody can take it over meanwhile. A GID that is
// made from the MAC address of an adapter may only be announced by that adapter.
//
// Owner thread only.

#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "base/result.h"
#include "verbs/fabric_port.h"
#include "verbs/types.h"

namespace paravane::fabric {

using MacAddress = std::array<std::uint8_t, 6>;

class Directory {
 public:
  // `local` carries everything between adapters of this host; it outlives us.
  explicit Directory(verbs::Transport& local);
  ~Directory();

  // One adapter joins; its port leaves with the returned object. `name` is for
  // error texts.
  std::unique_ptr<verbs::FabricPort> join(verbs::AdapterId id, std::string name,
                                          const MacAddress& mac);

 private:
  class Port;
  struct Owner {
    verbs::AdapterId id;
    std::string name;
  };
  verbs::Transport& local_;
  std::map<std::pair<verbs::Gid, verbs::GidType>, Owner> owners_;
  std::map<verbs::AdapterId, std::pair<std::string, MacAddress>> members_;
};

}  // namespace paravane::fabric
