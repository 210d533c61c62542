// MemberCertificate: manages the certificate that this host presents to the other hosts of its
// cluster.
//
// When two thirds of the certificate's lifetime have passed, this class requests a new certificate
// with a new key, which replaces the old one in the same file. A certificate that is not valid yet
// is renewed immediately, because the clock of the host that signed it must have been ahead.
//
// Cluster thread only.

#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <set>
#include <string>
#include <utility>

#include "authority/certificate.h"
#include "base/instant.h"
#include "base/result.h"

namespace paravane::cluster {

class MemberCertificate {
 public:
  // Has a certificate request (PEM) of this host signed, and returns the certificate. May wait.
  using Sign = std::function<Result<std::string>(const std::string& request)>;

  // `file`: the file with the key and the certificate (PEM). Errors: kIo, kInvalidArgument
  // (damaged).
  static Result<MemberCertificate> load(std::filesystem::path file, authority::Identity self);

  const authority::Validity& valid() const { return valid_; }
  // The fingerprint of the certificate's public key.
  const std::string& key() const { return key_; }
  // The time at which look() must be called again.
  Instant next_look() const { return next_look_; }
  // Renews the certificate if that is due. True: there is a new certificate. A failure is logged,
  // and a later call tries again.
  bool look(Instant at, const Sign& sign);

 private:
  MemberCertificate(std::filesystem::path file, authority::Identity self)
      : file_(std::move(file)), self_(std::move(self)) {}

  Duration next_try(authority::Seconds time) const;
  Status renew(const Sign& sign, authority::Seconds time);
  void tell_not_renewed(authority::Seconds time, const std::string& reason);

  std::filesystem::path file_;
  authority::Identity self_;
  authority::Validity valid_;
  std::string key_;
  Instant next_look_{};
  std::set<std::string> not_renewed_;  // reasons that were logged
};

}  // namespace paravane::cluster
