// MemberCertificate: this host's certificate, which it presents to the other hosts of its cluster.
// At two thirds of its lifetime a new certificate is requested, with a new key, and replaces the
// old one in the same file. A certificate that is not valid yet is renewed at once: the clock of
// the host that signed it was fast.
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
  // Signs a request (PEM) of this host and gives its certificate. May wait.
  using Sign = std::function<Result<std::string>(const std::string& request)>;

  // `file`: key and certificate, PEM. Errors: kIo, kInvalidArgument (damaged).
  static Result<MemberCertificate> load(std::filesystem::path file, authority::Identity self);

  const authority::Validity& valid() const { return valid_; }
  // Fingerprint of its public key.
  const std::string& key() const { return key_; }
  // When look() wants to be called again.
  Instant next_look() const { return next_look_; }
  // True: there is a new one. A failure is logged and tried again.
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
