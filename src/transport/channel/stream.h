// Stream carries the bytes of a channel to and from another host, with which it has already been
// established and authenticated. transport/tcp has the streams over a socket, transport/hca the one
// over RDMA adapters.
//
// Owner thread only. No call blocks.

#pragma once

#include <string>

#include "guestmem/payload_io.h"
#include "transport/channel/lane_port.h"

namespace paravane::transport_channel {

class Stream : public PayloadStream {
 public:
  // The descriptor to watch: for reading, and for writing after a write that would block.
  virtual int fd() const = 0;
  // Whether fd() becomes readable for both, and never writable.
  virtual bool has_one_event() const { return false; }
  // Whether read() would return bytes that write() has come upon.
  virtual bool holds_bytes() const { return false; }
  // The lanes beside it; nullptr: it has none.
  virtual LanePort* lanes() { return nullptr; }
  // Why the last call returned kBroken, for the log.
  virtual std::string problem() const { return "the connection failed"; }
};

}  // namespace paravane::transport_channel
