// Stream carries the bytes of a channel to and from another host, with which it has already been
// established and authenticated. transport/tcp has the streams over a socket.
//
// Owner thread only. No call blocks.

#pragma once

#include <string>

#include "guestmem/payload_io.h"

namespace paravane::transport_channel {

class Stream : public PayloadStream {
 public:
  // The descriptor to watch: for reading, and for writing after a write that would block.
  virtual int fd() const = 0;
  // Why the last call returned kBroken, for the log.
  virtual std::string problem() const { return "the connection failed"; }
};

}  // namespace paravane::transport_channel
