// Text that is sealed with a passphrase, as a file that leaves this host: AES-256-GCM with a key
// that scrypt (RFC 7914) makes of the passphrase. Bytes:
//
//   8   "PVNSEAL1"
//   1   log2 of scrypt's N; 1 its r; 1 its p
//   16  salt
//   12  nonce
//   *   the text, encrypted
//   16  tag, over all before the text too
//
// The sealed bytes are a stranger's: how much memory and time scrypt takes is not theirs to say.
//
// Stateless, any thread; takes 64 MiB and some tenths of a second.

#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"

namespace paravane::authority {

inline constexpr std::size_t kMinPassphrase = 8;  // bytes
inline constexpr std::size_t kMaxPassphrase = 1'024;
inline constexpr std::size_t kMaxSealedText = std::size_t{1'200} * 1'024;  // bytes

// In an operator's words. Errors: kInvalidArgument.
Status check_passphrase(std::string_view passphrase);

// REQUIRES: check_passphrase(). Errors: kResourceExhausted (too long), kIo (OpenSSL).
Result<std::string> seal(std::string_view text, std::string_view passphrase);
// Errors: kInvalidArgument (not sealed text, damaged, or another passphrase), kIo.
Result<std::string> unseal(std::string_view sealed, std::string_view passphrase);

}  // namespace paravane::authority
