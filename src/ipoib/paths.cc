#include "ipoib/paths.h"

#include <utility>

#include "wire/infiniband/subnet_management.h"

namespace paravane::ipoib {

using wire::infiniband::PathRecord;

Paths::~Paths() {
  for (const auto& [key, entry] : entries_) client_.cancel(entry.question);
}

std::expected<Path, Paths::Miss> Paths::find(const PathKey& key, std::uint16_t vlan,
                                             std::span<const std::byte> frame) {
  const auto found = entries_.find(key);
  if (found == entries_.end() && asked_ >= kMostAsked) return std::unexpected(Miss::kNoRoom);
  Entry& entry = found != entries_.end() ? found->second : make_entry(key);
  const bool is_due = entry.question == QuestionId::kNone && clock_.now >= entry.until;
  if (is_due && asked_ < kMostAsked) ask(key, entry);
  if (entry.path) return *entry.path;
  if (entry.question != QuestionId::kNone) return wait(entry, vlan, frame);
  return std::unexpected(clock_.now < entry.until ? Miss::kUnreachable : Miss::kNoRoom);
}

Paths::Entry& Paths::make_entry(const PathKey& key) {
  // Made apart: without memory nothing is half made.
  Entries fresh;
  fresh.try_emplace(key);
  make_room();
  order_.push_back(key);
  return entries_.insert(fresh.extract(fresh.begin())).position->second;
}

void Paths::make_room() {
  static_assert(kMostAsked < kMost, "one of them is not asked for");
  if (entries_.size() < kMost) return;
  // Those that are asked for, of which there are few, go to the end.
  while (entries_.at(order_.front()).question != QuestionId::kNone) {
    order_.push_back(order_.front());
    order_.pop_front();
  }
  entries_.erase(order_.front());
  order_.pop_front();
}

void Paths::ask(const PathKey& key, Entry& entry) {
  const auto asked = client_.find_path({.destination = key.lid, .partition = key.partition},
                                       [this, key](const auto& answer) { take(key, answer); });
  if (!asked) {
    entry.until = clock_.now + kPause;
    return;
  }
  entry.question = *asked;
  ++asked_;
}

std::expected<Path, Paths::Miss> Paths::wait(Entry& entry, std::uint16_t vlan,
                                             std::span<const std::byte> frame) {
  if (entry.waiting.size() >= kMostWaiting || waiting_bytes_ + frame.size() > kMostWaitingBytes)
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
  entry.question = QuestionId::kNone;
  std::vector<WaitingFrame> frames = take_waiting(entry);
  const auto mtu = answer ? answer->mtu & wire::infiniband::kValueBits : 0;
  // Numbers of the protocol: 256 to 4096.
  if (mtu < static_cast<int>(wire::infiniband::Mtu::k256) ||
      mtu > static_cast<int>(wire::infiniband::Mtu::k4096)) {
    entry.until = clock_.now + kPause;
    // Without an answer, that which was known may still lead there.
    if (answer || answer.error().cause == AdministrationFailure::Cause::kRefused)
      entry.path.reset();
    if (!frames.empty()) listener_.on_no_path(frames.size());
    return;
  }
  entry.until = clock_.now + kLife;
  entry.path = Path{.gid = answer->destination,
                    .level = answer->level(),
                    .mtu = wire::infiniband::bytes_of(static_cast<wire::infiniband::Mtu>(mtu))};
  if (!frames.empty()) listener_.on_path(std::move(frames));
}

const Path* Paths::known(const PathKey& key) const {
  const auto found = entries_.find(key);
  return found == entries_.end() || !found->second.path ? nullptr : &*found->second.path;
}

void Paths::compare(const PathKey& key, const wire::infiniband::Gid& gid) {
  const auto found = entries_.find(key);
  if (found == entries_.end() || !found->second.path || found->second.path->gid == gid) return;
  found->second.path.reset();
  found->second.until = clock_.now;
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
  order_.clear();
  asked_ = 0;
  if (dropped != 0) listener_.on_no_path(dropped);
}

}  // namespace paravane::ipoib
