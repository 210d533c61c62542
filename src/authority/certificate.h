// The certificates of a cluster. These functions create the cluster's certificate authority (an
// ECDSA P-256 key that signs the certificates of the hosts), create the requests that hosts send to
// obtain a certificate, sign these requests, and inspect certificates. Keys, requests and
// certificates are PEM text.
//
// Stateless, any thread. Errors: kInvalidArgument (invalid input), kIo (OpenSSL failed).

#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "authority/identity.h"
#include "base/result.h"

namespace paravane::authority {

using Seconds = std::chrono::sys_seconds;
inline Seconds wall_clock() {
  return std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
}

inline constexpr std::size_t kMaxPem = std::size_t{16} * 1024;
inline constexpr std::chrono::hours kAuthorityLifetime{24 * 365 * 20};

// A private key, and its certificate or a request for one.
struct KeyPair {
  std::string key;
  std::string certificate;
};

// Creates the authority of a new cluster. Its certificate is valid from kAuthoritySince on, so that
// hosts accept it even if the clock of this host is fast at the moment. Errors: kBadState (the
// clock is before kAuthoritySince).
inline constexpr Seconds kAuthoritySince = std::chrono::sys_days(std::chrono::year(2026) / 1 / 1);
Result<KeyPair> make_authority(const std::string& cluster, Seconds now);

// Creates a key, and a request that is signed with it and contains nothing else.
Result<KeyPair> make_request();
// Creates a request for an existing key. `key` is PEM, and its other blocks are ignored. Errors:
// kInvalidArgument (it contains no ECDSA P-256 key).
Result<KeyPair> make_request_with(std::string_view key);

struct Grant {
  Identity identity;
  // The host's address, for what is reached by it (etcd, the join door): the authority's
  // own host alone, or any host could pass for etcd. Empty: none.
  std::string address;
  Seconds from;
  Seconds until;
};
// Signs a certificate for the key in the request; nothing else from the request is used. Errors:
// kInvalidArgument (not a request, not signed with its own key, or not an ECDSA P-256 key).
Result<std::string> sign(const KeyPair& authority, std::string_view request, const Grant& grant);

// The time in which a certificate is valid.
struct Validity {
  Seconds from{};
  Seconds until{};

  bool covers(Seconds time) const { return from <= time && time < until; }
};

struct Certificate {
  std::optional<Identity> identity;  // nullopt: not the certificate of a host
  Validity valid;
  std::string fingerprint;  // SHA-256, 64 hex digits
  std::string key;          // SHA-256 of the public key only (SubjectPublicKeyInfo, DER)
};
Result<Certificate> inspect(std::string_view certificate);

// Whether `authority` has signed the certificate and the certificate is valid at `now`.
bool is_signed_by(std::string_view certificate, std::string_view authority, Seconds now);

// Random bytes from the kernel, as hex digits.
Result<std::string> make_secret(std::size_t bytes);
std::string hash(std::string_view text);  // SHA-256, hex digits
// Compares two secrets in a time that does not depend on where they differ.
bool equal_secrets(std::string_view a, std::string_view b);

}  // namespace paravane::authority
