// LanePort is the lanes of a trunk at this end: queue pairs of an RDMA adapter that send from and
// receive into guest memory (wire/lane_frames.h).
//
// Owner thread only. No call blocks for long: close() takes as long as the adapter needs to let go
// of a queue pair's memory.

#pragma once

#include <cstdint>
#include <optional>

#include "base/instant.h"
#include "guestmem/extent.h"
#include "verbs/adapter.h"

namespace paravane::transport_channel {

struct LaneEvent {
  enum class Kind : std::uint8_t {
    kConnected,  // connect() is done
    kSent,       // the oldest post_send(): the adapter has let go of its memory
    kReceived,   // the oldest post_receive()
    kFailed,     // the lane is of no use until it is closed and connected again
  };
  Kind kind = Kind::kFailed;
  std::uint32_t lane = 0;
  std::uint32_t bytes = 0;      // kReceived
  std::uint32_t immediate = 0;  // kReceived
};

// What an RDMA adapter knows of a VM's memory.
enum class MemoryState : std::uint8_t { kNotWanted, kPreparing, kRegistered, kRefused };

class LanePort {
 public:
  virtual ~LanePort() = default;

  // Whether the adapter can reach this memory of the VM's now. If its memory is not registered, it
  // will be.
  virtual bool reaches(verbs::Adapter& adapter, const ExtentList& extents) = 0;
  virtual MemoryState memory_of(verbs::AdapterId adapter) const = 0;
  // How many extents a piece may have.
  virtual std::size_t most_extents() const = 0;

  // Lanes are numbered from 1. REQUIRES of all: connected; the memory is reached, and in at most
  // most_extents(). False: the adapter refuses, and the lane is of no use.
  virtual bool post_receive(std::uint32_t lane, verbs::AdapterId adapter, const ExtentList& to) = 0;
  virtual bool post_send(std::uint32_t lane, verbs::AdapterId adapter, const ExtentList& from,
                         std::uint32_t immediate) = 0;
  // A piece without bytes.
  virtual bool post_void(std::uint32_t lane, std::uint32_t immediate) = 0;

  // nullopt: nothing has happened.
  virtual std::optional<LaneEvent> next_lane_event() = 0;
  virtual bool has_events() const = 0;

  // Connects a lane that is closed, or lets it fail. Both ends use other sequence numbers each
  // time.
  virtual void connect(std::uint32_t lane, std::uint32_t own_psn, std::uint32_t peer_psn) = 0;
  // When it returns, the adapter accesses no memory for the lane, and no event of it comes any
  // more. Returns how long the adapter took to let go of the memory.
  virtual Duration close(std::uint32_t lane) = 0;
  // The VM is gone. REQUIRES: none of its memory is lent.
  virtual void forget(verbs::AdapterId adapter) = 0;
};

}  // namespace paravane::transport_channel
