// Paths: what subnet administration says of the way to other nodes of a partition, and the frames
// that wait for it. A path is asked for again when it has been used for five minutes, and stays in
// use until administration answers with another, or refuses: a subnet goes on without its manager.
// A path that administration did not give is asked for again after a second.
//
// Bounded: the paths that are remembered, the questions that are open at once, and the frames that
// wait, in number and bytes, since a VM decides to where it sends. The subnet's thread only.

#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <expected>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "base/instant.h"
#include "base/turn_clock.h"
#include "ipoib/administration_client.h"
#include "wire/infiniband/datagram.h"

namespace paravane::ipoib {

struct PathKey {
  std::uint16_t partition = 0;  // as packets carry it
  std::uint16_t lid = 0;
  friend auto operator<=>(const PathKey&, const PathKey&) = default;
};

struct Path {
  wire::infiniband::Gid gid{};  // of the port there
  std::uint8_t level = 0;       // service level
  std::size_t mtu = 0;          // of the link, in bytes
};

class Paths {
 public:
  static constexpr std::size_t kMost = 4096;
  static constexpr std::size_t kMostAsked = 64;                               // at once
  static constexpr std::size_t kMostWaiting = 16;                             // for one path
  static constexpr std::size_t kMostWaitingBytes = std::size_t{1024} * 1024;  // in all
  static constexpr Duration kLife = std::chrono::minutes(5);
  static constexpr Duration kPause = std::chrono::seconds(1);

  struct WaitingFrame {
    std::uint16_t vlan = 0;
    std::vector<std::byte> bytes{};
  };
  class Listener {
   public:
    virtual ~Listener() = default;
    // The path is known: these waited for it, in this order. It may look for paths from here.
    virtual void on_path(std::vector<WaitingFrame> frames) = 0;
    // It is not, and they are dropped.
    virtual void on_no_path(std::size_t frames) = 0;
  };

  // All outlive us.
  Paths(AdministrationClient& client, const TurnClock& clock, Listener& listener)
      : client_(client), clock_(clock), listener_(listener) {}
  ~Paths();
  Paths(const Paths&) = delete;
  Paths& operator=(const Paths&) = delete;

  enum class Miss : std::uint8_t {
    kWaits,        // the frame was kept, and comes back by the listener
    kNoRoom,       // too many frames wait, or too many paths are asked for
    kUnreachable,  // it was asked for a moment ago, or cannot be asked for
  };
  // `frame` waits for the path if it is not known.
  std::expected<Path, Miss> find(const PathKey& key, std::uint16_t vlan,
                                 std::span<const std::byte> frame);
  // The path, if it is known, without asking for it. Valid until the next call.
  const Path* known(const PathKey& key) const;
  // A node that says it is at `lid` has this GID: another than was known ends the path.
  void compare(const PathKey& key, const wire::infiniband::Gid& gid);
  // Administration knows anew: each path is asked for again when it is next used.
  void ask_again();
  // Forgets all; frames that wait are dropped.
  void clear();
  std::size_t size() const { return entries_.size(); }
  std::size_t open_questions() const { return asked_; }
  std::size_t waiting_bytes() const { return waiting_bytes_; }

 private:
  struct Entry {
    std::optional<Path> path{};
    Instant until = Instant::min();  // until then it is not asked for again
    QuestionId question = QuestionId::kNone;
    std::vector<WaitingFrame> waiting{};  // without a path
  };
  using Entries = std::map<PathKey, Entry>;

  Entry& make_entry(const PathKey& key);
  void make_room();
  void ask(const PathKey& key, Entry& entry);
  std::expected<Path, Miss> wait(Entry& entry, std::uint16_t vlan,
                                 std::span<const std::byte> frame);
  void take(const PathKey& key,
            const AdministrationClient::Answer<wire::infiniband::PathRecord>& answer);
  std::vector<WaitingFrame> take_waiting(Entry& entry);

  AdministrationClient& client_;
  const TurnClock& clock_;
  Listener& listener_;
  Entries entries_;
  std::deque<PathKey> order_;  // of entries_, each once, oldest first
  std::size_t asked_ = 0;      // of entries_, those with a question
  std::size_t waiting_bytes_ = 0;
};

}  // namespace paravane::ipoib
