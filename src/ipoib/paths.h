// Paths: what subnet administration says of the way to other nodes of a partition, and the frames
// that wait for it. A path is asked for again when it has been used for five minutes, and stays in
// use until administration answers with another, or refuses: a subnet goes on without its manager.
// A path that administration did not give is asked for again after a second.
//
// Bounded: the paths that are remembered, the questions that are open at once, and the frames that
// wait, in number and bytes, since a VM decides to where it sends. Nodes that have been heard come
// first: others, which a VM may have made up, have half of the questions and of the bytes, and what
// has no path is forgotten before what has one. The subnet's thread only.

#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <list>
#include <map>
#include <optional>
#include <span>
#include <utility>
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
  std::uint16_t source = 0;     // the LID of this port to send from
  std::size_t mtu = 0;          // of the link, in bytes
};

class Paths {
 public:
  static constexpr std::size_t kMost = 4096;
  static constexpr std::size_t kMostAsked = 64;  // at once
  static constexpr std::size_t kMostAskedOfUnheard = kMostAsked / 2;
  static constexpr std::size_t kMostWaiting = 16;                             // for one path
  static constexpr std::size_t kMostWaitingBytes = std::size_t{1024} * 1024;  // in all
  static constexpr std::size_t kMostBytesOfUnheard = kMostWaitingBytes / 2;
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
  // `frame` waits for the path if it is not known. `is_heard`: a packet has come from that node.
  std::expected<Path, Miss> find(const PathKey& key, std::uint16_t vlan,
                                 std::span<const std::byte> frame, bool is_heard);
  // The path, if it is known, without asking for it. Valid until the next call.
  const Path* known(const PathKey& key) const;
  // A node that says it is at `lid` has this GID: another than was known ends the path.
  void compare(const PathKey& key, const wire::infiniband::Gid& gid);
  // Administration knows anew: each path is asked for again when it is next used.
  void ask_again();
  // One that an engine before knew: it is used, and asked for again at its first use. One that is
  // there already stays.
  void adopt(const PathKey& key, const Path& path);
  std::vector<std::pair<PathKey, Path>> all_known() const;
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
    bool is_heard = true;                 // when it was asked for
    std::vector<WaitingFrame> waiting{};  // without a path
    std::list<PathKey>::iterator place{};
  };
  using Entries = std::map<PathKey, Entry>;
  using Order = std::list<PathKey>;  // oldest first

  Entry& make_entry(const PathKey& key);
  void make_room();
  // False: all in it are asked for.
  bool forget_oldest(Order& order);
  bool may_ask(bool is_heard) const;
  void ask(const PathKey& key, Entry& entry, bool is_heard);
  void set_path(Entry& entry, std::optional<Path> path);
  std::expected<Path, Miss> wait(Entry& entry, std::uint16_t vlan, std::span<const std::byte> frame,
                                 bool is_heard);
  void take(const PathKey& key,
            const AdministrationClient::Answer<wire::infiniband::PathRecord>& answer);
  std::vector<WaitingFrame> take_waiting(Entry& entry);

  AdministrationClient& client_;
  const TurnClock& clock_;
  Listener& listener_;
  Entries entries_;
  // Of entries_, each in one of both.
  Order with_path_;
  Order without_path_;
  std::size_t asked_ = 0;             // of entries_, those with a question
  std::size_t asked_of_unheard_ = 0;  // of these
  std::size_t waiting_bytes_ = 0;
};

}  // namespace paravane::ipoib
