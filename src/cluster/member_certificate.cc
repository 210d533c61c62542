#include "cluster/member_certificate.h"

#include <algorithm>
#include <chrono>

#include "base/log.h"
#include "cluster/cluster_files.h"

namespace paravane::cluster {
namespace {

constexpr std::size_t kMostReasons = 8;                   // that are logged
constexpr auto kExpiredAgain = std::chrono::seconds(60);  // its host has to join again

}  // namespace

Result<MemberCertificate> MemberCertificate::load(std::filesystem::path file,
                                                  authority::Identity self) {
  const auto text = read_file(file);
  if (!text) return std::unexpected(text.error());
  const auto facts = authority::inspect(*text);
  if (!facts) return std::unexpected(facts.error());
  MemberCertificate loaded(std::move(file), std::move(self));
  loaded.from_ = facts->from;
  loaded.until_ = facts->until;
  loaded.key_ = facts->key;
  return loaded;
}

bool MemberCertificate::look(Instant at, const Sign& sign) {
  if (at < next_look_) return false;
  const auto time = authority::wall_clock();
  const auto due = until_ - (until_ - from_) / 3;
  if (time < due) {
    next_look_ = at + std::min<Duration>(due - time, std::chrono::hours(1));
    return false;
  }
  if (const Status renewed = renew(sign); !renewed) {
    tell_not_renewed((until_ - time).count(), renewed.error().message);
    next_look_ =
        at + (until_ > time ? std::clamp<Duration>((until_ - time) / 10, std::chrono::seconds(2),
                                                   std::chrono::hours(1))
                            : kExpiredAgain);
    return false;
  }
  log::info("cluster: this host has a new certificate");
  next_look_ = at + std::chrono::seconds(1);
  not_renewed_.clear();
  return true;
}

Status MemberCertificate::renew(const Sign& sign) {
  const auto fresh = authority::make_request();
  if (!fresh) return std::unexpected(fresh.error());
  const auto certificate = sign(fresh->certificate);
  if (!certificate) return std::unexpected(certificate.error());
  const auto facts = authority::inspect(*certificate);
  if (!facts || facts->identity != self_) {
    return fail(Errc::kInvalidArgument, "the authority has signed something else");
  }
  if (Status written = write_file(file_, fresh->key + *certificate); !written) return written;
  from_ = facts->from;
  until_ = facts->until;
  key_ = facts->key;
  return {};
}

// Each reason once, and once more when it is too late.
void MemberCertificate::tell_not_renewed(std::int64_t seconds_left, const std::string& reason) {
  const bool expired = seconds_left <= 0;
  if (not_renewed_.size() >= kMostReasons) return;
  if (!not_renewed_.insert((expired ? "expired " : "") + reason).second) return;
  log::warn("cluster: the certificate was not renewed, it ends in {} s: {}{}",
            std::max<std::int64_t>(0, seconds_left), reason,
            expired ? "; this host has to join again" : "");
}

}  // namespace paravane::cluster
