#include "cluster/member_certificate.h"

#include <algorithm>
#include <chrono>

#include "base/log.h"
#include "cluster/cluster_files.h"

namespace paravane::cluster {
namespace {

constexpr std::size_t kMostNotRenewed = 8;                // that are logged
constexpr auto kExpiredAgain = std::chrono::seconds(60);  // its host has to join again
constexpr auto kClockLook = std::chrono::seconds(10);     // the clock may be set at any time

}  // namespace

Result<MemberCertificate> MemberCertificate::load(std::filesystem::path file,
                                                  authority::Identity self) {
  const auto text = read_file(file);
  if (!text) return std::unexpected(text.error());
  const auto facts = authority::inspect(*text);
  if (!facts) return std::unexpected(facts.error());
  MemberCertificate loaded(std::move(file), std::move(self));
  loaded.valid_ = facts->valid;
  loaded.key_ = facts->key;
  return loaded;
}

bool MemberCertificate::look(Instant at, const Sign& sign) {
  if (at < next_look_) return false;
  const auto time = authority::wall_clock();
  const auto due = valid_.until - (valid_.until - valid_.from) / 3;
  if (valid_.from <= time && time < due) {
    next_look_ = at + std::min<Duration>(due - time, kClockLook);
    return false;
  }
  if (const Status renewed = renew(sign, time); !renewed) {
    tell_not_renewed(time, renewed.error().message);
    next_look_ = at + next_try(time);
    return false;
  }
  log::info("cluster: this host has a new certificate");
  next_look_ = at + std::chrono::seconds(1);
  not_renewed_.clear();
  return true;
}

// An hour is long enough for one that is in force, but not for a clock that may be set.
Duration MemberCertificate::next_try(authority::Seconds time) const {
  if (time < valid_.from) return kClockLook;
  if (time >= valid_.until) return kExpiredAgain;
  return std::clamp<Duration>((valid_.until - time) / 10, std::chrono::seconds(2),
                              std::chrono::hours(1));
}

Status MemberCertificate::renew(const Sign& sign, authority::Seconds time) {
  const auto fresh = authority::make_request();
  if (!fresh) return std::unexpected(fresh.error());
  const auto certificate = sign(fresh->certificate);
  if (!certificate) return std::unexpected(certificate.error());
  const auto facts = authority::inspect(*certificate);
  if (!facts || facts->identity != self_) {
    return fail(Errc::kInvalidArgument, "the authority's answer is not a certificate of this host");
  }
  if (!facts->valid.covers(time)) {
    return fail(Errc::kInvalidArgument,
                "the new certificate is not valid at the time of this host's clock: set the clocks "
                "of both hosts");
  }
  if (Status written = write_file(file_, fresh->key + *certificate); !written) return written;
  valid_ = facts->valid;
  key_ = facts->key;
  return {};
}

// Each reason once, and once more when it is too late.
void MemberCertificate::tell_not_renewed(authority::Seconds time, const std::string& reason) {
  const std::int64_t seconds_left = (valid_.until - time).count();
  const bool expired = seconds_left <= 0;
  if (not_renewed_.size() >= kMostNotRenewed) return;
  if (!not_renewed_.insert((expired ? "expired " : "") + reason).second) return;
  log::warn("cluster: this host's certificate was not renewed and expires in {} s: {}{}",
            std::max<std::int64_t>(0, seconds_left), reason,
            expired ? "; this host must join the cluster again" : "");
}

}  // namespace paravane::cluster
