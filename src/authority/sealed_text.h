// Encrypts text with a passphrase, for a file that leaves this host. The cipher is AES-256-GCM, and
// scrypt (RFC 7914) derives the key from the passphrase. The layout in bytes is:
//
//   8   "PVNSEAL1"
//   1   log2 of scrypt's parameter N; then 1 for r and 1 for p
//   16  salt
//   12  nonce
//   *   encrypted text
//   16  authentication tag of the encrypted text and of all bytes before it
//
// An encrypted file is untrusted input. A file with other scrypt parameters is refused, so no file
// can choose how much memory and time scrypt uses.
//
// Stateless, any thread. Each call uses 64 MiB and takes a few tenths of a second.

#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"

namespace paravane::authority {

inline constexpr std::size_t kMinPassphrase = 8;  // bytes
inline constexpr std::size_t kMaxPassphrase = 1'024;
inline constexpr std::size_t kMaxSealedText = std::size_t{1'200} * 1'024;  // bytes

// Checks the length of a passphrase. The error message is written for an operator. Errors:
// kInvalidArgument.
Status check_passphrase(std::string_view passphrase);

// REQUIRES: check_passphrase(). Errors: kResourceExhausted (too long), kIo (OpenSSL).
Result<std::string> seal(std::string_view text, std::string_view passphrase);
// Errors: kInvalidArgument (not sealed text, damaged, or another passphrase), kIo.
Result<std::string> unseal(std::string_view sealed, std::string_view passphrase);

}  // namespace paravane::authority
