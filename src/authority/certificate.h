// The certificates of a cluster: creates the authority (an ECDSA P-256 key that signs the hosts'
// certificates), and the certificate requests that hosts send to it. Keys, requests and
// certificates are text (PEM), which can be stored in files and sent.
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

// A private key with what belongs to it: a certificate, or a request for one.
struct KeyPair {
  std::string key;
  std::string certificate;
};

// The authority of a new cluster. Its certificate is in force from kAuthoritySince on, so
// that a clock which was fast at the time shuts no host out once it is right.
// Errors: kBadState: the clock is before kAuthoritySince.
inline constexpr Seconds kAuthoritySince = std::chrono::sys_days(std::chrono::year(2026) / 1 / 1);
Result<KeyPair> make_authority(const std::string& cluster, Seconds now);

// A new key, and a request that proves to have it and asks for nothing else.
Result<KeyPair> make_request();
// The same with a key that there is already (PEM, other blocks of the file are passed by).
// Errors: kInvalidArgument: there is no key of ours in it.
Result<KeyPair> make_request_with(std::string_view key);

struct Grant {
  Identity identity;
  // The host's address, for what is reached by it (etcd, the join door): the authority's
  // own host alone, or any host could pass for etcd. Empty: none.
  std::string address;
  Seconds from;
  Seconds until;
};
// Nothing of the request but its key goes into the certificate.
// Errors: kInvalidArgument: not a request, not signed with its own key, or another kind
// of key than ours.
Result<std::string> sign(const KeyPair& authority, std::string_view request, const Grant& grant);

// When a certificate is in force.
struct Validity {
  Seconds from{};
  Seconds until{};

  bool covers(Seconds time) const { return from <= time && time < until; }
};

struct Certificate {
  std::optional<Identity> identity;  // nullopt: not a host's
  Validity valid;
  std::string fingerprint;  // SHA-256, 64 hex digits
  std::string key;          // the same of its public key alone (SubjectPublicKeyInfo, DER)
};
Result<Certificate> inspect(std::string_view certificate);

// Whether `authority` has signed it and it is in force.
bool is_signed_by(std::string_view certificate, std::string_view authority, Seconds now);

// From the kernel's generator, as hex digits.
Result<std::string> make_secret(std::size_t bytes);
std::string hash(std::string_view text);  // SHA-256, hex digits
// Takes as long whatever the difference.
bool equal_secrets(std::string_view a, std::string_view b);

}  // namespace paravane::authority
