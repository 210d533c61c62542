// Stream is a connection to another host that has already been established and authenticated.
// SocketStream is a Stream without encryption.
//
// Owner thread only. No call blocks.

#pragma once

#include <string>

#include "base/unique_fd.h"
#include "guestmem/payload_io.h"

namespace paravane::transport_tcp {

class Stream : public PayloadStream {
 public:
  // The descriptor to watch: for reading, and for writing after a write that would block.
  virtual int fd() const = 0;
  // Why the last call returned kBroken, for the log.
  virtual std::string problem() const { return "the connection failed"; }
};

class SocketStream final : public Stream {
 public:
  // A connected stream socket that does not block.
  explicit SocketStream(UniqueFd socket) : socket_(std::move(socket)) {}

  int fd() const override { return socket_.get(); }
  IoResult read(std::span<const iovec> to) override;
  IoResult write(std::span<const iovec> from) override;
  std::string problem() const override;

 private:
  IoResult failure();

  UniqueFd socket_;
  int error_ = 0;  // errno of the last kBroken
};

}  // namespace paravane::transport_tcp
