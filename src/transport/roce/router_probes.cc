#include "transport/roce/router_probes.h"

#include <algorithm>

namespace paravane::transport_roce {

std::shared_ptr<RouterProbe> RouterProbes::use(const RouterWay& way, wire::roce::Network network,
                                               Instant now) {
  for (Entry& entry : entries_) {
    if (entry.probe->way() != way) continue;
    entry.unused_since.reset();
    return entry.probe;
  }
  if (!make_room()) return nullptr;
  auto probe = std::make_shared<RouterProbe>(way, network, now);
  entries_.push_back({.probe = probe});
  ++all_->count;
  note_change();
  return probe;
}

// What no connection uses any more goes first.
bool RouterProbes::make_room() {
  if (entries_.size() < kMost && all_->count < kMostOfAll) return true;
  const auto unused = std::ranges::find_if(entries_, [](const Entry& e) { return !e.is_used(); });
  if (unused == entries_.end()) return false;
  remove(static_cast<std::size_t>(unused - entries_.begin()));
  return true;
}

void RouterProbes::remove(std::size_t index) {
  entries_[index].probe->end();
  entries_.erase(entries_.begin() + static_cast<std::ptrdiff_t>(index));
  --all_->count;
  note_change();
}

void RouterProbes::clear() {
  while (!entries_.empty()) remove(entries_.size() - 1);
}

const RouterProbe* RouterProbes::find(const RouterWay& way) const {
  const auto found = std::ranges::find_if(
      entries_, [&way](const Entry& entry) { return entry.probe->way() == way; });
  return found == entries_.end() ? nullptr : found->probe.get();
}

Instant RouterProbes::due() const {
  Instant due = kNever;
  for (const Entry& entry : entries_) due = std::min(due, entry.probe->due());
  return due;
}

void RouterProbes::tick(Instant now, const Acts& acts) {
  for (std::size_t i = 0; i < entries_.size();) {
    Entry& entry = entries_[i];
    RouterProbe& probe = *entry.probe;
    if (probe.due() > now) {
      ++i;
      continue;
    }
    if (entry.is_used()) {
      entry.unused_since.reset();
    } else if (!entry.unused_since) {
      entry.unused_since = now;
    }
    const bool is_old = entry.unused_since && now - *entry.unused_since >= kLinger;
    if (is_old || !acts.leads(probe.way())) {
      remove(i);
      continue;
    }
    const ProbeState before = probe.state();
    probe.begin(now);
    if (probe.state() != before) note_change();
    if (const auto nonce = acts.send(probe)) probe.on_sent(*nonce);
    ++i;
  }
}

bool RouterProbes::on_answer(const verbs::Gid& own, const verbs::Gid& peer,
                             const wire::roce::ProbeNonce& nonce) {
  for (const Entry& entry : entries_) {
    RouterProbe& probe = *entry.probe;
    if (probe.way().own != own || probe.way().peer != peer) continue;
    const ProbeState before = probe.state();
    if (!probe.on_answer(nonce)) continue;
    if (probe.state() != before) note_change();
    return true;
  }
  return false;
}

std::vector<ProbeReport> RouterProbes::reports(Instant now) const {
  std::vector<ProbeReport> reports;
  reports.reserve(entries_.size());
  for (const Entry& entry : entries_) reports.push_back(entry.probe->report(now));
  return reports;
}

}  // namespace paravane::transport_roce
