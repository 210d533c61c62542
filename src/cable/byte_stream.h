// ByteStream: the bytes of a cable to and from another host, which has shown that it is that host.
// They are encrypted; the one that makes the connection sees to that (cluster/cable_stream.h).
//
// The subnet's thread only. No call blocks.

#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace paravane::cable {

class ByteStream {
 public:
  struct Moved {
    std::size_t bytes = 0;  // 0 and not over: nothing can be moved at the moment
    bool is_over = false;   // the stream has ended; problem() says why
  };

  virtual ~ByteStream() = default;
  // The descriptor to watch: for reading, and for writing after a write that moved less than all.
  virtual int fd() const = 0;
  virtual Moved read(std::span<std::byte> to) = 0;
  // After one that moved less than all, the next one begins with the bytes that were left.
  virtual Moved write(std::span<const std::byte> from) = 0;
  virtual std::string problem() const = 0;
};

}  // namespace paravane::cable
