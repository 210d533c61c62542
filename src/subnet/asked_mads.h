// AskedMads: the MADs of a port's agents that wait for an answer: found by their transaction when
// it comes, sent again when it does not, and given up when the tries are used up.
//
// Bounded by the number that waits for each agent, and for all. Where memory lacks, std::bad_alloc
// is thrown and nothing has changed. No clock; the subnet's thread only.

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
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
  static constexpr Duration kShortest = std::chrono::milliseconds(10);  // of a time to wait

  // One that was taken; it is forgotten with this, or put back.
  class Taken;

  // False: the agent waits for too many already, or for one with this transaction. REQUIRES: the
  // agent's number in the upper half of the transaction.
  bool add(std::uint64_t transaction, AskedMad asked, Instant now);
  // The MAD of that class with that transaction, whose answer is there; nullopt: none waits.
  // `from`: where the answer came from. It answers what was asked there alone (13.5.4): the LID,
  // and the queue pair and the GID, where there are these. A directed route has no LIDs to compare:
  // `mad`, which is the answer, has the same route, and each node of it has checked the port
  // (directed_route.h).
  std::optional<Taken> take(std::uint64_t transaction, std::uint8_t management_class,
                            const MadAddress& from, std::span<const std::byte> mad = {});
  // That MAD, which is not to wait any more.
  std::optional<Taken> take_back(std::uint64_t transaction);
  // It waits as before: what came of it could not be told. Without effect if its agent has gone, or
  // has asked the same again. It takes no memory.
  void put_back(Taken taken);
  // Of what is due, the next: to be sent again (`again`) or given up, and then taken.
  struct Due;
  std::optional<Due> next_due(Instant now);
  // kNever: none waits.
  Instant next_deadline() const;
  // Forgets what an agent has asked. Takes time with the number of that.
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
  using Deadlines = std::set<Deadline>;
  Taken remove(Asked::iterator at);

  Asked asked_;  // by transaction, and so by agent
  // How many of each agent: of none that has asked nothing, or has been forgotten since.
  std::map<AgentId, std::size_t> waiting_;
  Deadlines deadlines_;  // one of each that waits
};

class AskedMads::Taken {
 public:
  const AskedMad& operator*() const { return entry_.mapped().asked; }
  const AskedMad* operator->() const { return &entry_.mapped().asked; }

 private:
  friend class AskedMads;
  Asked::node_type entry_;
  Deadlines::node_type deadline_;
};

struct AskedMads::Due {
  AskedMad asked;
  bool again = false;
  std::optional<Taken> given_up{};  // if not `again`
};

}  // namespace paravane::subnet
