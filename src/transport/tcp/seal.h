// Seal: proves that a record's head and block come from the other end of this channel,
// unchanged, and in this place: AES-128-GMAC under a key of the channel's own, with the
// record's number as nonce. For channels without encryption; TLS does more than that.
// Payload that follows a block directly has a digest under the seal: the guest may
// change it while it is sent, so it cannot be sealed itself.
//
// Owner thread only.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "base/result.h"

struct evp_cipher_ctx_st;

namespace paravane::transport_tcp {

class Seal {
 public:
  using Key = std::array<std::byte, 16>;
  using Tag = std::array<std::byte, 16>;

  // One direction's. Errors: kIo (the cryptographic library refused).
  static Result<std::unique_ptr<Seal>> create(const Key& key);
  ~Seal();
  Seal(const Seal&) = delete;
  Seal& operator=(const Seal&) = delete;

  // Of the next record. REQUIRES: fewer than 2^64 of them.
  Tag next(std::span<const std::byte> first, std::span<const std::byte> second);
  // Of the same record, which is another one after all. REQUIRES: nothing was sent with
  // the seal that it had.
  Tag again(std::span<const std::byte> first, std::span<const std::byte> second);
  // Compared in constant time.
  bool matches_next(std::span<const std::byte> first, std::span<const std::byte> second,
                    const Tag& tag);

 private:
  explicit Seal(evp_cipher_ctx_st* context) : context_(context) {}

  evp_cipher_ctx_st* context_;
  std::uint64_t records_ = 0;
};

}  // namespace paravane::transport_tcp
