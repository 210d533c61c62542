// Seal calculates the authentication codes (seals) of a channel without encryption. A seal proves
// that data came from the other side of this channel, was not modified, and is in its original
// position. Each record has one seal for its head and block, and one for its payload and trailer.
//
// A seal is AES-128-GMAC with a key of the channel and a sequence number as the nonce. Channels
// with TLS do not need seals.
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

namespace paravane::transport_channel {

class Seal {
 public:
  using Key = std::array<std::byte, 16>;
  using Tag = std::array<std::byte, 16>;

  // Creates the Seal of one direction. Errors: kIo (the cryptographic library refused).
  static Result<std::unique_ptr<Seal>> create(const Key& key);
  ~Seal();
  Seal(const Seal&) = delete;
  Seal& operator=(const Seal&) = delete;

  // Calculate the next seal over data in several parts. REQUIRES: fewer than 2^64 seals; data in
  // memory that other code may change is copied first.
  void begin();
  void add(std::span<const std::byte> part);
  Tag end();
  // Compared in constant time.
  bool end_matches(const Tag& tag);

  // The same in one call. again() replaces the last result of next(), for data that has changed
  // since. REQUIRES: the replaced seal was not sent.
  Tag again(std::span<const std::byte> first, std::span<const std::byte> second);
  Tag next(std::span<const std::byte> first, std::span<const std::byte> second);
  bool matches_next(std::span<const std::byte> first, std::span<const std::byte> second,
                    const Tag& tag);

 private:
  explicit Seal(evp_cipher_ctx_st* context) : context_(context) {}

  evp_cipher_ctx_st* context_;
  std::uint64_t begun_ = 0;
};

}  // namespace paravane::transport_channel
