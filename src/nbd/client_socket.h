// ClientSocket: a client's Unix stream socket: its bytes, to and from memory that the caller names,
// and what an event loop has said of it. No call waits.
//
// It is watched for edges (EPOLLET): what an event says of it holds until a call finds otherwise.
//
// Owner thread only.

#pragma once

#include <cstdint>
#include <span>
#include <utility>

#include "base/unique_fd.h"
#include "guestmem/payload_io.h"

namespace paravane::nbd {

class ClientSocket final : public PayloadStream {
 public:
  explicit ClientSocket(UniqueFd socket) : socket_(std::move(socket)) {}

  int fd() const { return socket_.get(); }
  static std::uint32_t watched_events();
  void heard(std::uint32_t events);  // epoll's
  bool may_read() const { return may_read_; }
  bool may_write() const { return may_write_; }
  // The other end is closed, whatever waits to be read.
  bool heard_hang_up() const { return has_hung_up_; }
  // The same, asked of the kernel at once.
  bool is_hung_up() const;
  // For an owner whose event loop looks seldom.
  void look() { may_read_ = true; }

  // `was_all`: the socket had fewer bytes than were asked for.
  IoResult read(std::span<const iovec> to) override;
  IoResult write(std::span<const iovec> from) override;

  // One piece.
  IoResult read_bytes(std::span<std::byte> to);
  IoResult write_bytes(std::span<const std::byte> from);

 private:
  UniqueFd socket_;
  bool may_read_ = true;
  bool may_write_ = true;
  bool has_end_ = false;      // the other end sends no more
  bool has_hung_up_ = false;  // nor receives
};

}  // namespace paravane::nbd
