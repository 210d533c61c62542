#include "ipoib/paths.h"

#include <utility>

#include "ipoib/link_mtu.h"
#include "wire/infiniband/subnet_management.h"

namespace paravane::ipoib {

using wire::infiniband::PathRecord;

Paths::~Paths() {
  for (const auto& [key, entry] : entries_) client_.cancel(entry.question);
}

std::expected<Path, Paths::Miss> Paths::find(const PathKey& key, std::uint16_t vlan,
                                             std::span<const std::byte> frame, bool is_heard) {
  const auto found = entries_.find(key);
  if (found == entries_.end() && !may_ask(is_heard)) return std::unexpected(Miss::kNoRoom);
  Entry& entry = found != entries_.end() ? found->second : make_entry(key);
  const bool is_due = entry.question == QuestionId::kNone && clock_.now >= entry.until;
  if (is_due && may_ask(is_heard)) ask(key, entry, is_heard);
  if (entry.path) return *entry.path;
  if (entry.question != QuestionId::kNone) return wait(entry, vlan, frame, is_heard);
  return std::unexpected(clock_.now < entry.until ? Miss::kUnreachable : Miss::kNoRoom);
}

bool Paths::may_ask(bool is_heard) const {
  return asked_ < kMostAsked && (is_heard || asked_of_unheard_ < kMostAskedOfUnheard);
}

Paths::Entry& Paths::make_entry(const PathKey& key) {
  // Made apart: without memory nothing is half made.
  Entries fresh;
  Order place{key};
  fresh.try_emplace(key).first->second.place = place.begin();
  make_room();
  without_path_.splice(without_path_.end(), place);
  return entries_.insert(fresh.extract(fresh.begin())).position->second;
}

void Paths::make_room() {
  static_assert(kMostAsked < kMost, "one of them is not asked for");
  if (entries_.size() < kMost) return;
  if (!forget_oldest(without_path_)) forget_oldest(with_path_);
}

bool Paths::forget_oldest(Order& order) {
  // Those that are asked for are few.
  for (auto at = order.begin(); at != order.end(); ++at) {
    const auto entry = entries_.find(*at);
    if (entry->second.question != QuestionId::kNone) continue;
    entries_.erase(entry);
    order.erase(at);
    return true;
  }
  return false;
}

void Paths::ask(const PathKey& key, Entry& entry, bool is_heard) {
  const auto asked = client_.find_path({.destination = key.lid, .partition = key.partition},
                                       [this, key](const auto& answer) { take(key, answer); });
  if (!asked) {
    entry.until = clock_.now + kPause;
    return;
  }
  entry.question = *asked;
  entry.is_heard = is_heard;
  ++asked_;
  if (!is_heard) ++asked_of_unheard_;
}

void Paths::set_path(Entry& entry, std::optional<Path> path) {
  Order& from = entry.path ? with_path_ : without_path_;
  Order& to = path ? with_path_ : without_path_;
  if (&from != &to) to.splice(to.end(), from, entry.place);
  entry.path = path;
}

std::expected<Path, Paths::Miss> Paths::wait(Entry& entry, std::uint16_t vlan,
                                             std::span<const std::byte> frame, bool is_heard) {
  const std::size_t most = is_heard ? kMostWaitingBytes : kMostBytesOfUnheard;
  if (entry.waiting.size() >= kMostWaiting || waiting_bytes_ + frame.size() > most)
    return std::unexpected(Miss::kNoRoom);
  entry.waiting.push_back(
      {.vlan = vlan, .bytes = std::vector<std::byte>(frame.begin(), frame.end())});
  waiting_bytes_ += frame.size();
  return std::unexpected(Miss::kWaits);
}

std::vector<Paths::WaitingFrame> Paths::take_waiting(Entry& entry) {
  std::vector<WaitingFrame> frames = std::exchange(entry.waiting, {});
  for (const WaitingFrame& frame : frames) waiting_bytes_ -= frame.bytes.size();
  return frames;
}

void Paths::take(const PathKey& key, const AdministrationClient::Answer<PathRecord>& answer) {
  Entry& entry = entries_.at(key);
  --asked_;
  if (!entry.is_heard) --asked_of_unheard_;
  entry.question = QuestionId::kNone;
  std::vector<WaitingFrame> frames = take_waiting(entry);
  const unsigned mtu = answer ? answer->mtu & wire::infiniband::kValueBits : 0U;
  if (!is_link_mtu(mtu)) {
    entry.until = clock_.now + kPause;
    // Without an answer, that which was known may still lead there.
    if (answer || answer.error().cause == AdministrationFailure::Cause::kRefused)
      set_path(entry, std::nullopt);
    if (!frames.empty()) listener_.on_no_path(frames.size());
    return;
  }
  entry.until = clock_.now + kLife;
  set_path(entry, Path{.gid = answer->destination,
                       .level = answer->level(),
                       .source = answer->source_lid.get(),
                       .mtu = wire::infiniband::bytes_of(static_cast<wire::infiniband::Mtu>(mtu))});
  if (!frames.empty()) listener_.on_path(std::move(frames));
}

const Path* Paths::known(const PathKey& key) const {
  const auto found = entries_.find(key);
  return found == entries_.end() || !found->second.path ? nullptr : &*found->second.path;
}

void Paths::compare(const PathKey& key, const wire::infiniband::Gid& gid) {
  const auto found = entries_.find(key);
  if (found == entries_.end() || !found->second.path || found->second.path->gid == gid) return;
  set_path(found->second, std::nullopt);
  found->second.until = clock_.now;
}

void Paths::adopt(const PathKey& key, const Path& path) {
  if (!entries_.contains(key)) set_path(make_entry(key), path);
}

std::vector<std::pair<PathKey, Path>> Paths::all_known() const {
  std::vector<std::pair<PathKey, Path>> all;
  for (const auto& [key, entry] : entries_) {
    if (entry.path) all.emplace_back(key, *entry.path);
  }
  return all;
}

void Paths::ask_again() {
  for (auto& [key, entry] : entries_) entry.until = clock_.now;
}

void Paths::clear() {
  std::size_t dropped = 0;
  for (auto& [key, entry] : entries_) {
    client_.cancel(entry.question);
    dropped += take_waiting(entry).size();
  }
  entries_.clear();
  with_path_.clear();
  without_path_.clear();
  asked_ = asked_of_unheard_ = 0;
  if (dropped != 0) listener_.on_no_path(dropped);
}

}  // namespace paravane::ipoib
