// RouterProbes holds the ways through routers that one adapter's connections use, and probes each
// (router_probe.h). A way is probed while a connection uses it, and for kLinger afterwards, so that
// an operator hears why a connection ended. A guest decides how many ways there are, so their
// number is bounded, of one adapter and of all together.
//
// Owner thread only.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "base/instant.h"
#include "transport/roce/router_probe.h"

namespace paravane::transport_roce {

// Of all adapters of a transport.
struct ProbedWays {
  std::size_t count = 0;
  std::uint64_t changes = 0;  // of any of them
};

class RouterProbes {
 public:
  static constexpr std::size_t kMost = 16;
  static constexpr std::size_t kMostOfAll = 512;
  static constexpr Duration kLinger = std::chrono::seconds(10);

  explicit RouterProbes(std::shared_ptr<ProbedWays> all) : all_(std::move(all)) {}
  ~RouterProbes() { clear(); }
  RouterProbes(const RouterProbes&) = delete;
  RouterProbes& operator=(const RouterProbes&) = delete;

  // The way is used while the caller keeps what is returned. nullptr: there are too many.
  std::shared_ptr<RouterProbe> use(const RouterWay& way, wire::roce::Network network, Instant now);
  // nullptr: it is not probed.
  const RouterProbe* find(const RouterWay& way) const;

  // When tick() must be called next; kNever: nothing is probed.
  Instant due() const;
  struct Acts {
    // Whether the way still leads to an adapter in another network.
    std::function<bool(const RouterWay&)> leads;
    // Sends a probe, and returns its number; nullopt: it could not leave.
    std::function<std::optional<wire::roce::ProbeNonce>(const RouterProbe&)> send;
  };
  // Forgets what is not used any more, and probes what is due.
  void tick(Instant now, const Acts& acts);
  // False: no probe between these two GIDs had that number, or it was answered before.
  bool on_answer(const verbs::Gid& own, const verbs::Gid& peer,
                 const wire::roce::ProbeNonce& nonce);

  // A number that changes whenever a way or its state does, and that no other object has had.
  std::uint64_t changes() const { return changes_; }
  std::vector<ProbeReport> reports(Instant now) const;

  void clear();

 private:
  struct Entry {
    std::shared_ptr<RouterProbe> probe;
    std::optional<Instant> unused_since{};

    bool is_used() const { return probe.use_count() > 1; }
  };
  bool make_room();
  void remove(std::size_t index);

  void note_change() { changes_ = ++all_->changes; }

  const std::shared_ptr<ProbedWays> all_;
  std::vector<Entry> entries_;
  std::uint64_t changes_ = 0;
};

}  // namespace paravane::transport_roce
