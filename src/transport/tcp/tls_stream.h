// TlsStream: a TLS 1.3 connection after its handshake.
//
// OpenSSL decrypts into and encrypts from its own buffers; there is one copy between those and
// guest memory, and no other. Data shorter than a TLS record is combined with what follows it, so
// that a message in scattered pages does not become one record per page, nor its end and its
// trailer one each.
//
// A peer may send much that is not payload: key updates, records of one byte. A call of read()
// does a bounded amount of that work and reports its cost; a peer that sends nothing else has
// broken the stream.
//
// Owner thread only.

#pragma once

#include <openssl/types.h>

#include <array>
#include <cstdint>

#include "transport/tcp/stream.h"

namespace paravane::transport_tcp {

class TlsStream final : public Stream {
 public:
  // Takes both. The socket is the one that `tls` speaks over, and does not block. REQUIRES:
  // the peer has not asked for shorter records (RFC 6066, section 4).
  TlsStream(SSL* tls, UniqueFd socket);
  ~TlsStream() override;

  int fd() const override { return socket_.get(); }
  IoResult read(std::span<const iovec> to) override;
  IoResult write(std::span<const iovec> from) override;
  std::string problem() const override { return "the connection failed: " + problem_; }

 private:
  static constexpr std::size_t kRecordBytes = std::size_t{16} * 1024;

  static void on_message(int is_sent, int version, int type, const void* data, std::size_t size,
                         SSL* tls, void* self);
  IoResult failure(int returned);
  void renew_key();
  std::size_t gather(std::span<const iovec> from, std::size_t skip);

  UniqueFd socket_;
  SSL* tls_;
  std::array<std::byte, kRecordBytes> gathered_{};
  // Bytes of gathered_ that OpenSSL has encrypted and wants to be shown again; 0: none.
  std::size_t promised_ = 0;
  std::uint64_t records_sent_ = 0;  // with the same key
  std::size_t records_ = 0;         // that one read() has met
  std::size_t undelivered_ = 0;     // of their bytes
  int messages_ = 0;                // of the handshake's kind, since there was payload
  std::string problem_;             // of the last kBroken
};

}  // namespace paravane::transport_tcp
