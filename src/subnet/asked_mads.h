// AskedMads: the MADs of a port's agents that wait for an answer: found by their transaction when
// it comes, sent again when it does not, and given up when the tries are used up.
//
// Bounded by the number that waits for each agent, and for all. No clock; the subnet's thread only.

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "base/instant.h"
#include "subnet/mad_address.h"
#include "subnet/mad_agent.h"

namespace paravane::subnet {

struct AskedMad {
  AgentId agent = AgentId::kNone;
  MadAddress to;
  std::vector<std::byte> mad;  // with all of its header
  Duration timeout{};
  unsigned retries = 0;
};

class AskedMads {
 public:
  static constexpr std::size_t kMost = 16384;
  static constexpr std::size_t kMostOfAgent = 4096;
  static constexpr Duration kShortest = std::chrono::milliseconds(1);

  // False: the agent waits for too many already, or for one with this transaction.
  bool add(std::uint64_t transaction, AskedMad asked, Instant now);
  // The MAD of that class with that transaction, whose answer is there; nullopt: none waits.
  std::optional<AskedMad> take(std::uint64_t transaction, std::uint8_t management_class);
  // Of what is due, the next: to be sent again (`again`) or given up.
  struct Due {
    AskedMad asked;
    bool again = false;
  };
  std::optional<Due> next_due(Instant now);
  // kNever: none waits.
  Instant next_deadline() const;
  // Forgets what an agent has asked.
  void forget(AgentId agent);
  std::size_t size() const { return asked_.size(); }

 private:
  struct Entry {
    AskedMad asked;
    Instant due;
  };
  struct Deadline {
    Instant due;
    std::uint64_t transaction;
    friend auto operator<=>(const Deadline&, const Deadline&) = default;
  };
  using Asked = std::map<std::uint64_t, Entry>;
  AskedMad remove(Asked::iterator at);
  void drop_one_of(AgentId agent);

  Asked asked_;
  std::map<AgentId, std::size_t> waiting_;
  std::set<Deadline> deadlines_;  // one of each that waits
};

}  // namespace paravane::subnet
