// SegmentTable: all long MADs that a port sends and receives in segments at the moment (RMPP, IBTA
// volume 1, 13.6). It stands where a kernel's part of RMPP does (Linux: mad_rmpp.c): what arrives
// in segments is joined, what is too long for a MAD is cut, and agents see neither.
//
// A transfer is known by its peer (LID, queue pair, GID), its transaction, class and method. What
// has finished is remembered for a while, since the peer may not have got the last ACK; it is
// forgotten early where there is no room.
//
// Peers may be hostile, and so may the programs that send. SegmentLimits bound each direction on
// its own, so that neither can use up the other's room: transfers and bytes in total and of one
// peer, and bytes of one program. A peer is a LID; queue pairs and GIDs are the peer's choice.
// Another host can send as any node but those of this host, and so use the room of all.
// SegmentRoom bounds the bytes of all ports of a subnet.
// What arrives beyond a bound is stopped (status: no resources). Each packet that arrives is
// answered with at most SegmentSender::kBurst. Where memory lacks, std::bad_alloc is thrown, and
// costs the transfer under way or its packets.
//
// A MadAddress is here always the peer, as one sends to it: the destination of its global route is
// the peer's GID, also of what has arrived.
//
// It reads no clock and has no socket. The subnet's thread only.

#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <variant>
#include <vector>

#include "base/instant.h"
#include "subnet/mad_address.h"
#include "subnet/segment_receiver.h"
#include "subnet/segment_room.h"
#include "subnet/segment_sender.h"
#include "subnet/segment_state.h"
#include "wire/infiniband/datagram.h"
#include "wire/infiniband/segments.h"

namespace paravane::subnet {

// Of each direction.
struct SegmentLimits {
  std::size_t transfers = 512;
  std::size_t transfers_of_peer = 64;
  std::size_t bytes = std::size_t{32} << 20;
  std::size_t bytes_of_peer = std::size_t{4} << 20;
  std::size_t bytes_of_program = std::size_t{8} << 20;
  std::size_t bytes_of_mad = std::size_t{1} << 20;
};

enum class SegmentRefusal : std::uint8_t {
  kNoSegments,  // its class has none, or it ends within its headers
  kTooLong,
  kDuplicate,  // such a MAD is being sent to this peer
  kNoRoom,
};

// What has a SegmentTable. Its functions are called last of all: they may use send() and forget(),
// but not on_packet() and on_time().
class SegmentOwner {
 public:
  virtual ~SegmentOwner() = default;

  // A segment, an ACK or an end is to be sent. It may get lost.
  virtual void on_transmit(const MadAddress& to, const wire::infiniband::MadBytes& mad) = 0;
  // All segments of a MAD have arrived; it may be shorter than 256 bytes.
  virtual void on_joined(const MadAddress& from, std::vector<std::byte> mad) = 0;
  // The peer has all of what was sent with this tag, or will not get it.
  virtual void on_sent(std::uint64_t tag) = 0;
  virtual void on_not_sent(std::uint64_t tag, const SegmentFailure& failure) = 0;
};

class SegmentTable {
 public:
  // `owner` and `room` outlive it. Without a room its own limits hold alone.
  explicit SegmentTable(SegmentOwner& owner, const SegmentLimits& limits = {},
                        SegmentRoom* room = nullptr)
      : owner_(owner), limits_(limits), room_(room) {}
  ~SegmentTable();
  SegmentTable(const SegmentTable&) = delete;
  SegmentTable& operator=(const SegmentTable&) = delete;

  // Sends a MAD as an agent sees it (wire/infiniband/segments.h). on_sent() or on_not_sent()
  // follows with `tag`, unless it is refused or forgotten. `options`: its first window is found
  // here. `program`: whose it is; any number. Throws std::bad_alloc: it is not sent.
  std::expected<void, SegmentRefusal> send(const MadAddress& to, std::vector<std::byte> mad,
                                           std::uint64_t tag, const SegmentSender::Options& options,
                                           Instant now, std::uint64_t program = 0);
  // Forgets all that is sent with this tag and tells neither peer nor owner: the peer may have
  // answered already. Takes time with the number of transfers.
  void forget(std::uint64_t tag);

