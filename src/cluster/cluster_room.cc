// ClusterService: of the authority's host, that one member cannot fill etcd for the others.

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "cluster/clock.h"
#include "cluster/cluster_service.h"

namespace paravane::cluster {
namespace {

constexpr Duration kCurbed = std::chrono::minutes(10);
constexpr Duration kLookEvery = std::chrono::minutes(1);
constexpr Duration kLookSoon = std::chrono::seconds(5);  // while etcd is not as it should be

}  // namespace

Instant ClusterService::keep_room() {
  if (!authority_) return kNever;
  for (std::string& host : writes_.take_excessive()) to_curb_.insert(std::move(host));
  if (!to_curb_.empty() && now() >= next_curbing_) {
    const std::string host = *to_curb_.begin();
    next_curbing_ = now() + kLookSoon;
    if (const Status done = authority_->curb(host); !done) {
      tell_no_room(done);
      return next_curbing_;
    }
    to_curb_.erase(host);
    next_curbing_ = now();
    forgiven_at_[host] = now() + kCurbed;
    curbings_.warn(now(),
                   "cluster: host {} writes more to the inventory than a host needs, and is not "
                   "allowed to write for 10 minutes; if this host is not trusted, remove it with: "
                   "paravane cluster remove {}",
                   host, host);
    next_look_for_room_ = now();
  }
  const std::set<std::string> curbed = authority_->curbed();
  std::erase_if(forgiven_at_, [&](const auto& one) { return !curbed.contains(one.first); });
  for (const std::string& host : curbed) {
    const auto [at, fresh] = forgiven_at_.try_emplace(host, now() + kCurbed);  // since a restart
    if (now() < at->second) continue;
    at->second = now() + kLookEvery;
    const Status done = authority_->forgive(host);
    if (done) forgiven_at_.erase(host);
    tell_no_room(done);
  }
  if (writes_.take_compaction()) tell_no_room(authority_->compact(member_->state().revision));
  if (writes_.take_look()) {
    next_look_for_room_ = std::min(next_look_for_room_, now() + kLookSoon);
    looks_again_ = true;
  }
  if (now() >= next_look_for_room_) {
    const Result<bool> made = authority_->make_room();
    if (!made) tell_no_room(std::unexpected(made.error()));
    // Once more after much was written: an etcd that is full just afterwards tells of no writes.
    const bool is_well =
        made && !*made && member_->state().connected && !std::exchange(looks_again_, false);
    next_look_for_room_ = now() + (is_well ? kLookEvery : kLookSoon);
  }
  Instant next = to_curb_.empty() ? next_look_for_room_ : next_curbing_;
  next = std::min(next, next_look_for_room_);
  for (const auto& [host, at] : forgiven_at_) next = std::min(next, at);
  return next;
}

void ClusterService::tell_no_room(const Status& done) {
  if (done || done.error().code == Errc::kIo) return;  // it is away, which is told elsewhere
  no_room_.warn(now(), "cluster: cannot free or limit space in etcd: {}", done.error().message);
}

}  // namespace paravane::cluster
