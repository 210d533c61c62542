// TlsStream is a TLS 1.3 connection after its handshake.
//
// OpenSSL uses its own buffers, so the data is copied once between these and guest memory. Data
// shorter than a TLS record is combined with the data that follows. Otherwise, if a message is in
// scattered pages, each page would become a separate record. The end of a message and its trailer
// would also become separate records.
//
// A peer can send data that is not payload, such as key updates or records of one byte. A call of
// read() handles a bounded amount of it and reports its cost. If a peer sends nothing else, the
// connection is ended.
//
// Owner thread only.

#pragma once

#include <openssl/types.h>

#include <array>
#include <cstdint>

#include "base/unique_fd.h"
#include "transport/channel/stream.h"

namespace paravane::transport_tcp {

class TlsStream final : public transport_channel::Stream {
 public:
  // Takes ownership of both. `socket` is the non-blocking socket that `tls` uses. REQUIRES: the
  // peer has not requested shorter records (RFC 6066, section 4).
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
  // Bytes of gathered_ that OpenSSL has encrypted and that must be passed to it again; 0: none.
  std::size_t promised_ = 0;
  std::uint64_t records_sent_ = 0;  // with the same key
  std::size_t records_ = 0;         // that one read() has met
  std::size_t undelivered_ = 0;     // of their bytes
  int messages_ = 0;                // of the handshake's kind, since there was payload
  std::string problem_;             // of the last kBroken
};

}  // namespace paravane::transport_tcp
