// SocketStream is a TCP connection without encryption.
//
// Owner thread only.

#pragma once

#include <string>
#include <utility>

#include "base/unique_fd.h"
#include "transport/channel/stream.h"

namespace paravane::transport_tcp {

class SocketStream final : public transport_channel::Stream {
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
