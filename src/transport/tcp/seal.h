// Seal: proves that a record's head and block, or the payload and trailer that follow, come from
// the other end of this channel, unmodified and in this position: AES-128-GMAC under a key of the
// channel, with a separate number for each as the nonce. For channels without encryption; TLS does
// more.
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

  // Of what comes next, in parts. REQUIRES: fewer than 2^64 of them; what is in memory that
  // others may change is copied first.
  void begin();
  void add(std::span<const std::byte> part);
  Tag end();
  // Compared in constant time.
  bool end_matches(const Tag& tag);

  // The same, in one. again(): of what next() was asked for last, and is something else after
  // all. REQUIRES: nothing was sent with the seal that it had.
  Tag again(std::span<const std::byte> first, std::span<const std::byte> second);
  Tag next(std::span<const std::byte> first, std::span<const std::byte> second);
  bool matches_next(std::span<const std::byte> first, std::span<const std::byte> second,
                    const Tag& tag);

 private:
  explicit Seal(evp_cipher_ctx_st* context) : context_(context) {}

  evp_cipher_ctx_st* context_;
  std::uint64_t begun_ = 0;
};

}  // namespace paravane::transport_tcp
