#include "transport/tcp/tls_stream.h"

#include <openssl/err.h>
#include <openssl/ssl.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>

namespace paravane::transport_tcp {
namespace {

// Of one read(): records that are decrypted. OpenSSL passes over at most as many that are
// empty before it looks up.
constexpr std::size_t kMostRecords = 32;

// What one takes at least, and what it takes to change keys, beside moving bytes.
constexpr std::size_t kEffortOfRecord = 4096;
constexpr std::size_t kEffortOfMessage = std::size_t{64} * 1024;

// Messages about keys and tickets without payload between them. A good peer has one at a time.
constexpr int kMostMessages = 4;

// AES-GCM is good for 2^24.5 full records with one key (RFC 8446, 5.5).
constexpr std::uint64_t kRecordsOfKey = std::uint64_t{1} << 24;

}  // namespace

TlsStream::TlsStream(SSL* tls, UniqueFd socket) : socket_(std::move(socket)), tls_(tls) {
  // What is written again lies elsewhere then: guest memory may have moved or gone.
  SSL_set_mode(tls_, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  // A message that brings no payload ends the call.
  SSL_clear_mode(tls_, SSL_MODE_AUTO_RETRY);
  SSL_set_msg_callback(tls_, on_message);
  SSL_set_msg_callback_arg(tls_, this);
  // A record's head and body, and the next ones, with one call.
  SSL_set_read_ahead(tls_, 1);
}

TlsStream::~TlsStream() {
  SSL_free(tls_);
}

// What has been read ahead is worked through in one call: only the end of the stream stops that.
// NOLINTNEXTLINE(readability-function-size): OpenSSL's signature
void TlsStream::on_message(int is_sent, int, int type, const void* bytes, std::size_t size,
                           SSL* tls, void* self) {
  if (is_sent != 0) return;
  auto& stream = *static_cast<TlsStream*>(self);
  if (type == SSL3_RT_HEADER && size == SSL3_RT_HEADER_LENGTH) {
    const auto* head = static_cast<const std::uint8_t*>(bytes);
    ++stream.records_;
    stream.undelivered_ += std::size_t{head[3]} * 256 + head[4];
  }
  if (type == SSL3_RT_HANDSHAKE && ++stream.messages_ > kMostMessages) {
    SSL_set_shutdown(tls, SSL_get_shutdown(tls) | SSL_RECEIVED_SHUTDOWN);
  }
}

IoResult TlsStream::failure(int returned) {
  const int error = errno;
  if (messages_ > kMostMessages) {
    problem_ = "the host sends key updates but no payload";
    return {.kind = IoResult::Kind::kBroken};
  }
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

// As many pieces as there is something for, within what one call may take.
IoResult TlsStream::read(std::span<const iovec> to) {
  IoResult result;
  records_ = 0;
  const auto charged = [&] {
    result.effort += kEffortOfRecord * records_;
    undelivered_ -= std::min(undelivered_, result.bytes);
    // What is left was no payload: padding, and what belongs to records.
    if (SSL_pending(tls_) == 0) result.effort += std::exchange(undelivered_, 0);
    return result;
  };
  for (const iovec& piece : to) {
    auto* at = static_cast<std::byte*>(piece.iov_base);
    for (std::size_t have = 0; have < piece.iov_len;) {
      if (SSL_pending(tls_) == 0 && records_ >= kMostRecords) return charged();
      ERR_clear_error();
      std::size_t got = 0;
      const int returned = SSL_read_ex(tls_, at + have, piece.iov_len - have, &got);
      if (returned != 1) {
        // If it is more than that there is nothing, the next call says so.
        result.was_all = SSL_want_read(tls_) != 0;
        if (result.bytes > 0) return charged();
        const std::size_t effort = kEffortOfMessage * static_cast<std::size_t>(messages_);
        result = failure(returned);
        result.effort = effort;
        return charged();
      }
      have += got;
      result.bytes += got;
      if (const int messages = std::exchange(messages_, 0); messages > 0) {
        result.effort += kEffortOfMessage * static_cast<std::size_t>(messages);
        return charged();
      }
    }
  }
  return charged();
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

void TlsStream::renew_key() {
  records_sent_ = 0;
  // Goes out with the next record.
  SSL_key_update(tls_, SSL_KEY_UPDATE_NOT_REQUESTED);
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
      if (result.kind == IoResult::Kind::kWouldBlock) {
        // What is shown again must be what was shown: guest memory may change meanwhile.
        if (at != gathered_.data()) std::memcpy(gathered_.data(), at, length);
        promised_ = length;
      }
      return moved > 0 && result.kind == IoResult::Kind::kWouldBlock ? IoResult{.bytes = moved}
                                                                     : result;
    }
    promised_ = 0;
    if (++records_sent_ == kRecordsOfKey) renew_key();
    moved += sent;
    for (skip += sent; i < from.size() && skip >= from[i].iov_len; ++i) skip -= from[i].iov_len;
  }
  return {.bytes = moved};
}

}  // namespace paravane::transport_tcp
