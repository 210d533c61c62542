#include "transport/tcp/tls_stream.h"

#include <openssl/err.h>
#include <openssl/ssl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace paravane::transport_tcp {

TlsStream::TlsStream(SSL* tls, UniqueFd socket) : socket_(std::move(socket)), tls_(tls) {
  // What is written again lies elsewhere then: guest memory may have moved or gone.
  SSL_set_mode(tls_, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  // A record's head and body, and the next ones, with one call.
  SSL_set_read_ahead(tls_, 1);
}

TlsStream::~TlsStream() {
  SSL_free(tls_);
}

IoResult TlsStream::failure(int returned) {
  const int error = errno;
  switch (SSL_get_error(tls_, returned)) {
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE: return {.kind = IoResult::Kind::kWouldBlock};
    case SSL_ERROR_ZERO_RETURN: return {.kind = IoResult::Kind::kClosed};
    default: break;
  }
  const unsigned long code = ERR_peek_last_error();
  const char* reason = code != 0 ? ERR_reason_error_string(code) : nullptr;
  problem_ = reason != nullptr ? reason : error != 0 ? std::strerror(error) : "it ended";
  return {.kind = IoResult::Kind::kBroken};
}

// As many pieces as there is something for.
IoResult TlsStream::read(std::span<const iovec> to) {
  std::size_t moved = 0;
  for (const iovec& piece : to) {
    auto* at = static_cast<std::byte*>(piece.iov_base);
    for (std::size_t have = 0; have < piece.iov_len;) {
      ERR_clear_error();
      std::size_t got = 0;
      const int returned = SSL_read_ex(tls_, at + have, piece.iov_len - have, &got);
      if (returned != 1) {
        // If it is more than that there is nothing, the next call says so.
        if (moved > 0) return {.bytes = moved, .was_all = SSL_want_read(tls_) != 0};
        return failure(returned);
      }
      have += got;
      moved += got;
    }
  }
  return {.bytes = moved};
}

// The first bytes of what is to be written, as one stretch. `skip`: of the first piece.
std::size_t TlsStream::gather(std::span<const iovec> from, std::size_t skip) {
  std::size_t have = 0;
  for (const iovec& piece : from) {
    const std::size_t part = std::min(piece.iov_len - skip, gathered_.size() - have);
    std::memcpy(gathered_.data() + have, static_cast<const std::byte*>(piece.iov_base) + skip,
                part);
    have += part;
    if (have == gathered_.size()) break;
    skip = 0;
  }
  return have;
}

IoResult TlsStream::write(std::span<const iovec> from) {
  std::size_t moved = 0;
  for (std::size_t i = 0, skip = 0; i < from.size();) {
    const iovec& piece = from[i];
    const auto* at = static_cast<const std::byte*>(piece.iov_base) + skip;
    std::size_t length = std::min(piece.iov_len - skip, kRecordBytes);
    if (promised_ > 0) {
      // Of that record nothing is read again but its length.
      at = gathered_.data();
      length = promised_;
    } else if (length < kRecordBytes && i + 1 < from.size()) {
      length = gather(from.subspan(i), skip);
      at = gathered_.data();
    }
    ERR_clear_error();
    std::size_t sent = 0;
    const int returned = SSL_write_ex(tls_, at, length, &sent);
    if (returned != 1) {
      const IoResult result = failure(returned);
      if (result.kind == IoResult::Kind::kWouldBlock) promised_ = length;
      return moved > 0 && result.kind == IoResult::Kind::kWouldBlock ? IoResult{.bytes = moved}
                                                                     : result;
    }
    promised_ = 0;
    moved += sent;
    for (skip += sent; i < from.size() && skip >= from[i].iov_len; ++i) skip -= from[i].iov_len;
  }
  return {.bytes = moved};
}

}  // namespace paravane::transport_tcp