  // A MAD has arrived, for this program. False: it is no segment, and not for this table.
  bool on_packet(const MadAddress& from, const wire::infiniband::MadBytes& mad, Instant now,
                 std::uint64_t program = 0);
  // Does what is due, of some transfers: afterwards next_deadline() may still have passed.
  void on_time(Instant now);
  Instant next_deadline() const { return due_.empty() ? kNever : due_.begin()->first; }

  // With those that have finished and are remembered.
  std::size_t sending() const { return used_[kSends].transfers; }
  std::size_t receiving() const { return used_[kReceives].transfers; }
  std::size_t bytes_sending() const { return used_[kSends].bytes; }
  std::size_t bytes_receiving() const { return used_[kReceives].bytes; }

 private:
  static constexpr std::size_t kTurn = 16;  // transfers in one on_time()

  using Direction = SegmentDirection;
  struct Key {
    std::uint16_t lid = 0;  // first: the transfers of a peer are neighbours
    Direction direction = kReceives;
    std::uint32_t qp = 0;
    std::optional<wire::infiniband::Gid> gid{};
    std::uint64_t transaction = 0;
    std::uint8_t management_class = 0;
    std::uint8_t method = 0;  // of the data

    auto operator<=>(const Key&) const = default;
  };
  struct Transfer {
    MadAddress peer;
    std::uint64_t tag = 0;  // of what is sent
    std::uint64_t program = 0;
    std::variant<SegmentReceiver, SegmentSender> machine;
    bool is_told = false;  // its owner knows of its end
    // As accounted:
    std::size_t bytes = 0;
    Instant due = kNever;
  };
  struct Usage {
    std::size_t transfers = 0;
    std::size_t bytes = 0;
  };
  using Transfers = std::map<Key, Transfer>;
  using Due = std::set<std::pair<Instant, Key>>;

  static Key key_of(const MadAddress& peer, const wire::infiniband::MadHeader& header,
                    Direction direction);
  void start(const MadAddress& from, const wire::infiniband::MadBytes& mad, Instant now,
             std::uint64_t program);
  // Whether another transfer may begin, if need be in the place of one that has finished.
  bool make_room(std::uint16_t lid, Direction direction);
  bool forget_finished_of(std::uint16_t lid, Direction direction);
  bool has_too_many_bytes(const Key& key, std::uint64_t program, std::size_t more) const;
  // What it holds has become another number of bytes.
  void change_bytes(Transfers::iterator at, std::size_t bytes);
  // What has come of a step of a transfer, for its owner.
  struct Outcome {
    MadList out{};
    bool is_end = false;  // it ends, and its owner does not know it
    SegmentState state = SegmentState::kRunning;
    Direction direction = kReceives;
    MadAddress peer{};
    std::uint64_t tag = 0;
    SegmentFailure failure{};
    std::vector<std::byte> joined{};
  };
  Transfers::iterator insert(const Key& key, Transfer transfer);
  // Runs act(machine, out), then accounts for what came of it, and tells the owner. A transfer that
  // finds no memory is forgotten, and std::bad_alloc thrown.
  template <typename Act>
  void drive(Transfers::iterator at, Act act);
  void settle(Transfers::iterator at, Outcome& outcome);
  void tell(Outcome outcome);
  void tell_end(Outcome outcome);
  void account(Transfers::iterator at);
  void erase(Transfers::iterator at);

  SegmentOwner& owner_;
  SegmentLimits limits_;
  SegmentRoom* room_;
  Transfers transfers_;
  Due due_;                      // one entry of each transfer that waits for a time
  std::array<Due, 2> finished_;  // those of them that have finished, by Direction
  std::array<Usage, 2> used_;    // by Direction
  std::map<std::pair<std::uint16_t, Direction>, Usage> used_by_peer_;     // none is empty
  std::map<std::pair<std::uint64_t, Direction>, Usage> used_by_program_;  // none is empty
};

}  // namespace paravane::subnet
