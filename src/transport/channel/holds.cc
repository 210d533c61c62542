#include "transport/channel/holds.h"

#include <algorithm>
#include <utility>

namespace paravane::transport_channel {

using What = HoldNews::What;

// What any kWithin may still have that ends when the next part does.
Duration Holds::left_of(const Host& host, Instant now) {
  if (host.parts.size() >= kMostParts) return Duration::zero();
  Duration used{};
  for (const Part& part : host.parts) used += part.to - std::max(part.from, now - kWithin);
  return std::max(kMost - used, Duration::zero());
}

void Holds::end_part(Host& host, Instant now) {
  if (host.until != kNever) {
    host.parts.push_back({.from = host.since, .to = std::min(now, host.until)});
    host.until = kNever;
  }
  std::erase_if(host.parts, [now](const Part& part) { return part.to <= now - kWithin; });
}

Duration Holds::begin(verbs::HostId id, Duration wanted, Instant now) {
  if (wanted <= Duration::zero()) {
    end(id, now);
    return Duration::zero();
  }
  Host& host = hosts_[id];
  end_part(host, now);
  const Duration time = std::min(wanted, left_of(host, now));
  if (time == Duration::zero()) {
    counters_.refused.add();
    if (host.refusal_told != kNever && now - host.refusal_told < kWithin) return time;
    host.refusal_told = now;
    tell(What::kRefused, id);
    return time;
  }
  host.since = now;
  host.until = now + time;
  counters_.begun.add();
  tell(What::kBegun, id, time);
  return time;
}

void Holds::end(verbs::HostId id, Instant now) {
  if (holds_all()) there_.insert(id);
  if (const auto found = hosts_.find(id); found != hosts_.end()) end_part(found->second, now);
}

void Holds::begin_all(Duration time, Instant now) {
  all_until_ = now + time;
}

bool Holds::is_held(verbs::HostId id) const {
  if (holds_all() && !there_.contains(id)) return true;
  const auto found = hosts_.find(id);
  return found != hosts_.end() && found->second.until != kNever;
}

void Holds::run_due(Instant now) {
  if (all_until_ <= now) {
    all_until_ = kNever;
    there_.clear();
    tell(What::kAllOver, {});
  }
  for (auto& [id, host] : hosts_) {
    if (host.until > now) continue;
    end_part(host, now);
    counters_.over.add();
    tell(What::kOver, id);
  }
}

Instant Holds::next_due() const {
  Instant next = all_until_;
  for (const auto& [id, host] : hosts_) next = std::min(next, host.until);
  return next;
}

void Holds::tell(What what, verbs::HostId host, Duration time) const {
  if (tell_) tell_({.what = what, .host = host, .time = time});
}

}  // namespace paravane::transport_channel
