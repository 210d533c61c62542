// QueuePairs: the unreliable-datagram queue pairs of an adapter's port that carry data, not
// management. A queue pair has a number, a partition and a Q_Key; what arrives for it is judged by
// them (IBTA volume 1, 10.2.4 and 10.9.4) and handed to its receiver.
//
// A number that was given back is the last to be used again: peers remember it in their tables of
// addresses for minutes. The subnet's thread only.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

#include "subnet/port.h"
#include "wire/infiniband/datagram.h"

namespace paravane::subnet {

class DatagramReceiver {
 public:
  virtual ~DatagramReceiver() = default;
  // `packet` is valid during the call.
  virtual void on_datagram(std::uint32_t queue_pair, const wire::infiniband::Datagram& packet) = 0;
};

class QueuePairs {
 public:
  static constexpr std::size_t kMost = 8192;
  static constexpr std::uint32_t kFirst = 0x40;

  struct Facts {
    std::uint16_t partition = 0;  // a key of the port's table
    std::uint32_t qkey = 0;
  };
  enum class Verdict : std::uint8_t { kDelivered, kUnknown, kBadPartition, kBadQkey };

  // nullopt: there are too many. `receiver` outlives the queue pair. It gets the number `wanted` if
  // that is one of data and free.
  std::optional<std::uint32_t> make(const Facts& facts, DatagramReceiver& receiver,
                                    std::uint32_t wanted = 0);
  void change(std::uint32_t queue_pair, const Facts& facts);
  void destroy(std::uint32_t queue_pair);
  // Multicast: a group is its LID and its GID.
  struct Group {
    std::uint16_t lid = 0;
    wire::infiniband::Gid gid{};
    friend auto operator<=>(const Group&, const Group&) = default;
  };
  void attach(std::uint32_t queue_pair, const Group& group);
  void detach(std::uint32_t queue_pair, const Group& group);
  // Whether any queue pair is in a group of this LID.
  bool listens_to(std::uint16_t multicast_lid) const;

  Verdict deliver(const wire::infiniband::Datagram& packet);
  // A copy to each queue pair of the group that its keys let in; how many there were.
  std::size_t deliver_multicast(const wire::infiniband::Datagram& packet);

 private:
  struct QueuePair {
    Facts facts;
    DatagramReceiver* receiver;
  };
  static Verdict judge(const QueuePair& one, const wire::infiniband::DatagramHeaders& headers);

  std::unordered_map<std::uint32_t, QueuePair> pairs_;
  std::set<std::pair<Group, std::uint32_t>> members_;
  std::uint32_t next_ = kFirst;
};

}  // namespace paravane::subnet
